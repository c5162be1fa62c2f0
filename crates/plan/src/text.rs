//! A report -> text for a terminal, or Markdown for a pull request.

#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kbr_host::lines::one_line;

use self::values::{shortened, shown};
use super::activity::Refused;
use super::compare::{Action, Change, Changes};
use super::load::full_name;
use super::report::{Failed, Report, Run, Unsettled};

/// What the report is about, as its first line names it.
#[derive(Clone, Debug)]
pub struct Title {
    /// `captains`: the operator.
    pub operator: String,
    /// `prod`: the cluster, or the file of its clone.
    pub cluster: String,
    /// `v1.2.0`: the release of today.
    pub baseline: Option<String>,
}

/// The most fields of an object without `details`.
const FIELDS: usize = 6;

/// The report for a terminal. `details` shows drift, events, and all fields and values whole.
#[must_use]
pub fn text(report: &Report, title: &Title, details: bool) -> String {
    let mut text = headline(report, title);
    let writers = writers(report);
    let rows = |changes| self::rows(changes, &writers, details);
    let mut at_once = rows(&report.changes);
    at_once.extend(refused(report, details));
    if !at_once.is_empty() {
        text += "\n";
    }
    text.extend(at_once);
    let rows = rows(&report.later);
    if !rows.is_empty() {
        text += "\n  once Pods are rolled out:\n";
    }
    text.extend(rows);
    text += "\n";
    for line in summary(report, details) {
        writeln!(text, "{}", one_line(&line)).ok();
    }
    text
}

/// The report as Markdown: the text in a block, below a heading. All of it is code, so that no name is a mention, a link or HTML.
#[must_use]
pub fn markdown(report: &Report, title: &Title, details: bool) -> String {
    let shown = text(report, title, details);
    let (head, body) = shown.split_once('\n').unwrap_or((&shown, ""));
    // Text of a cluster may contain a fence; a longer one encloses it.
    let longest = body.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let head = head.replace('`', "'");
    format!(
        "**`{}`**\n\n{fence}diff\n{}\n{fence}\n",
        head.trim(),
        body.trim_matches('\n')
    )
}

fn headline(report: &Report, title: &Title) -> String {
    let Title {
        operator,
        cluster,
        baseline,
    } = title;
    let objects = report.objects;
    let changed = count(report, |it| it.action != Action::Created);
    let created = count(report, |it| it.action == Action::Created);
    let is_ended = matches!(report.next.failed, Some(Failed::Ended(_)));
    let what = match (changed, created) {
        (0, 0) if is_ended => format!("does not run, so nothing is known of {objects} objects"),
        (0, 0) => format!("would change none of {objects} objects"),
        (changed, 0) => format!("would change {changed} of {objects} objects"),
        (0, created) => format!("would change none of {objects} objects and create {created}"),
        (changed, created) => {
            format!("would change {changed} of {objects} objects and create {created}")
        }
    };
    let mut line = format!("{operator} {what} in {cluster}");
    match baseline {
        Some(baseline) => write!(line, ", compared with {baseline}").ok(),
        None => write!(
            line,
            "; without today's release, what changes by itself is among them"
        )
        .ok(),
    };
    one_line(&line).into_owned() + "\n"
}

/// The number of the changed objects that `is_counted` accepts, and of the dependents deleted with them.
fn count(report: &Report, is_counted: impl Fn(&Change) -> bool) -> usize {
    let changes = [&report.changes, &report.later];
    let counted = changes
        .iter()
        .flat_map(|it| &it.objects)
        .filter(|it| is_counted(it));
    let (mut ids, mut dependents) = (BTreeSet::new(), 0);
    for change in counted {
        ids.insert(&change.id);
        dependents += change.dependents.len();
    }
    ids.len() + dependents
}

/// The field managers of all changes, if they differ: each row then has its own.
fn writers(report: &Report) -> BTreeSet<&str> {
    let changes = [&report.changes, &report.later].into_iter();
    let changes = changes.flat_map(|it| &it.objects);
    let all: BTreeSet<&str> = changes
        .flat_map(|it| &it.managers)
        .map(String::as_str)
        .collect();
    if all.len() > 1 { all } else { BTreeSet::new() }
}

fn rows(changes: &Changes, writers: &BTreeSet<&str>, details: bool) -> Vec<String> {
    let names = changes.objects.iter().map(|it| {
        (
            it.id.kind.len(),
            full_name(&it.id.namespace, &it.id.name).chars().count(),
        )
    });
    let (kind, name) = names.fold((0, 0), |(a, b), (kind, name)| (a.max(kind), b.max(name)));
    let row = |it: &Change| row(it, (kind, name.min(40)), writers, details);
    changes.objects.iter().map(row).collect()
}

