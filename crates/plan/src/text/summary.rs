//! What follows the objects in a report.

use std::collections::BTreeSet;

use kbr_host::lines::one_line;

use super::super::compare::Action;
use super::super::report::{Failed, Report, Run, Unsettled};
use super::rows::rows;
use super::values::{shortened, shown};
use super::{count, count_of};

/// How many lines of a kind are shown without `details`.
const LINES: usize = 10;

/// The lines.
pub fn summary(report: &Report, details: bool) -> Vec<String> {
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
            let most = if details { usize::MAX } else { LINES };
            let shown = all.iter().take(most);
            lines.extend(shown.map(|it| format!("  {}", shortened(it, true))));
            if let Some(more @ 1..) = all.len().checked_sub(most) {
                lines.push(format!("  and {more} more: see --details"));
            }
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
