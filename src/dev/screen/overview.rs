//! The overview: objects, events, and errors.

use std::time::SystemTime;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::age::age;
use super::lines::wrapped;
use super::object::{Event, Object};
use super::state::{Kind, State};

/// The width of the column of names.
const NAME: usize = 34;

/// Draws objects, events, and the errors and warnings, or the first error of a failed build.
pub fn overview(frame: &mut Frame, area: Rect, state: &State, now: SystemTime) {
    let error = state.first_error();
    let (title, lines) = if error.is_empty() {
        let width = usize::from(area.width).saturating_sub(7);
        ("errors and warnings", problem_lines(state, width, now))
    } else {
        let lines = error.iter().map(|line| Line::from(format!(" {line}")));
        ("first error", lines.collect())
    };
    let third = area.height / 3;
    let fits = |lines: usize| u16::try_from(lines + 1).unwrap_or(u16::MAX);
    let problems_height = match lines.len() {
        0 => 0,
        count => fits(count).clamp(3, third.max(3)),
    };
    let [objects, events, problems] = Layout::vertical([
        Constraint::Fill(2),
        Constraint::Length(fits(state.events.len().max(1)).min(third)),
        Constraint::Length(problems_height),
    ])
    .areas(area);
    let height = usize::from(objects.height).saturating_sub(1);
    pane(frame, objects, "objects", object_lines(state, height, now));
    pane(frame, events, "events", event_lines(state, now));
    pane(frame, problems, title, lines);
}

/// A line for each kind, followed by its objects; those that are not ready come first.
fn object_lines(state: &State, height: usize, now: SystemTime) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (name, kind) in &state.kinds {
        let matches = |object: &&Object| {
            object.name.contains(&state.filter) || object.reason.contains(&state.filter)
        };
        let mut objects: Vec<&Object> = kind.objects.values().filter(matches).collect();
        // An object without a condition is not known to be unready.
        objects.sort_by_key(|object| object.ready.is_empty() || object.ready == "True");
        lines.push(kind_line(name, kind));
        lines.extend(objects.into_iter().map(|object| object_line(object, now)));
    }
    if lines.len() > height {
        let more = lines.len() - height.saturating_sub(1);
        lines.truncate(height.saturating_sub(1));
        lines.push(Line::from(format!("   {more} more lines; / filters them")).dim());
    }
    lines
}

fn kind_line(name: &str, kind: &Kind) -> Line<'static> {
    let name = format!(" {name:<width$}", width = NAME + 2).bold();
    let with = |ready: &str| {
        let objects = kind.objects.values();
        objects.filter(|object| object.ready == ready).count()
    };
    let count = kind.objects.len();
    let text = match (&kind.problem, count) {
        (Some(problem), _) => return Line::from(vec![name, problem.clone().red()]),
        (None, 0) => "none".to_owned(),
        (None, 1) if with("") == 1 => "1 object".to_owned(),
        (None, _) if with("") == count => format!("{count} objects"),
        (None, _) => format!("{} of {count} ready", with("True")),
    };
    Line::from(vec![name, Span::from(text)])
}

fn object_line(object: &Object, now: SystemTime) -> Line<'static> {
    let color = match object.ready.as_str() {
        "True" => Color::Green,
        "False" => Color::Red,
        _ => Color::Yellow,
    };
    let age = object.created.map(|created| age(created, now));
    Line::from(vec![
        Span::from(format!("   {:<NAME$}", shortened(&object.name, NAME - 1))),
        Span::from(format!("{:<9}", object.ready)).style(Style::new().fg(color)),
        Span::from(format!("{:<6}{}", age.unwrap_or_default(), object.reason)),
    ])
}

/// The newest come first.
fn event_lines(state: &State, now: SystemTime) -> Vec<Line<'static>> {
    let filter = &state.filter;
    let matches = |event: &&Event| {
        event.about.contains(filter) || event.reason.contains(filter) || event.note.contains(filter)
    };
    let line = |event: &Event| {
        let age = event.time.map_or(String::new(), |time| age(time, now));
        let (about, reason, note) = (&event.about, &event.reason, &event.note);
        let line = Line::from(format!(" {age:<5} {about}  {reason}: {note}"));
        if event.warning { line.yellow() } else { line }
    };
    let lines: Vec<_> = state
        .events
        .iter()
        .rev()
        .filter(matches)
        .map(line)
        .collect();
    if lines.is_empty() {
        return vec![Line::from(" none").dim()];
    }
    lines
}

/// The newest come first; long lines fill several rows of `width` characters.
fn problem_lines(state: &State, width: usize, now: SystemTime) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (at, text) in state.problems.iter().rev() {
        if !text.contains(&state.filter) {
            continue;
        }
        let rows = text.lines().flat_map(|line| wrapped(line, width));
        let mut age = age(*at, now);
        for row in rows {
            lines.push(Line::from(format!(" {age:<5} {row}")));
            age.clear();
        }
    }
    lines
}

/// Lines below a title.
fn pane(frame: &mut Frame, area: Rect, title: &'static str, lines: Vec<Line<'static>>) {
    let border = Style::new().add_modifier(Modifier::DIM);
    let block = Block::new()
        .borders(Borders::TOP)
        .border_style(border)
        .title(format!(" {title} "));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// At most `width` characters of `name`, which ends with `…` if it is longer.
fn shortened(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    let kept: String = name.chars().take(width - 1).collect();
    format!("{kept}…")
}
