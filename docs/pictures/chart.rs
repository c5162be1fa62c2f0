//! What is inside a panel: a number, lines over time, or states over time.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    dashboard::{Line, Span, text},
    theme::{Theme, escaped},
};

/// A rectangle of a picture.
#[derive(Clone, Copy)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The last value, large, in the color of its threshold; or the name of the series.
pub fn stat(svg: &mut String, panel: &Value, series: &[Line], area: Area, theme: &Theme) {
    let last = series
        .iter()
        .rev()
        .find_map(|line| Some((line, line.points.last()?.1)));
    let defaults = &panel["fieldConfig"]["defaults"];
    let (shown, color) = match last {
        None => ("No data".to_owned(), theme.dim),
        Some((line, _)) if panel["options"]["textMode"] == "name" => {
            (line.name.clone(), theme.text)
        }
        Some((_, value)) => (
            number(value, text(defaults, "unit")),
            threshold(defaults, value, theme),
        ),
    };
    let size = if shown.len() > 9 { 12 } else { 24 };
    let (x, y) = (area.x + area.width / 2.0, area.y + area.height / 2.0 + 8.0);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"middle\" fill=\"{color}\">{}</text>",
        escaped(&shown),
    );
}

/// The color of the last step that a value has reached.
fn threshold(defaults: &Value, value: f64, theme: &Theme) -> &'static str {
    let steps = defaults["thresholds"]["steps"]
        .as_array()
        .into_iter()
        .flatten();
    let mut reached =
        steps.filter(|step| step["value"].as_f64().is_none_or(|least| value >= least));
    reached
        .next_back()
        .map_or(theme.text, |step| color(text(step, "color"), theme))
}

fn color(name: &str, theme: &Theme) -> &'static str {
    match name {
        "red" => theme.red,
        "green" => theme.green,
        "blue" => theme.blue,
        other => panic!("no color `{other}`"),
    }
}

/// A line for each series, one above the other if the panel stacks them; labels of the axes, and the names of the series.
pub fn lines(
    svg: &mut String,
    panel: &Value,
    series: &[Line],
    (area, span): (Area, Span),
    theme: &Theme,
) {
    let defaults = &panel["fieldConfig"]["defaults"];
    let stacked = defaults["custom"]["stacking"]["mode"] == "normal";
    let mut series: Vec<_> = series
        .iter()
        .filter(|line| !line.points.is_empty())
        .collect();
    series.sort_by(|one, other| one.name.cmp(&other.name));
    series.truncate(theme.series.len());
    let plot = Area {
        x: area.x + 52.0,
        y: area.y + 6.0,
        width: area.width - 60.0,
        height: area.height - 38.0,
    };
    let mut below: Vec<(f64, f64)> = Vec::new();
    let tops: Vec<Vec<(f64, f64)>> = series
        .iter()
        .map(|line| {
            if stacked {
                below = above(&below, &line.points);
                below.clone()
            } else {
                line.points.clone()
            }
        })
        .collect();
    let highest = tops
        .iter()
        .flatten()
        .map(|(_, value)| *value)
        .fold(0.0, f64::max);
    let step = tick(highest);
    let ticks = (highest / step).ceil().max(1.0);
    let scale = |(time, value): (f64, f64)| {
        let x = plot.x + (time - span.from) / (span.to - span.from) * plot.width;
        let y = plot.y + plot.height * (1.0 - value / (step * ticks));
        (x, y)
    };
    grid(
        svg,
        text(defaults, "unit"),
        (plot, span, step, ticks),
        theme,
    );
    for (at, points) in tops.iter().enumerate() {
        let path: Vec<_> = points.iter().map(|point| scale(*point)).collect();
        polyline(svg, &path, (plot, theme.series[at], stacked));
    }
    let names: Vec<_> = series.iter().map(|line| line.name.as_str()).collect();
    legend(svg, &names, area, theme);
}

/// The points of a series on top of others. A time at which one of them has no value counts as 0.
fn above(below: &[(f64, f64)], points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sum = std::collections::BTreeMap::new();
    for (time, value) in below.iter().chain(points) {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
        let at = (time * 1000.0) as i64;
        sum.entry(at).or_insert((*time, 0.0)).1 += value;
    }
    sum.into_values().collect()
}