/// A row for each write that the API server refused.
fn refused(report: &Report, details: bool) -> Vec<String> {
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
    let line = format!(
        "  {sign} {:kind$}  {full:name$}  {}",
        change.id.kind,
        words.join(", ")
    );
    let mut text = one_line(line.trim_end()).into_owned() + "\n";
    let most = if details { usize::MAX } else { FIELDS };
    for field in change.fields.iter().take(most) {
        let lines = match (change.action, &field.after) {
            (Action::Created, Some(value)) => values::new(&field.path, value, details),
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

/// What follows the objects.
fn summary(report: &Report, details: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for status in report.changes.status.iter().chain(&report.later.status) {
        let fields: Vec<&str> = status.fields.iter().map(String::as_str).collect();
        let objects = format!("{} {}", status.objects, status.kind);
        lines.push(format!("status: {} of {objects}", fields.join(", ")));
    }
    let times = report.changes.times + report.later.times;
    if times > 0 {
        lines.push(format!(
            "nothing but times differs in the status of {}, which counts as no change",
            count_of(times as u64, "object", "objects")
        ));
    }
    if let Some(run) = &report.baseline {
        lines.extend(ending("today's release", run, details));
    }
    lines.extend(ending("the new release", &report.next, details));
    lines.extend(of_run(&report.next, details));
    let drift = report.drift.objects.len();
    if drift > 0 {
        lines.push(format!(
            "today's release changes {} by itself{}",
            count_of(drift as u64, "object", "objects"),
            if details { ":" } else { ": see --details" }
        ));
        if details {
            let rows = rows(&report.drift, &BTreeSet::new(), details);
            lines.extend(
                rows.iter()
                    .flat_map(|it| it.lines().map(str::to_owned).collect::<Vec<_>>()),
            );
        }
    }
    let changed = count(report, |it| it.action != Action::Created);
    let same = report.objects.saturating_sub(changed);
    lines.push(format!(
        "{} as they are",
        count_of(same as u64, "object stays", "objects stay")
    ));
    if !report.not_seen.is_empty() {
        lines.push("not seen:".to_owned());
        lines.extend(
            report
                .not_seen
                .iter()
                .map(|it| format!("  {}", shortened(it, true))),
        );
    }
    lines
}

fn of_run(run: &Run, details: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut list = |title: &str, all: &[String]| {
        if !all.is_empty() {
            lines.push(title.to_owned());
            lines.extend(all.iter().map(|it| format!("  {}", shortened(it, true))));
        }
    };
    list(
        "the cluster refuses what the installer applies:",
        &run.not_installed,
    );
    list(
        "the new CRDs no longer accept stored objects:",
        &run.invalid,
    );
    list("its roles do not allow:", &run.denied);
    let looked_up = run.looked_up.iter();
    let looked_up: Vec<String> = looked_up
        .map(|(name, times)| format!("{name}, {}", count_of(*times, "time", "times")))
        .collect();
    list(
        "it looked up names that the sandbox does not know:",
        &looked_up,
    );
    let events: Vec<String> = run
        .events
        .iter()
        .filter(|it| details || it.r#type == "Warning")
        .map(|it| {
            format!(
                "{} {} {}, such as {}",
                it.count, it.r#type, it.reason, it.example
            )
        })
        .collect();
    list("events:", &events);
    lines
}

/// Why it failed, and its log.
fn ending(who: &str, run: &Run, details: bool) -> Vec<String> {
    let mut lines = match &run.failed {
        Some(failed) => why(who, failed, details),
        None => Vec::new(),
    };
    if details || matches!(run.failed, Some(Failed::Ended(_))) {
        lines.push(format!("the end of the log of {who}:"));
        lines.extend(run.log.lines().map(|it| format!("  {}", one_line(it))));
    }
    lines
}

fn why(who: &str, failed: &Failed, details: bool) -> Vec<String> {
    match failed {
        Failed::Ended(status) => vec![format!("{who} does not run: {status}")],
        Failed::NeverIdle(objects) => {
            let mut lines = vec![format!("{who} never becomes idle: it goes on changing")];
            for Unsettled {
                object,
                writes,
                fields,
            } in objects
            {
                lines.push(format!(
                    "  {object}, {}",
                    count_of(*writes, "change", "changes")
                ));
                for line in fields.iter().flat_map(|it| shown(it, details)) {
                    lines.push(format!("      {line}"));
                }
            }
            lines
        }
    }
}

fn count_of(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
