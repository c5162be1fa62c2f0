//! What a timeline shows: a column for each one who acts, for each service and for each object, and a row for each event.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::super::{
    fields,
    history::History,
    oracle::Finding,
    state,
    trace::{Event, Happened},
    who::{Stored, Who},
};
use crate::server::Change;

/// How many objects and rows a timeline shows at most.
const OBJECTS: usize = 20;
const ROWS: usize = 400;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Timeline {
    /// From left to right.
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// How many objects have no column.
    pub(super) left_out: usize,
}

/// What has a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    Lane(Who),
    Service(String),
    Object(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) after: Duration,
    pub(super) tone: Tone,
    /// The column of the one who acts.
    pub(super) who: Option<Column>,
    pub(super) text: String,
    pub(super) marks: Vec<(Column, Mark)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// What is less important.
    Quiet,
    Fault,
}

/// What happens to something that has a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Begins,
    Changes,
    Ends,
}

impl Column {
    /// Whether it begins and ends with another one: all controllers of a process do.
    pub(super) fn lives_with(&self, other: &Self) -> bool {
        let replica = |column: &Self| match column {
            Self::Lane(Who::Operator { replica, .. }) => Some(*replica),
            _ => None,
        };
        self == other || replica(self).is_some_and(|it| replica(other) == Some(it))
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Lane(who) => who.to_string().trim_start_matches("the ").to_owned(),
            Self::Service(name) | Self::Object(name) => name.clone(),
        }
    }
}

/// The timeline of these events of a history.
pub(super) fn of(history: &History, events: &[Event], finding: &Finding) -> Timeline {
    let mut rows = Vec::new();
    let mut stored = stored(history, events);
    for at in 0..=events.len() {
        let untold = stored.remove(&(at, false)).unwrap_or_default();
        rows.extend(untold.into_iter().map(row_of_change));
        let Some(event) = events.get(at) else {
            continue;
        };
        let changes = stored.remove(&(at, true)).unwrap_or_default();
        let changes = changes.into_iter().map(|(_, change)| change);
        rows.extend(row_of_event(event, changes));
    }
    let (columns, left_out) = columns(&rows, finding);
    for row in &mut rows {
        row.marks.retain(|(column, _)| columns.contains(column));
    }
    Timeline {
        rows: shortened(rows),
        columns,
        left_out,
    }
}

/// Changes, each with its author, by the event before which they come, or that tells of them.
type Told<'a> = BTreeMap<(usize, bool), Vec<(&'a Stored, &'a Change)>>;

fn stored<'a>(history: &'a History, events: &[Event]) -> Told<'a> {
    let mut told = Told::new();
    let mut changes = history.changes.iter().peekable();
    for stored in &history.authors {
        let is_told = |event: &Event| {
            event.after == stored.after && event.who().is_some_and(|who| who == stored.who)
        };
        let last = stored.events.checked_sub(1);
        let last = last.filter(|last| events.get(*last).is_some_and(is_told));
        let at = last.map_or((stored.events, false), |last| (last, true));
        // What was there before the operator has no author.
        let is_world = stored.who == Who::Others && stored.after.is_zero();
        while let Some(change) = changes.next_if(|change| change.version <= stored.until) {
            let kind = change.new["kind"].as_str().unwrap_or_default();
            if !is_world && !state::NOT_COMPARED.contains(&kind) && stored.events <= events.len() {
                told.entry(at).or_default().push((stored, change));
            }
        }
    }
    told
}

/// A change that no event tells of.
fn row_of_change((stored, change): (&Stored, &Change)) -> Row {
    let (object, mark) = touched(change);
    let verb = match mark {
        Mark::Begins => "creates",
        Mark::Changes => "changes",
        Mark::Ends => "deletes",
    };
    let fields = change.old.as_ref().filter(|_| mark == Mark::Changes);
    let fields = fields.map_or_else(Vec::new, |old| fields::changed(old, &change.new));
    let who = &stored.who;
    let fields = fields::shown(&fields);
    Row {
        after: stored.after,
        tone: Tone::Plain,
        who: Some(Column::Lane(who.clone())),
        text: format!("{who} {verb} {}{fields}", object.title()),
        marks: vec![(object, mark)],
    }
}

/// An event, unless it is of no interest, with the changes that it tells of.
fn row_of_event<'a>(event: &Event, changes: impl Iterator<Item = &'a Change>) -> Option<Row> {
    let lane = event.who().map(Column::Lane);
    let mut marks: Vec<_> = changes.map(touched).collect();
    match &event.what {
        // What is idle for long is a pause.
        Happened::Asked(_) | Happened::Read { .. } | Happened::Idle => return None,
        Happened::Started { .. } => marks.extend(lane.clone().map(|lane| (lane, Mark::Begins))),
        Happened::Ended(..) => marks.extend(lane.clone().map(|lane| (lane, Mark::Ends))),
        Happened::Wrote(write) => {
            let service = write.service.clone().filter(|_| write.changed);
            let service = service.map(Column::Service);
            marks.extend(service.map(|service| (service, Mark::Changes)));
        }
        _ => {}
    }
    let is_fault =
        event.is_fault() || matches!(event.what, Happened::Failed { .. } | Happened::Violated(_));
    let is_quiet = event.is_without_effect().is_some();
    Some(Row {
        after: event.after,
        tone: match (is_fault, is_quiet) {
            (true, _) => Tone::Fault,
            (_, true) => Tone::Quiet,
            _ => Tone::Plain,
        },
        who: lane,
        text: event.to_string(),
        marks,
    })
}

