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

/// The column of the reasons.
const REASON: usize = 3 + NAME + 9 + 6;

/// Draws objects, events, and the errors and warnings, or the first error of a failed build.
pub fn overview(frame: &mut Frame, area: Rect, state: &State, now: SystemTime) {
    let error = state.first_error();
    let (title, lines) = if error.is_empty() {
        let width = usize::from(area.width);
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
    let event_lines = event_lines(state, usize::from(area.width), now);
    let [objects, events, problems] = Layout::vertical([
        Constraint::Fill(2),
        Constraint::Length(fits(event_lines.len()).min(third)),
        Constraint::Length(problems_height),
    ])
    .areas(area);
    let height = usize::from(objects.height).saturating_sub(1);
    let size = (usize::from(area.width), height);
    pane(frame, objects, "objects", object_lines(state, size, now));
    pane(frame, events, "events", event_lines);
    pane(frame, problems, title, lines);
}

/// A line for each kind, followed by its objects; those that are not ready come first.
fn object_lines(
    state: &State,
    (width, height): (usize, usize),
    now: SystemTime,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (name, kind) in &state.kinds {
        let matches = |object: &&Object| {
            object.name.contains(&state.filter) || object.reason.contains(&state.filter)
        };
        let mut objects: Vec<&Object> = kind.objects.values().filter(matches).collect();
        // An object without a condition is not known to be unready.
        objects.sort_by_key(|object| object.status.is_empty() || object.status == "True");
        lines.push(kind_line(name, kind));
        lines.extend(objects.iter().flat_map(|it| object_rows(it, width, now)));
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
    let count_of = |fits: fn(&&Object) -> bool| kind.objects.values().filter(fits).count();
    let count = kind.objects.len();
    let without = count_of(|object| object.status.is_empty());
    let text = match (&kind.problem, count) {
        (Some(problem), _) => return Line::from(vec![name, problem.clone().red()]),
        (None, 0) => "none".to_owned(),
        (None, 1) if without == 1 => "1 object".to_owned(),
        (None, _) if without == count => format!("{count} objects"),
        (None, _) => format!("{} of {count} ready", count_of(|object| object.ready)),
    };
    Line::from(vec![name, Span::from(text)])
}

/// What does not fit into one row continues in rows below it.
fn object_rows(object: &Object, width: usize, now: SystemTime) -> Vec<Line<'static>> {
    let color = match object.status {
        "True" => Color::Green,
        "False" => Color::Red,
        _ => Color::Yellow,
    };
    let age = object.created.map(|created| age(created, now));
    let reason = object.reason.as_str();
    let fits = !reason.contains('\n') && reason.chars().count() + REASON <= width;
    // The reason alone stays beside the name, and its message goes below.
    let (first, rest) = match reason.split_once(": ") {
        Some(parts) if !fits => parts,
        None if !fits => ("", reason),
        _ => (reason, ""),
    };
    let mut rows = vec![Line::from(vec![
        Span::from(format!("   {:<NAME$}", shortened(&object.name, NAME - 1))),
        Span::from(format!("{:<9}", object.status)).style(Style::new().fg(color)),
        Span::from(format!("{:<6}{first}", age.unwrap_or_default())),
    ])];
    let below = rest
        .lines()
        .flat_map(|line| wrapped(line, width.saturating_sub(6)));
    rows.extend(below.map(|row| Line::from(format!("      {row}"))));
    rows
}

/// The newest come first.
fn event_lines(state: &State, width: usize, now: SystemTime) -> Vec<Line<'static>> {
    let filter = &state.filter;
    let matches = |event: &&Event| {
        event.about.contains(filter) || event.reason.contains(filter) || event.note.contains(filter)
    };
    let mut lines = Vec::new();
    for event in state.events.iter().rev().filter(matches) {
        let age = event.time.map_or(String::new(), |time| age(time, now));
        let (about, reason, note) = (&event.about, &event.reason, &event.note);
        let text = format!("{about}  {reason}: {note}");
        let color = if event.warning {
            Style::new().fg(Color::Yellow)
        } else {
            Style::new()
        };
        lines.extend(aged(age, &text, width).map(|line| line.style(color)));
    }
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
        lines.extend(aged(age(*at, now), text, width));
    }
    lines
}

/// A text of any length beside its age.
fn aged(mut age: String, text: &str, width: usize) -> impl Iterator<Item = Line<'static>> {
    let rows = text
        .lines()
        .flat_map(move |line| wrapped(line, width.saturating_sub(7)));
    rows.map(move |row| {
        let line = Line::from(format!(" {age:<5} {row}"));
        age.clear();
        line
    })
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
