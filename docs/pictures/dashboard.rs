//! The picture of `grafana/dashboard.json`: its panels at their places, with what Prometheus answers to their queries.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    chart::{self, Area},
    prometheus::{Prometheus, Series},
    theme::{Theme, escaped},
};

/// The size of a cell of Grafana's grid, and the space for the title.
const CELL: (f64, f64) = (40.0, 20.0);
const HEAD: f64 = 34.0;

/// A panel, with the name and the points of each of its series.
pub struct Panel {
    json: Value,
    series: Vec<Line>,
}

pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// The time that the charts show, in Unix seconds.
#[derive(Clone, Copy)]
pub struct Span {
    pub from: f64,
    pub to: f64,
}

/// The values of the dashboard's variables.
pub struct Variables {
    pub job: String,
    pub namespace: &'static str,
}

impl Variables {
    fn expand(&self, query: &str) -> String {
        query
            .replace("$__rate_interval", "20s")
            .replace("$namespace", self.namespace)
            .replace("$controller", ".*")
            .replace("$job", &self.job)
    }
}

/// The panels above this row, with their data.
pub fn panels(
    dashboard: &Value,
    until: &str,
    asked: (&Prometheus, &Variables, Span),
) -> Vec<Panel> {
    let (prometheus, variables, span) = asked;
    let step = (span.to - span.from) / 120.0;
    let all = dashboard["panels"].as_array().expect("panels").iter();
    let shown = all.take_while(|panel| panel["title"] != until);
    let lines = |panel: &Value| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        let answers = targets.flat_map(|target| {
            let query = variables.expand(text(target, "expr"));
            let series = prometheus.between(&query, span.from, span.to, step);
            series
                .into_iter()
                .map(|series| line(text(target, "legendFormat"), series))
        });
        answers.collect()
    };
    let panel = |json: &Value| Panel {
        series: lines(json),
        json: json.clone(),
    };
    shown.map(panel).collect()
}

/// `{{pod}} received` with the label of the series.
fn line(legend: &str, series: Series) -> Line {
    let fill = |name: String, (label, value): (&String, &String)| {
        name.replace(&format!("{{{{{label}}}}}"), value)
    };
    Line {
        name: series.labels.iter().fold(legend.to_owned(), fill),
        points: series.points,
    }
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub fn picture(title: &str, panels: &[Panel], span: Span, theme: &Theme) -> String {
    let areas: Vec<_> = panels
        .iter()
        .map(|panel| area(&panel.json["gridPos"]))
        .collect();
    let bottom = areas.iter().map(|area| area.y + area.height);
    let (width, height) = (24.0 * CELL.0 + 8.0, bottom.fold(0.0, f64::max) + 8.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>The dashboard {title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\"/>\n\
         <g font-family=\"system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif\" font-size=\"10\" fill=\"{}\">\n\
         <text x=\"12\" y=\"23\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
        theme.background,
        theme.text,
        escaped(title),
    );
    for (panel, area) in panels.iter().zip(areas) {
        draw(&mut svg, panel, area, span, theme);
    }
    svg + "</g>\n</svg>\n"
}

fn area(grid: &Value) -> Area {
    let cells = |key: &str| grid[key].as_f64().expect("a number");
    Area {
        x: cells("x") * CELL.0 + 6.0,
        y: cells("y") * CELL.1 + HEAD + 2.0,
        width: cells("w") * CELL.0 - 4.0,
        height: cells("h") * CELL.1 - 4.0,
    }
}

fn draw(svg: &mut String, panel: &Panel, area: Area, span: Span, theme: &Theme) {
    let title = escaped(text(&panel.json, "title"));
    let kind = text(&panel.json, "type");
    let Area {
        x,
        y,
        width,
        height,
    } = area;
    if kind == "row" {
        let y = y + 11.0;
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"12\" font-weight=\"bold\">{title}</text>"
        );
        return;
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\" fill=\"{}\" stroke=\"{}\"/>\n\
         <text x=\"{}\" y=\"{}\" font-size=\"11\" font-weight=\"bold\">{title}</text>",
        theme.panel,
        theme.border,
        x + 8.0,
        y + 15.0,
    );
    let inner = Area {
        x: x + 8.0,
        y: y + 22.0,
        width: width - 16.0,
        height: height - 28.0,
    };
    match kind {
        "stat" => chart::stat(svg, &panel.json, &panel.series, inner, theme),
        "timeseries" => chart::lines(svg, &panel.json, &panel.series, (inner, span), theme),
        "state-timeline" => chart::states(svg, &panel.json, &panel.series, (inner, span), theme),
        other => panic!("no picture of a panel `{other}`"),
    }
}
