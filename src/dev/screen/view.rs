//! Draws the screen.

use std::time::{Duration, SystemTime};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::object::Object;
use super::state::{Build, Kind, Operator, Page, State};

/// The width of the column of names.
const NAME: usize = 34;

/// Draws `state` as it is at `now`.
pub fn draw(frame: &mut Frame, state: &mut State, now: SystemTime) {
    let keys = match state.page {
        _ if state.typing => "type the text to look for · Enter keep · Esc show all",
        Page::Overview => {
            "a apply samples · r restart · / filter · l log · b build output · q quit"
        }
        Page::Log | Page::Build => {
            "arrows, PgUp, PgDn, Home, End scroll · / filter · Esc back · q quit"
        }
    };
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(heading(state, now)), head);
    frame.render_widget(Line::from(format!(" {keys}")).dim(), foot);
    match state.page {
        Page::Overview => overview(frame, body, state, now),
        Page::Log => page(frame, body, "log", state),
        Page::Build => page(frame, body, "build output", state),
    }
}

fn heading(state: &State, now: SystemTime) -> Vec<Line<'static>> {
    let label = |text: &str| Span::from(format!(" {text:<9} ")).dim();
    let since = age(state.began, now);
    let mut title = vec![
        " kbr dev ".bold(),
        Span::from(format!(" {}, for {since}", state.project)),
    ];
    if !state.filter.is_empty() || state.typing {
        title.push(Span::from(format!("   filter: {}", state.filter)).yellow());
    }
    let operator = match &state.operator {
        _ if state.stopping => "stopping".yellow(),
        Operator::NotStarted => Span::from(format!("not started; {}", state.progress)),
        Operator::Running(since) => format!("running for {}", age(*since, now)).green(),
        Operator::Ended(status) => format!("ended ({status}); a change or r restarts it").red(),
    };
    let build = match &state.build {
        Build::None => Span::default(),
        Build::Running(since) => format!("runs for {}", age(*since, now)).yellow(),
        Build::Done { ok: true, took, at } => Span::from(format!(
            "took {:.1} s, {} ago{}",
            took.as_secs_f32(),
            age(*at, now),
            match state.warnings() {
                0 => String::new(),
                1 => "; 1 warning (b shows it)".to_owned(),
                count => format!("; {count} warnings (b shows them)"),
            }
        )),
        Build::Done { at, .. } => {
            let error = state.first_error().first().map_or("", String::as_str);
            format!("failed {} ago: {error}", age(*at, now)).red()
        }
    };
    vec![
        Line::from(title),
        Line::from(vec![label("operator"), operator]),
        Line::from(vec![label("build"), build]),
        Line::from(vec![label("cluster"), Span::from(state.cluster.clone())]),
    ]
}

fn overview(frame: &mut Frame, area: Rect, state: &State, now: SystemTime) {
    let error = state.first_error();
    let problems = if error.is_empty() {
        state.problems.len()
    } else {
        error.len()
    };
    let fits = |lines: usize| u16::try_from(lines + 1).unwrap_or(u16::MAX);
    let third = area.height / 3;
    let problems_height = match problems {
        0 => 0,
        _ => fits(problems).clamp(3, third.max(3)),
    };
    let [objects, events, problems] = Layout::vertical([
        Constraint::Fill(2),
        Constraint::Length(fits(state.events.len().max(1)).min(third)),
        Constraint::Length(problems_height),
    ])
    .areas(area);
    let lines = object_lines(state, objects.height.saturating_sub(1).into(), now);
    pane(frame, objects, "objects", lines);
    pane(
        frame,
        events,
        "events",
        event_lines(state, events.height, now),
    );
    let (title, lines) = if error.is_empty() {
        (
            "errors and warnings",
            problem_lines(state, problems.height, now),
        )
    } else {
        let lines = error.iter().map(|line| Line::from(format!(" {line}")));
        ("first error", lines.collect())
    };
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
        objects.sort_by_key(|object| object.ready == "True");
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
    let count = kind.objects.len();
    let ready = kind
        .objects
        .values()
        .filter(|object| object.ready == "True");
    let text = match (&kind.problem, count) {
        (Some(problem), _) => {
            return Line::from(vec![
                format!(" {name:<width$}", width = NAME + 2).bold(),
                problem.clone().red(),
            ]);
        }
        (None, 0) => "none".to_owned(),
        (None, _) => format!("{} of {count} ready", ready.count()),
    };
    Line::from(vec![
        format!(" {name:<width$}", width = NAME + 2).bold(),
        Span::from(text),
    ])
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

fn event_lines(state: &State, height: u16, now: SystemTime) -> Vec<Line<'static>> {
    let shown = state.events.iter().filter(|event| {
        let filter = &state.filter;
        event.about.contains(filter) || event.reason.contains(filter) || event.note.contains(filter)
    });
    let lines = shown
        .rev()
        .take(usize::from(height.saturating_sub(1)))
        .map(|event| {
            let age = event.time.map_or(String::new(), |time| age(time, now));
            let text = format!(
                " {age:<5} {}  {}: {}",
                event.about, event.reason, event.note
            );
            let line = Line::from(text);
            if event.warning { line.yellow() } else { line }
        });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return vec![Line::from(" none").dim()];
    }
    lines
}

fn problem_lines(state: &State, height: u16, now: SystemTime) -> Vec<Line<'static>> {
    let last = state.problems.iter().rev();
    let lines = last.take(usize::from(height.saturating_sub(1)));
    let line =
        |(at, text): &(SystemTime, String)| Line::from(format!(" {:<5} {text}", age(*at, now)));
    lines.map(line).collect()
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

/// A page of the log or of the build's output.
fn page(frame: &mut Frame, area: Rect, what: &str, state: &mut State) {
    state.height = usize::from(area.height.saturating_sub(1));
    let scrolled = state.scrolled;
    let (lines, count) = state.visible();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| Line::from(format!(" {line}")))
        .collect();
    let position = if scrolled == 0 {
        format!(" {what}, {count} lines ")
    } else {
        format!(" {what}, {count} lines, {} below ", state.scrolled)
    };
    let block = Block::new().borders(Borders::TOP).title(position);
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

/// The time from `then` to `now`, in the largest unit, as kubectl prints ages.
fn age(then: SystemTime, now: SystemTime) -> String {
    let age = now.duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match age {
        0..=119 => format!("{age}s"),
        120..=7199 => format!("{}m", age / 60),
        7200..=172_799 => format!("{}h", age / 3600),
        _ => format!("{}d", age / 86_400),
    }
}