/// A round distance of about four ticks up to this value.
fn tick(highest: f64) -> f64 {
    if highest <= 0.0 {
        return 1.0;
    }
    let magnitude = 10_f64.powf((highest / 4.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
    let fits = |step: &f64| highest / step <= 4.0;
    steps.into_iter().find(fits).unwrap_or(10.0 * magnitude)
}

fn grid(
    svg: &mut String,
    unit: &str,
    (plot, span, step, ticks): (Area, Span, f64, f64),
    theme: &Theme,
) {
    let mut at = 0.0;
    while at <= ticks {
        let y = plot.y + plot.height * (1.0 - at / ticks);
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {y:.1}h{:.1}\" stroke=\"{}\" stroke-width=\"0.5\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{}\">{}</text>",
            plot.x,
            plot.width,
            theme.border,
            plot.x - 5.0,
            y + 3.0,
            theme.dim,
            number(at * step, unit),
        );
        at += 1.0;
    }
    let length = span.to - span.from;
    for minute in (0..).take_while(|minute| f64::from(*minute) * 60.0 <= length) {
        let x = plot.x + f64::from(minute) * 60.0 / length * plot.width;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{}\">{minute} min</text>",
            plot.y + plot.height + 13.0,
            theme.dim,
        );
    }
}

fn polyline(svg: &mut String, path: &[(f64, f64)], (plot, color, filled): (Area, &str, bool)) {
    let points = path.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    let points = points.collect::<Vec<_>>().join(" ");
    if let (true, Some((first, _)), Some((last, _))) = (filled, path.first(), path.last()) {
        let bottom = plot.y + plot.height;
        let _ = writeln!(
            svg,
            "<polygon points=\"{first:.1},{bottom:.1} {points} {last:.1},{bottom:.1}\" fill=\"{color}\" fill-opacity=\"0.3\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\"/>"
    );
}

fn legend(svg: &mut String, names: &[&str], area: Area, theme: &Theme) {
    let (mut x, y) = (area.x, area.y + area.height);
    for (at, name) in names.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"3\" fill=\"{}\"/>\n\
             <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            y - 5.0,
            theme.series[at],
            x + 14.0,
            escaped(name),
        );
        // Letters are about as wide as this.
        x += 28.0 + 5.6 * f64::from(u32::try_from(name.chars().count()).unwrap_or(0));
    }
}

/// A bar for each series, colored and labelled as the panel maps its values.
pub fn states(
    svg: &mut String,
    panel: &Value,
    series: &[Line],
    (area, span): (Area, Span),
    theme: &Theme,
) {
    let mapping = &panel["fieldConfig"]["defaults"]["mappings"][0]["options"];
    let bar = (area.width - 190.0) / (span.to - span.from);
    let height = 20.0;
    for (row, line) in (0_u32..).zip(series) {
        let y = area.y + 8.0 + f64::from(row) * (height + 8.0);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            area.x,
            y + 13.0,
            escaped(&line.name)
        );
        for part in line
            .points
            .chunk_by(|one, other| one.1.total_cmp(&other.1).is_eq())
        {
            let (from, to) = (part[0].0, part[part.len() - 1].0);
            let state = &mapping[&part[0].1.to_string()];
            let x = area.x + 182.0 + (from - span.from) * bar;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height}\" fill=\"{}\" fill-opacity=\"0.8\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{}\">{}</text>",
                ((to - from) * bar).max(2.0),
                color(text(state, "color"), theme),
                x + 6.0,
                y + 14.0,
                theme.background,
                escaped(text(state, "text")),
            );
        }
    }
}

/// A value in a unit of Grafana.
fn number(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        "percentunit" => (value * 100.0, " %"),
        "s" if value < 0.001 && value > 0.0 => (value * 1e6, " µs"),
        "s" if value < 1.0 && value > 0.0 => (value * 1e3, " ms"),
        "s" => (value, " s"),
        "ops" => (value, " ops/s"),
        "reqps" => (value, " req/s"),
        "short" => (value, ""),
        other => panic!("no unit `{other}`"),
    };
    let digits = if value >= 10.0 || value.fract() == 0.0 {
        0
    } else if value >= 1.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}
