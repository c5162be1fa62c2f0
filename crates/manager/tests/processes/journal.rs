//! The journal of reconciles that replicas write.

use std::{collections::HashMap, path::Path, time::Duration};

use anyhow::Context as _;

/// One reconcile, on the clock of [`now`](crate::operator::now).
#[derive(Clone, Debug)]
pub struct Run {
    pub name: String,
    pub begin: Duration,
    /// `None` if it is still running, or was running when its process ended.
    pub end: Option<Duration>,
}

/// Reads the journal of one process, which may not exist yet.
pub fn read(path: &Path) -> anyhow::Result<Vec<Run>> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok(Vec::new());
    };
    let (mut runs, mut open) = (Vec::<Run>::new(), HashMap::new());
    // An incomplete last line is still being written.
    for line in text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
    {
        let mut words = line.split_whitespace();
        let mut word = || words.next().context("a whole line");
        let (at, what, name) = (Duration::from_nanos(word()?.parse()?), word()?, word()?);
        if what == "begin" {
            anyhow::ensure!(!open.contains_key(name), "`{name}` runs twice at a time");
            open.insert(name.to_owned(), runs.len());
            runs.push(Run {
                name: name.to_owned(),
                begin: at,
                end: None,
            });
        } else {
            let run = open.remove(name).context("an end has a beginning")?;
            runs[run].end = Some(at);
        }
    }
    Ok(runs)
}

/// The time of one process, from its first reconcile to its last.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub begin: Duration,
    pub end: Duration,
}

/// The time from the first to the last reconcile of a process that ended then; `None` if it has reconciled nothing.
pub fn span(runs: &[Run], process_ended: Duration) -> Option<Span> {
    let begin = runs.iter().map(|run| run.begin).min()?;
    let end = runs
        .iter()
        .map(|run| run.end.unwrap_or(process_ended))
        .max()?;
    Some(Span { begin, end })
}

/// Fails if two processes ran reconciles at the same time; returns the shortest time between two processes.
pub fn check_apart(spans: &[Span]) -> anyhow::Result<Option<Duration>> {
    let mut spans = spans.to_vec();
    spans.sort_by_key(|span| span.begin);
    let mut least = None;
    for pair in spans.windows(2) {
        let gap = pair[1].begin.checked_sub(pair[0].end);
        let gap = gap.with_context(|| format!("two processes reconciled at once: {pair:?}"))?;
        least = Some(least.map_or(gap, |least: Duration| least.min(gap)));
    }
    Ok(least)
}
