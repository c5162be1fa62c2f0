//! A report -> text for a terminal, or Markdown for a pull request.

mod rows;
mod summary;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kbr_host::lines::one_line;

use self::rows::{refused, rows, writers};
use self::summary::summary;
use super::compare::{Action, Change};
use super::report::{Failed, Report};

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

/// The report for a terminal. `details` shows drift, events, and all fields and values whole.
#[must_use]
pub fn text(report: &Report, title: &Title, details: bool) -> String {
    let mut text = headline(report, title);
    let writers = writers(report);
    let mut at_once = rows(&report.changes, &writers, details);
    at_once.extend(refused(report, details));
    if !at_once.is_empty() {
        text += "\n";
    }
    text.extend(at_once);
    let later = rows(&report.later, &writers, details);
    if !later.is_empty() {
        text += "\n  once Pods are rolled out:\n";
    }
    text.extend(later);
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

fn count_of(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