/// The object that a change is about, and what happens to it.
fn touched(change: &Change) -> (Column, Mark) {
    let kind = change.new["kind"].as_str().unwrap_or_default();
    let (namespace, name) = (&*change.path.namespace, &change.path.name);
    let title = match namespace {
        "" => format!("{kind} {name}"),
        _ => format!("{kind} {namespace}/{name}"),
    };
    let mark = match &change.old {
        _ if change.gone => Mark::Ends,
        None => Mark::Begins,
        Some(_) => Mark::Changes,
    };
    (Column::Object(title), mark)
}

/// The columns of these rows: objects in the order in which they come up, and not too many of them. How many there are beyond.
fn columns(rows: &[Row], finding: &Finding) -> (Vec<Column>, usize) {
    let lanes: BTreeSet<_> = rows.iter().filter_map(|row| row.who.clone()).collect();
    let (mut services, mut objects) = (BTreeSet::new(), Vec::new());
    for (column, _) in rows.iter().flat_map(|row| &row.marks) {
        match column {
            Column::Lane(_) => {}
            Column::Service(_) => drop(services.insert(column.clone())),
            Column::Object(_) if objects.contains(column) => {}
            Column::Object(_) => objects.push(column.clone()),
        }
    }
    let left_out = objects.len().saturating_sub(OBJECTS);
    if left_out > 0 {
        let is_named = |column: &Column| {
            let mut details = finding.details.iter();
            details.any(|line| line.contains(&column.title()))
        };
        objects.sort_by_key(|column| !is_named(column));
        objects.truncate(OBJECTS);
    }
    let columns = lanes.into_iter().chain(services).chain(objects);
    (columns.collect(), left_out)
}

/// The first and the last of many rows. What becomes of an object in between is the mark of the row that stands for them.
fn shortened(mut rows: Vec<Row>) -> Vec<Row> {
    let more = rows.len().saturating_sub(ROWS);
    if more == 0 {
        return rows;
    }
    let from = ROWS / 2;
    let mut last = BTreeMap::new();
    let left_out = &rows[from..=from + more];
    last.extend(left_out.iter().flat_map(|row| row.marks.clone()));
    let row = Row {
        after: rows[from].after,
        tone: Tone::Quiet,
        who: None,
        text: format!("… {} events", left_out.len()),
        marks: last.into_iter().collect(),
    };
    rows.splice(from..=from + more, [row]);
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::scenario::Oracle;
    use super::*;
    use crate::server::Path;

    fn finding() -> Finding {
        Finding {
            oracle: Oracle::Counts,
            what: String::new(),
            details: Vec::new(),
            until: None,
        }
    }

    fn change(version: u64, name: &str, old: Option<i32>, new: Option<i32>) -> Change {
        let object = |value| json!({"kind": "ConfigMap", "data": value});
        let (gone, last) = (new.is_none(), new.or(old));
        Change {
            version,
            path: Path::parse(&format!("/api/v1/namespaces/default/configmaps/{name}")).unwrap(),
            old: old.map(object),
            new: object(last.unwrap_or_default()),
            gone,
        }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn stored(who: Who, until: u64, events: usize) -> Stored {
        Stored {
            who,
            until,
            after: seconds(if until > 1 { 9 } else { 0 }),
            events,
        }
    }

    #[test]
    fn a_change_is_part_of_the_event_that_tells_of_it_or_has_a_row_of_its_own() {
        let user = Event {
            after: seconds(9),
            what: Happened::User("creates a".to_owned()),
        };
        let history = History {
            changes: vec![
                change(1, "world", None, Some(1)),
                change(2, "a", None, Some(1)),
                change(3, "a", Some(1), Some(2)),
                change(4, "world", Some(1), None),
            ],
            authors: vec![
                stored(Who::Others, 1, 0),
                stored(Who::User, 2, 1),
                stored(Who::Kubelet, 3, 1),
                stored(Who::GarbageCollector, 4, 1),
            ],
            ..History::default()
        };
        let timeline = of(&history, &[user], &finding());
        let titles: Vec<_> = timeline.columns.iter().map(Column::title).collect();
        let (a, world) = ("ConfigMap default/a", "ConfigMap default/world");
        let lanes = ["user", "garbage collector", "kubelet"];
        assert_eq!(titles, [lanes.as_slice(), &[a, world]].concat());
        let rows = timeline.rows.iter();
        let rows: Vec<_> = rows.map(|row| (&*row.text, row.marks[0].1)).collect();
        let wanted = [
            ("the user creates a", Mark::Begins),
            (
                "the kubelet changes ConfigMap default/a (/data)",
                Mark::Changes,
            ),
            (
                "the garbage collector deletes ConfigMap default/world",
                Mark::Ends,
            ),
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn of_many_rows_the_first_and_the_last_are_shown() {
        let object = || Column::Object("ConfigMap default/a".to_owned());
        let row = |at: u64| Row {
            after: seconds(at),
            tone: Tone::Plain,
            who: None,
            text: at.to_string(),
            marks: vec![(object(), if at == 700 { Mark::Ends } else { Mark::Changes })],
        };
        let rows = shortened((0..=900).map(row).collect());
        assert_eq!(rows.len(), ROWS);
        assert_eq!(
            (&*rows[200].text, rows[200].marks.len()),
            ("… 502 events", 1)
        );
        assert_eq!((&*rows[199].text, &*rows[201].text), ("199", "702"));
    }
}
