//! Draws a timeline: time goes down, and texts stand right of the columns.

use std::{fmt::Write as _, time::Duration};

use super::{
    escaped,
    rows::{Column, Mark, Row, Timeline, Tone},
};

/// The colors of what is light, and of what is dark.
const STYLE: &str = "\
svg{--back:#fff;--text:#1f2328;--dim:#6e7781;--line:#d0d7de;--life:#8250df;--who:#0969da;--red:#cf222e;--fault:#ffebe9}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--dim:#8b949e;--line:#30363d;--life:#d2a8ff;--who:#79c0ff;--red:#ff7b72;--fault:#3c1618}}
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--text)}
text.time{text-anchor:end}
text.time,text.quiet{fill:var(--dim)}
text.fault{fill:var(--red)}
rect.back{fill:var(--back)}
rect.fault{fill:var(--fault)}
path{fill:none;stroke:var(--line)}
.life{stroke:var(--life)}
.who{stroke:var(--who)}
path.lives{stroke-width:3;opacity:.45}
path.mark{stroke-width:2}
circle{stroke-width:1.5}
circle.life{fill:var(--life)}
circle.who{fill:var(--who)}
circle.changed{fill:var(--back)}
.fault{stroke:var(--red)}
text.fault,rect.fault{stroke:none}
circle.who.fault{fill:var(--red)}";

/// Sizes in pixels: of the column with the times, of the others, of a letter, of a line, and around the lines of a row.
const TIME: usize = 74;
const COLUMN: usize = 18;
const LETTER: f64 = 7.25;
const LINE: usize = 16;
const AROUND: usize = 6;

/// How far the lines below the first are indented.
const INDENT: usize = 14;

/// How many letters a line has.
const LETTERS: usize = 64;

/// A pause that is this long is shown as one.
const PAUSE: Duration = Duration::from_secs(5);

/// A row at its place.
struct Placed<'a> {
    row: &'a Row,
    top: usize,
    lines: Vec<String>,
}

impl Placed<'_> {
    fn bottom(&self) -> usize {
        self.top + self.lines.len() * LINE + AROUND
    }

    /// Where its marks are.
    fn middle(&self) -> usize {
        self.top + LINE / 2 + AROUND / 2
    }
}

/// Draws a timeline as SVG, for a page of HTML.
pub(super) fn of(timeline: &Timeline) -> String {
    let columns = &timeline.columns;
    let head = columns.len() * LINE + AROUND;
    let rows = placed(&timeline.rows, head);
    let bottom = rows.last().map_or(head, Placed::bottom);
    let texts = TIME + columns.len() * COLUMN + AROUND;
    let width = texts + INDENT + length(LETTERS) + AROUND;
    let titles = columns.iter().enumerate();
    let titles = titles.map(|(at, column)| x(at) + length(column.title().chars().count() + 2));
    let width = titles.fold(width, usize::max);
    let height = bottom + AROUND + if timeline.left_out > 0 { LINE } else { 0 };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" style=\"max-width:100%;min-width:{least}px\">\n\
         <style>\n{STYLE}\n</style>\n<rect class=\"back\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n",
        least = width * 7 / 10,
    );
    for placed in &rows {
        background(&mut svg, placed, width);
    }
    for (at, column) in columns.iter().enumerate() {
        head_of(&mut svg, column, at, bottom);
        lives(&mut svg, column, at, &rows, (head, bottom));
    }
    let mut before = None;
    for placed in &rows {
        times(&mut svg, placed, before);
        marks(&mut svg, placed, columns);
        lines(&mut svg, placed, texts);
        before = Some(placed.row.after);
    }
    if timeline.left_out > 0 {
        let (count, y) = (timeline.left_out, bottom + LINE);
        put(
            &mut svg,
            (TIME, y),
            "quiet",
            &format!("{count} more objects have no column"),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The x of a column.
fn x(at: usize) -> usize {
    TIME + at * COLUMN + COLUMN / 2
}

/// The length of a text.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "texts are short"
)]
fn length(letters: usize) -> usize {
    (letters as f64 * LETTER).ceil() as usize
}

/// The rows, one below the other: a pause takes a line.
fn placed(rows: &[Row], head: usize) -> Vec<Placed<'_>> {
    let (mut top, mut before) = (head, Duration::ZERO);
    let mut placed = Vec::new();
    for row in rows {
        if pause(before, row.after).is_some() {
            top += LINE;
        }
        before = row.after;
        let lines = wrapped(&row.text);
        let one = Placed { row, top, lines };
        top = one.bottom();
        placed.push(one);
    }
    placed
}

/// How long nothing happens between these times, if that is long.
fn pause(before: Duration, after: Duration) -> Option<Duration> {
    let pause = after.saturating_sub(before);
    (pause >= PAUSE).then_some(pause)
}

/// The lines of a text, none of them too long.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > LETTERS {
            let at = rest[..LETTERS].iter().rposition(|letter| *letter == ' ');
            let at = at
                .filter(|at| *at > LETTERS / 2)
                .map_or(LETTERS, |at| at + 1);
            let more = rest.split_off(at);
            lines.push(rest.into_iter().collect());
            rest = more;
        }
        lines.push(rest.into_iter().collect());
    }
    lines
}

/// A text; writing to a string cannot fail.
fn put(svg: &mut String, (x, y): (usize, usize), class: &str, text: &str) {
    let text = escaped(text);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>"
    );
}

