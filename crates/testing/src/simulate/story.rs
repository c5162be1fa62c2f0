//! A failure as a story that a person can read.

use std::fmt::Write as _;

use super::{history::History, oracle::Finding, plan::Plan, trace::Event};

/// How many lines a story has.
const LINES: usize = 10;

/// Which test it is, what is wrong, how it came about, and how to see it again.
pub(super) fn of(test: Option<&str>, plan: &Plan, finding: &Finding, history: &History) -> String {
    let mut story = format!("{}\n", finding.what);
    for line in &finding.details {
        // Writing to a string cannot fail.
        let _ = writeln!(story, "    {}", line.replace('\n', "\n    "));
    }
    let cause = if plan.0.is_empty() {
        "without any fault"
    } else {
        "how it came about"
    };
    let _ = writeln!(story, "{cause}:");
    let until = finding.until.unwrap_or(history.events.len());
    for line in shortened(&history.events[..until]) {
        let _ = writeln!(story, "    {line}");
    }
    // What is not allowed is why it waits.
    if let Some(why) = history
        .unplayed
        .as_ref()
        .filter(|_| history.denied.is_none())
    {
        let _ = writeln!(story, "help: {why}");
    }
    // Otherwise, other tests whose names contain this one run as well.
    let test = test.map_or_else(String::new, |test| format!(" {test} -- --exact"));
    let _ = if plan.0.is_empty() {
        writeln!(story, "replay: cargo test{test}")
    } else {
        writeln!(
            story,
            "replay: KBR_SIMULATE='{plan}' cargo test{test}\n\
             pin: simulate(register)….replay(\"{plan}\").run()"
        )
    };
    let _ = writeln!(
        story,
        "help: `.without(Oracle::{:?}, \"why\")` if this is all right",
        finding.oracle
    );
    story.trim_end().to_owned()
}

/// The events of the story; of a long one, those around the first fault, and the last ones.
fn shortened(events: &[Event]) -> Vec<String> {
    let mut shown: Vec<&Event> = events.iter().filter(|event| event.is_shown()).collect();
    shown.dedup_by_key(|event| event.to_string());
    if shown.len() <= LINES {
        return shown.iter().copied().map(line).collect();
    }
    let fault = shown.iter().position(|event| event.is_fault());
    let half = LINES / 2;
    let from = fault.unwrap_or_default().saturating_sub(2);
    let to = (from + half + 1).min(shown.len());
    let rest = to.max(shown.len().saturating_sub(half));
    let mut lines: Vec<_> = shown[from..to].iter().copied().map(line).collect();
    lines.splice(0..0, left_out(&shown[..from]));
    lines.extend(left_out(&shown[to..rest]));
    lines.extend(shown[rest..].iter().copied().map(line));
    lines
}

fn line(event: &Event) -> String {
    format!("{:>8.1?}s  {event}", event.after.as_secs_f64())
}

/// What stands for events that are left out: how many there are between those that the story is about.
fn left_out(events: &[&Event]) -> Vec<String> {
    let mut lines = Vec::new();
    for part in events.chunk_by(|a, b| !a.is_key() && !b.is_key()) {
        match part {
            [one] => lines.push(line(one)),
            more => lines.push(format!("          … {} events", more.len())),
        }
    }
    lines
}
