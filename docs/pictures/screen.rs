//! The picture of a screen: its texts at their places, in the colors of a theme.

use std::fmt::Write as _;

use vt100::{Cell, Color};

use super::theme::{Theme, escaped};

/// The size of a character, and the space around the screen.
const WIDTH: u32 = 8;
const HEIGHT: u32 = 18;
const MARGIN: u32 = 14;

pub fn picture(screen: &vt100::Screen, title: &str, theme: &Theme) -> String {
    let (rows, columns) = screen.size();
    let width = u32::from(columns.get()) * WIDTH + 2 * MARGIN;
    let height = u32::from(rows.get()) * HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{title} in a terminal</title>\n\
         <rect x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" \
         fill=\"{}\" xml:space=\"preserve\">\n",
        width - 2,
        height - 2,
        theme.background,
        theme.border,
        theme.text,
    );
    for row in 0..rows.get() {
        line(&mut svg, screen, row, columns.get(), theme);
    }
    svg + "</g>\n</svg>\n"
}

/// Adds a text for each part of a line that looks alike.
fn line(svg: &mut String, screen: &vt100::Screen, row: u16, columns: u16, theme: &Theme) {
    let cells = (0..columns).filter_map(|column| Some((column, screen.cell(row, column)?)));
    let mut parts: Vec<(u16, String, String)> = Vec::new();
    for (column, cell) in cells {
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        let look = look(cell, theme);
        match parts.last_mut() {
            Some((_, last, so_far)) if *last == look => so_far.push_str(text),
            _ => parts.push((column, look, text.to_owned())),
        }
    }
    for (column, look, text) in parts {
        let text = text.trim_end();
        let indent = text.chars().take_while(|it| *it == ' ').count();
        let text = text.trim_start();
        if text.is_empty() {
            continue;
        }
        let x = MARGIN + (u32::from(column) + u32::try_from(indent).unwrap_or(0)) * WIDTH;
        let y = MARGIN + u32::from(row) * HEIGHT + 13;
        let length = u32::try_from(text.chars().count()).unwrap_or(0) * WIDTH;
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\"{look}>{}</text>",
            escaped(text)
        );
    }
}

/// The attributes of a text with the look of this cell.
fn look(cell: &Cell, theme: &Theme) -> String {
    let color = match cell.fgcolor() {
        Color::Idx(1 | 9) => Some(theme.red),
        Color::Idx(2 | 10) => Some(theme.green),
        Color::Idx(3 | 11) => Some(theme.yellow),
        _ if cell.dim() => Some(theme.dim),
        _ => None,
    };
    let color = color.map(|color| format!(" fill=\"{color}\""));
    let bold = if cell.bold() {
        " font-weight=\"bold\""
    } else {
        ""
    };
    color.unwrap_or_default() + bold
}
