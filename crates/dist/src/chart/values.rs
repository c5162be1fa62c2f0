//! The values of a chart, each with its default, what it accepts and what it is for: `values.yaml`, its schema, and the README's table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context;
use serde_json::{Map, Value, json};

use kbr_scaffold::{quote, yaml};

/// One value.
#[derive(Clone, Debug)]
pub struct Row {
    /// Below `.Values`.
    pub path: String,
    pub default: Value,
    /// A JSON schema.
    pub schema: Value,
    /// A sentence without its full stop.
    pub about: String,
}

impl Row {
    pub fn new(
        path: impl Into<String>,
        default: Value,
        schema: Value,
        about: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            default,
            schema,
            about: about.into(),
        }
    }
}

/// `values.yaml`, with a comment above each value, and above the sections that have one.
///
/// # Errors
/// A default cannot be written as YAML.
pub fn text(rows: &[Row], comments: &BTreeMap<String, String>) -> anyhow::Result<String> {
    let mut text = String::new();
    let rows: Vec<(Vec<&str>, &Row)> = rows
        .iter()
        .map(|row| (row.path.split('.').collect(), row))
        .collect();
    section(&mut text, &rows, 0, comments)?;
    Ok(text)
}

fn section(
    text: &mut String,
    rows: &[(Vec<&str>, &Row)],
    depth: usize,
    comments: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let indent = depth * 2;
    let mut done: Vec<&str> = Vec::new();
    for (path, row) in rows {
        let key = path[depth];
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        if path.len() == depth + 1 {
            comment(text, &row.about, indent)?;
            let entry = yaml::render(&[json!({ key: row.default })])
                .context("cannot write `values.yaml`")?;
            entry
                .lines()
                .try_for_each(|line| writeln!(text, "{:indent$}{line}", ""))?;
        } else {
            let section_path = path[..=depth].join(".");
            if let Some(about) = comments.get(&section_path) {
                comment(text, about, indent)?;
            }
            let line = yaml::render(&[json!({ key: {} })])?;
            let line = line.trim_end().trim_end_matches("{}").trim_end();
            writeln!(text, "{:indent$}{line}", "")?;
            let below: Vec<_> = rows
                .iter()
                .filter(|(path, _)| path[depth] == key)
                .cloned()
                .collect();
            section(text, &below, depth + 1, comments)?;
        }
    }
    Ok(())
}

fn comment(text: &mut String, about: &str, indent: usize) -> anyhow::Result<()> {
    for line in format!("{about}.").lines() {
        writeln!(text, "{:indent$}{}", "", quote::yaml_comment(line))?;
    }
    Ok(())
}

/// The schema: what is not a value of the chart is refused, except Helm's own `global`.
pub fn schema(rows: &[Row], title: &str) -> Value {
    let mut schema = object();
    for row in rows {
        let mut place = &mut schema;
        for key in row.path.split('.') {
            let parts = &mut place["properties"];
            if parts.get(key).is_none() {
                parts[key] = object();
            }
            place = &mut parts[key];
        }
        *place = row.schema.clone();
        place["description"] = json!(row.about);
    }
    // Helm adds these to the values of a chart, and to those of each subchart.
    let global = json!({ "type": "object" });
    if let Some(crds) = schema["properties"].get_mut("crd") {
        crds["properties"]["global"] = global.clone();
    }
    schema["properties"]["global"] = global;
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(title);
    schema
}

fn object() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": Map::new() })
}

/// A table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = "| Value | Default | What |\n|---|---|---|\n".to_owned();
    for row in rows {
        let path = quote::markdown(&row.path);
        let default = quote::markdown(&row.default.to_string());
        let about = row.about.replace('\n', " ").replace('|', "\\|");
        writeln!(text, "| {path} | {default} | {about} |").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Row; 3] {
        [
            Row::new("a.b", json!(1), json!({ "type": "integer" }), "The b"),
            Row::new("c", json!({}), json!({ "type": "object" }), "The c"),
            Row::new("a.d", json!("x"), json!({ "type": "string" }), "The d"),
        ]
    }

    #[test]
    fn values_have_comments_and_stand_together() {
        let expected = "a:\n  # The b.\n  b: 1\n  # The d.\n  d: x\n# The c.\nc: {}\n";
        assert_eq!(text(&rows(), &BTreeMap::new()).unwrap(), expected);
    }

    #[test]
    fn the_schema_refuses_what_is_no_value() {
        let schema = schema(&rows(), "x");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["a"]["additionalProperties"], false);
        assert_eq!(
            schema["properties"]["a"]["properties"]["b"],
            json!({ "type": "integer", "description": "The b" })
        );
    }
}
