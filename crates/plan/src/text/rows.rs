//! The objects of a report: a row each, with the fields that differ.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use kbr_host::lines::one_line;
use serde_json::json;

use super::super::activity::Refused;
use super::super::compare::{Action, Change, Changes};
use super::super::load::full_name;
use super::super::report::Report;
use super::count_of;
use super::values::{new, shortened, shown};

/// The most fields of an object without `details`.
const FIELDS: usize = 6;

/// How many objects of a kind that change in the same way have a row each without `details`.
const ALIKE: usize = 3;

/// The field managers of all changes, if they differ: each row then has its own.
pub fn writers(report: &Report) -> BTreeSet<&str> {
    let changes = [&report.changes, &report.later].into_iter();
    let changes = changes.flat_map(|it| &it.objects);
    let all: BTreeSet<&str> = changes
        .flat_map(|it| &it.managers)
        .map(String::as_str)
        .collect();
    if all.len() > 1 { all } else { BTreeSet::new() }
}

/// A row for each object; of many that change in the same way, one has a row.
pub fn rows(changes: &Changes, writers: &BTreeSet<&str>, details: bool) -> Vec<String> {
    let names = changes.objects.iter().map(|it| {
        (
            it.id.kind.len(),
            full_name(&it.id.namespace, &it.id.name).chars().count(),
        )
    });
    let (kind, name) = names.fold((0, 0), |(a, b), (kind, name)| (a.max(kind), b.max(name)));
    let row = |it: &Change| row(it, (kind, name.min(40)), writers, details);
    if details {
        return changes.objects.iter().map(row).collect();
    }
    let ways: Vec<String> = changes.objects.iter().map(way).collect();
    let mut alike: HashMap<&str, usize> = HashMap::new();
    for way in &ways {
        *alike.entry(way).or_default() += 1;
    }
    let mut all = Vec::new();
    for (change, way) in changes.objects.iter().zip(&ways) {
        match alike.get(way.as_str()).copied().unwrap_or_default() {
            // It is counted in the row of the first one.
            0 => {}
            1..=ALIKE => all.push(row(change)),
            count => {
                alike.insert(way, 0);
                let more = format!("      and {} more likewise: see --details", count - 1);
                all.push(row(change) + &more + "\n");
            }
        }
    }
    all
}

/// How an object changes, whatever its name.
fn way(change: &Change) -> String {
    let Change {
        action,
        id,
        owner,
        restarts,
        on_delete,
        fields,
        managers,
        dependents,
    } = change;
    // The name of an owner is often that of the object.
    let owner = owner.as_ref().and_then(|it| it.split(' ').next());
    let how = json!([
        action, owner, restarts, on_delete, fields, managers, dependents
    ]);
    format!("{} {} {how}", id.group, id.kind)
}

/// A row for each write that the API server refused.
pub fn refused(report: &Report, details: bool) -> Vec<String> {
    let row = |it: &Refused| {
        let Refused {
            resource,
            object,
            verb,
            message,
        } = it;
        let today = if report.is_refused_today(it) {
            ", as today"
        } else {
            ""
        };
        let line = format!(
            "  ! {verb} of {resource} {object} refused{today}: {}",
            shortened(message, details)
        );
        one_line(&line).into_owned() + "\n"
    };
    report.next.refused.iter().map(row).collect()
}

fn row(
    change: &Change,
    (kind, name): (usize, usize),
    writers: &BTreeSet<&str>,
    details: bool,
) -> String {
    let sign = match change.action {
        Action::Created => '+',
        Action::Changed => '~',
        Action::Recreated => '±',
        Action::Deleted => '-',
    };
    let full = full_name(&change.id.namespace, &change.id.name);
    let words = words(change, writers).join(", ");
    let line = format!("  {sign} {:kind$}  {full:name$}  {}", change.id.kind, words);
    let mut text = one_line(line.trim_end()).into_owned() + "\n";
    let most = if details { usize::MAX } else { FIELDS };
    for field in change.fields.iter().take(most) {
        let lines = match (change.action, &field.after) {
            (Action::Created, Some(value)) => new(&field.path, value, details),
            _ => shown(field, details),
        };
        for line in lines {
            writeln!(text, "      {line}").ok();
        }
    }
    if let Some(more @ 1..) = change.fields.len().checked_sub(most) {
        writeln!(
            text,
            "      and {}: see --details",
            count_of(more as u64, "field more", "fields more")
        )
        .ok();
    }
    text
}

/// What a row says after the name.
fn words(change: &Change, writers: &BTreeSet<&str>) -> Vec<String> {
    let mut words = Vec::new();
    match change.action {
        Action::Created => words.push("created".to_owned()),
        Action::Deleted => words.push("deleted".to_owned()),
        Action::Recreated => words.push("deleted and created again".to_owned()),
        Action::Changed => {}
    }
    if let Some(count) = change.restarts {
        words.push(count_of(count, "Pod restarts", "Pods restart"));
    }
    if change.on_delete {
        words.push("each Pod restarts when someone deletes it (OnDelete)".to_owned());
    }
    if !change.dependents.is_empty() {
        let shown: Vec<&str> = change
            .dependents
            .iter()
            .map(String::as_str)
            .take(3)
            .collect();
        let more = change.dependents.len() - shown.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        words.push(format!("and with it {}{more}", shown.join(", ")));
    }
    if let Some(owner) = change
        .owner
        .as_ref()
        .filter(|_| change.action != Action::Changed)
    {
        words.push(format!("owned by {owner}"));
    }
    let managers: Vec<&str> = change.managers.iter().map(String::as_str).collect();
    if managers.iter().any(|it| writers.contains(it)) {
        words.push(format!("by {}", managers.join(" and ")));
    }
    words
}