fn background(svg: &mut String, placed: &Placed<'_>, width: usize) {
    if placed.row.tone == Tone::Fault {
        let (y, height) = (placed.top, placed.bottom() - placed.top);
        let _ = writeln!(
            svg,
            "<rect class=\"fault\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }
}

/// The title of a column, one below the other, and its line down to the end.
fn head_of(svg: &mut String, column: &Column, at: usize, bottom: usize) {
    let (x, y) = (x(at), at * LINE + LINE);
    put(svg, (x + 5, y), "head", &column.title());
    let _ = writeln!(svg, "<path d=\"M{x} {}V{bottom}\"/>", y - 4);
}

/// The times in which something exists, or a process of the operator runs.
fn lives(
    svg: &mut String,
    column: &Column,
    at: usize,
    rows: &[Placed<'_>],
    (head, bottom): (usize, usize),
) {
    let found = rows.iter().flat_map(|placed| {
        let marks = placed
            .row
            .marks
            .iter()
            .filter(|(it, _)| it.lives_with(column));
        marks.map(|(_, mark)| (*mark, placed.middle()))
    });
    let mut found = found.peekable();
    let is_object = matches!(column, Column::Object(_));
    // What changes before it is created was there before.
    let first = found.peek().map(|(mark, _)| *mark);
    let mut since = (is_object && first != Some(Mark::Begins)).then_some(head);
    let class = class_of(column);
    let x = x(at);
    for (mark, y) in found {
        match (mark, since) {
            (Mark::Begins, None) => since = Some(y),
            (Mark::Ends, Some(from)) => {
                let _ = writeln!(svg, "<path class=\"lives {class}\" d=\"M{x} {from}V{y}\"/>");
                since = None;
            }
            _ => {}
        }
    }
    if let Some(from) = since {
        let _ = writeln!(
            svg,
            "<path class=\"lives {class}\" d=\"M{x} {from}V{bottom}\"/>"
        );
    }
}

fn class_of(column: &Column) -> &'static str {
    match column {
        Column::Lane(_) => "who",
        Column::Service(_) | Column::Object(_) => "life",
    }
}

/// When a row happens, if it is not when the one before does, and how long nothing happened before.
fn times(svg: &mut String, placed: &Placed<'_>, before: Option<Duration>) {
    let after = placed.row.after;
    let last = before.unwrap_or_default();
    let time = |time: Duration| format!("{:.1}s", time.as_secs_f64());
    if let Some(pause) = pause(last, after) {
        let text = format!("⋮ {:.0} s", pause.as_secs_f64());
        put(svg, (TIME - AROUND, placed.top - 3), "time", &text);
    }
    if before.is_none_or(|before| time(before) != time(after)) {
        let place = (TIME - AROUND, placed.top + LINE - 1);
        put(svg, place, "time", &time(after));
    }
}

/// Who acts, and on what.
fn marks(svg: &mut String, placed: &Placed<'_>, columns: &[Column]) {
    let (row, y) = (placed.row, placed.middle());
    let place = |column: &Column| columns.iter().position(|it| it == column).map(x);
    let who = row.who.as_ref().and_then(place);
    let fault = if row.tone == Tone::Fault {
        " fault"
    } else {
        ""
    };
    let touched = row.marks.iter();
    let touched = touched.filter_map(|(column, mark)| Some((column, *mark, place(column)?)));
    let xs = touched.clone().map(|(_, _, x)| x).chain(who);
    if let (Some(from), Some(to)) = (xs.clone().min(), xs.max())
        && from < to
    {
        let _ = writeln!(svg, "<path d=\"M{from} {y}H{to}\"/>");
    }
    let is_touched = |column| row.marks.iter().any(|(it, _)| Some(it) == column);
    if let Some(x) = who.filter(|_| !is_touched(row.who.as_ref())) {
        let _ = writeln!(
            svg,
            "<circle class=\"who{fault}\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>"
        );
    }
    for (column, mark, x) in touched {
        let class = class_of(column);
        let _ = match mark {
            Mark::Begins => {
                writeln!(
                    svg,
                    "<circle class=\"{class}{fault}\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"
                )
            }
            Mark::Changes => {
                writeln!(
                    svg,
                    "<circle class=\"{class} changed{fault}\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>"
                )
            }
            Mark::Ends => writeln!(
                svg,
                "<path class=\"mark {class}{fault}\" d=\"M{} {}l8 8m0-8l-8 8\"/>",
                x - 4,
                y - 4
            ),
        };
    }
}

fn lines(svg: &mut String, placed: &Placed<'_>, x: usize) {
    let class = match placed.row.tone {
        Tone::Plain => "plain",
        Tone::Quiet => "quiet",
        Tone::Fault => "fault",
    };
    for (at, line) in placed.lines.iter().enumerate() {
        let x = x + if at > 0 { INDENT } else { 0 };
        let y = placed.top + (at + 1) * LINE - 1;
        put(svg, (x, y), class, line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_has_several_lines() {
        let words = "word ".repeat(17);
        let long = "x".repeat(LETTERS + 1);
        let lines = wrapped(&format!("{words}\n{long}\nhelp"));
        assert!(
            lines.iter().all(|line| line.chars().count() <= LETTERS),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(lines[1], "word word word word word ");
    }
}
