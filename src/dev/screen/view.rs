//! Draws the screen.

use std::time::SystemTime;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::age::age;
use super::overview::overview;
use super::state::{Build, Page, State};
use super::update::Operator;

/// Draws `state` as it is at `now`.
pub fn draw(frame: &mut Frame, state: &mut State, now: SystemTime) {
    let keys = match state.page {
        _ if state.typing => "type to filter · Enter keeps the filter · Esc clears it",
        Page::Overview => {
            "a apply samples · d delete objects · r restart · / filter · l log · b build output · q quit"
        }
        Page::Log | Page::Build => "arrows, PgUp, PgDn, Home, End scroll · / filter · q back",
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
    vec![
        Line::from(title),
        Line::from(vec![label("operator"), operator(state, now)]),
        Line::from(vec![label("build"), build(state, now)]),
        Line::from(vec![label("cluster"), Span::from(state.cluster.clone())]),
    ]
}

fn operator(state: &State, now: SystemTime) -> Span<'static> {
    match &state.operator {
        _ if state.stopping => "shutting down".yellow(),
        Operator::NotStarted => Span::from(format!("not started; {}", state.progress)),
        Operator::Running(since) => format!("running for {}", age(*since, now)).green(),
        Operator::Stopping => "stopping".yellow(),
        Operator::Ended(status) => format!("ended ({status}); a change or r starts it again").red(),
    }
}

fn build(state: &State, now: SystemTime) -> Span<'static> {
    match &state.build {
        Build::None => Span::default(),
        Build::Running(since) => format!("running for {}", age(*since, now)).yellow(),
        Build::Done { ok: true, took, at } => {
            let warnings = match state.warnings() {
                0 => String::new(),
                1 => "; 1 warning (b shows it)".to_owned(),
                count => format!("; {count} warnings (b shows them)"),
            };
            let (took, ago) = (took.as_secs_f32(), age(*at, now));
            Span::from(format!("took {took:.1} s, {ago} ago{warnings}"))
        }
        Build::Done { at, .. } => {
            let error = state.first_error().first().copied().unwrap_or_default();
            format!("failed {} ago: {error}", age(*at, now)).red()
        }
    }
}

/// A page of the log or of the build's output.
fn page(frame: &mut Frame, area: Rect, what: &str, state: &mut State) {
    state.size = (
        usize::from(area.width.saturating_sub(1)),
        usize::from(area.height.saturating_sub(1)),
    );
    let (rows, count) = state.visible();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| Line::from(format!(" {row}")))
        .collect();
    let position = match state.scrolled {
        0 => format!(" {what}, {count} lines "),
        below => format!(" {what}, {count} lines, {below} below "),
    };
    let block = Block::new().borders(Borders::TOP).title(position);
    frame.render_widget(Paragraph::new(rows).block(block), area);
}
