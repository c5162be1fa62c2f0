//! A failure as a story that a person can read.

use std::fmt::{self, Write as _};

use super::{
    history::History,
    oracle::Finding,
    plan::Plan,
    trace::{Event, Happened},
};

/// How many lines a story has.
const LINES: usize = 10;

/// What is wrong, how it came about, and how to see it again.
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
    for line in shortened(told(history, finding), finding) {
        let _ = writeln!(story, "    {line}");
    }
    story.push_str(&again(test, plan, finding, history));
    story
}

/// The events until what is wrong was seen.
pub(super) fn told<'a>(history: &'a History, finding: &Finding) -> &'a [Event] {
    &history.events[..finding.until.unwrap_or(history.events.len())]
}

/// How to see a failure again, and what to do about it.
pub(super) fn again(
    test: Option<&str>,
    plan: &Plan,
    finding: &Finding,
    history: &History,
) -> String {
    let mut lines = String::new();
    // What is not allowed is why it waits.
    if let Some(why) = history
        .unplayed
        .as_ref()
        .filter(|_| history.denied.is_none())
    {
        let _ = writeln!(lines, "help: {why}");
    }
    // Otherwise, other tests whose names contain this one run as well.
    let test = test.map_or_else(String::new, |test| format!(" {test} -- --exact"));
    let _ = if plan.0.is_empty() {
        writeln!(lines, "replay: cargo test{test}")
    } else {
        writeln!(
            lines,
            "replay: KBR_SIMULATE='{plan}' cargo test{test}\n\
             pin: simulate(register)….replay(\"{plan}\").run()"
        )
    };
    let oracle = finding.oracle;
    let _ = write!(
        lines,
        "help: `.without(Oracle::{oracle:?}, \"why\")` if this is all right"
    );
    lines
}

/// A line of a story.
struct Line<'a> {
    event: &'a Event,
    /// Of writes in a row that have changed nothing, of which it is the first, the number of the last.
    until: Option<usize>,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.event.is_without_effect();
        let text = match first.zip(self.until) {
            Some((first, last)) if first < last => format!("writes {first}–{last} change nothing"),
            _ => self.event.to_string(),
        };
        // The lines below the first are beside the time, too.
        let text = text.replace('\n', "\n              ");
        write!(f, "{:>8.1?}s  {text}", self.event.after.as_secs_f64())
    }
}

/// The lines about these events, each error once; plans name writes by their numbers, so those that have changed nothing count, too.
fn lines<'a>(events: &'a [Event], finding: &Finding) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut errors = finding.details.clone();
    for event in events.iter().filter(|event| event.is_shown()) {
        let text = event.to_string();
        if matches!(event.what, Happened::Failed { .. }) {
            if errors.contains(&text) {
                continue;
            }
            errors.push(text.clone());
        }
        let until = event.is_without_effect();
        match lines.last_mut() {
            Some(last) if until.is_some() && last.until.is_some() => last.until = until,
            Some(last) if last.event.to_string() == text => {}
            _ => lines.push(Line { event, until }),
        }
    }
    lines
}

/// The lines of a story; of a long one, those around the first fault, and the last ones.
fn shortened(events: &[Event], finding: &Finding) -> Vec<String> {
    let lines = lines(events, finding);
    let text = |lines: &[Line<'_>]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    if lines.len() <= LINES {
        return text(&lines);
    }
    let fault = lines.iter().position(|line| line.event.is_fault());
    let half = LINES / 2;
    let from = fault.unwrap_or_default().saturating_sub(2);
    let to = (from + half + 1).min(lines.len());
    let rest = to.max(lines.len().saturating_sub(half));
    let parts = [
        left_out(&lines[..from]),
        text(&lines[from..to]),
        left_out(&lines[to..rest]),
        text(&lines[rest..]),
    ];
    parts.concat()
}

/// What stands for lines that are left out: how many there are between those that the story is about.
fn left_out(left: &[Line<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for part in left.chunk_by(|a, b| !a.event.is_key() && !b.event.is_key()) {
        match part {
            [one] => lines.push(one.to_string()),
            more => lines.push(format!("          … {} events", more.len())),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{scenario::Oracle, trace::Write, who::Who};
    use super::*;

    /// What a story tells of these.
    fn check(happened: Vec<Happened>, details: &[&str]) -> Vec<String> {
        let events = happened.into_iter().map(|what| Event {
            after: Duration::from_secs(1),
            what,
        });
        let finding = Finding {
            oracle: Oracle::Errors,
            what: String::new(),
            details: details.iter().map(|&line| line.to_owned()).collect(),
            until: None,
        };
        shortened(&events.collect::<Vec<_>>(), &finding)
    }

    fn write(number: usize, fields: &[&str]) -> Happened {
        let action = "changes configmaps default/a".to_owned();
        Happened::Wrote(Write {
            changed: !fields.is_empty(),
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            answer: "200 OK".to_owned(),
            ..Write::new(number, operator(), action)
        })
    }

    fn operator() -> Who {
        Who::Operator {
            replica: None,
            controller: Some("map".to_owned()),
        }
    }

    #[test]
    fn writes_that_change_nothing_are_counted_but_not_told_one_by_one() {
        let told = check(
            vec![
                write(1, &[]),
                write(2, &["/data/a", "/data/b", "/data/c", "/data/d"]),
                write(3, &[]),
                write(4, &[]),
                write(5, &[]),
                write(6, &["/data"]),
            ],
            &[],
        );
        let lines = [
            "write 1: the operator (map) changes configmaps default/a, which changes nothing",
            "write 2: the operator (map) changes configmaps default/a (/data/a, /data/b, /data/c and 1 more)",
            "writes 3–5 change nothing",
            "write 6: the operator (map) changes configmaps default/a (/data)",
        ];
        assert_eq!(told, lines.map(|line| format!("     1.0s  {line}")));
    }

    #[test]
    fn each_error_is_told_once() {
        let failed = |error: &str| Happened::Failed {
            who: operator(),
            reconcile: "map `default/a`".to_owned(),
            error: error.to_owned(),
        };
        let told = check(
            vec![
                failed("no mast\nhelp: repair it"),
                failed("no sail"),
                write(1, &["/data"]),
                failed("no mast\nhelp: repair it"),
            ],
            &["fails: map `default/a`: no sail"],
        );
        assert_eq!(told.len(), 2, "{told:?}");
        let error = "     1.0s  fails: map `default/a`: no mast\n              help: repair it";
        assert_eq!(told[0], error);
    }
}
