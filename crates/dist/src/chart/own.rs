//! What the user adds to the chart, in `config/chart`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::settings::{Form, SETTINGS};
use super::values::Row;
use kbr_manifests::files::{self, Body};

/// Defaults that differ from kbr's, and further values.
const VALUES: &str = "config/chart/values.patch.yaml";

/// What the further values accept, where their defaults do not say it.
const SCHEMA: &str = "config/chart/values.schema.json";

/// Further templates.
const TEMPLATES: &str = "config/chart/templates";

/// What [`VALUES`] and [`SCHEMA`] say.
#[derive(Debug, Default)]
pub struct Own {
    patch: Value,
    schema: Value,
    /// The comments above the keys of [`VALUES`], by their paths.
    pub comments: BTreeMap<String, String>,
    /// Items of settings that are lists. They are in the templates, because a list of the chart's user replaces one in `values.yaml`.
    pub items: BTreeMap<&'static str, Vec<Value>>,
}

impl Own {
    /// Reads both files.
    ///
    /// # Errors
    /// A file cannot be read, or an item is not one of its setting.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let mut own = Self::default();
        if let Some(text) = files::read(&root.join(VALUES))? {
            let text = String::from_utf8_lossy(&text);
            own.patch = kbr_host::yaml::document(&text)
                .with_context(|| format!("cannot read `{VALUES}`"))?;
            own.comments = comments(&text);
        }
        if let Some(text) = files::read(&root.join(SCHEMA))? {
            own.schema =
                serde_json::from_slice(&text).with_context(|| format!("cannot read `{SCHEMA}`"))?;
            close(&mut own.schema);
        }
        for setting in SETTINGS.iter().filter(|it| it.form == Form::Items) {
            let manager = own.patch.get_mut("manager").and_then(Value::as_object_mut);
            let Some(items) = manager.and_then(|it| it.remove(setting.value)) else {
                continue;
            };
            check(
                &format!("manager.{}", setting.value),
                &items,
                &(setting.schema)(),
            )?;
            let items = items.as_array().cloned().unwrap_or_default();
            own.items.insert(setting.value, items);
        }
        Ok(own)
    }

    /// Takes the defaults. A value that the chart does not have is a further one, for the user's own templates and flags.
    ///
    /// # Errors
    /// A default is of another type than the value, a further value is read nowhere, or a schema is about none.
    pub fn defaults(&self, rows: &mut Vec<Row>, templates: &[Body]) -> anyhow::Result<()> {
        let known = rows.len();
        self.apply("", &self.patch, Some(&self.schema), rows)?;
        let (known, own) = rows.split_at(known);
        unused(&self.schema, "", own)?;
        let flags = self.items.values().flatten().map(Value::to_string);
        let texts: Vec<_> = flags
            .chain(templates.iter().map(|it| it.text.clone()))
            .collect();
        let paths: BTreeSet<_> = own.iter().map(|row| new_part(&row.path, known)).collect();
        let is_read = |path: &&str| {
            let key = path.rsplit('.').next().unwrap_or_default();
            texts.iter().any(|text| text.contains(key))
        };
        let unread: Vec<_> = paths.into_iter().filter(|path| !is_read(path)).collect();
        if !unread.is_empty() {
            bail!(
                "`{}` in `{VALUES}`: the chart has no such value, and none of your templates, flags and variables reads it",
                unread.join("`, `")
            );
        }
        Ok(())
    }

    fn apply(
        &self,
        path: &str,
        value: &Value,
        schema: Option<&Value>,
        rows: &mut Vec<Row>,
    ) -> anyhow::Result<()> {
        if let Some(row) = rows.iter_mut().find(|row| row.path == path) {
            check(path, value, &row.schema)?;
            row.default = value.clone();
            return Ok(());
        }
        let below = format!("{path}.");
        let is_section = path.is_empty() || rows.iter().any(|row| row.path.starts_with(&below));
        // A key with a dot cannot be a part of a path, and is that of a label.
        let is_open = |parts: &Map<String, Value>| {
            parts.is_empty() || parts.keys().any(|key| key.contains('.'))
        };
        match (value, schema) {
            (Value::Object(parts), _) if is_section || schema.is_none() && !is_open(parts) => {
                parts.iter().try_for_each(|(key, value)| {
                    let schema = schema.and_then(|it| it["properties"].get(key));
                    self.apply(&join(path, key), value, schema, rows)
                })
            }
            (Value::Null, _) if path.is_empty() => Ok(()),
            _ if is_section => {
                bail!("`{path}` in `{VALUES}` cannot be {value}: it has values of its own")
            }
            _ => {
                let schema = schema.cloned().unwrap_or_else(|| schema_of(value));
                check(path, value, &schema)?;
                let about = self.comments.get(path).map(String::as_str);
                let about = about.or(schema["description"].as_str());
                let about = about.unwrap_or("A value of this project's own");
                let about = about.to_owned();
                rows.push(Row::new(path, value.clone(), schema, about));
                Ok(())
            }
        }
    }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    }
}

/// The path of a further value up to the first key that the chart does not have.
fn new_part<'a>(path: &'a str, known: &[Row]) -> &'a str {
    let ends = path.match_indices('.').map(|(at, _)| at);
    let is_section = |at: &usize| known.iter().any(|row| row.path.starts_with(&path[..=*at]));
    ends.filter(|at| !is_section(at))
        .map(|at| &path[..at])
        .next()
        .unwrap_or(path)
}

/// What a value accepts whose default is all that is known of it.
fn schema_of(default: &Value) -> Value {
    let name = match default {
        Value::Null => return json!({}),
        other => type_of(other),
    };
    json!({ "type": name })
}

/// Refuses what a schema does not list, as the rest of the chart does, unless it says otherwise.
fn close(schema: &mut Value) {
    let Some(parts) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = parts.get_mut("properties") {
        properties.values_mut().for_each(close);
        parts.entry("additionalProperties").or_insert(json!(false));
    }
}

/// Fails if a part of the schema is about no value of the user's own.
fn unused(schema: &Value, path: &str, own: &[Row]) -> anyhow::Result<()> {
    let parts = schema["properties"].as_object().into_iter().flatten();
    for (key, part) in parts {
        let path = join(path, key);
        let below = format!("{path}.");
        if own.iter().any(|row| row.path == path) {
            continue;
        }
        if !own.iter().any(|row| row.path.starts_with(&below)) {
            bail!("`{path}` in `{SCHEMA}` is not a value of your own with a default in `{VALUES}`");
        }
        unused(part, &path, own)?;
    }
    Ok(())
}

/// The comments directly above the keys of a YAML text in block style, by the paths of the keys.
fn comments(text: &str) -> BTreeMap<String, String> {
    let mut comments = BTreeMap::new();
    let mut above: Vec<&str> = Vec::new();
    // The keys around a line, with their indentation.
    let mut keys: Vec<(usize, &str)> = Vec::new();
    for line in text.lines() {
        let content = line.trim();
        if let Some(comment) = content.strip_prefix('#') {
            above.push(comment.trim());
            continue;
        }
        let key = content
            .split_once(':')
            .map(|(key, _)| key.trim_matches(['"', '\'']));
        if let Some(key) = key.filter(|key| !key.starts_with("- ")) {
            let indent = line.len() - line.trim_start().len();
            keys.retain(|(other, _)| *other < indent);
            keys.push((indent, key));
            if !above.is_empty() {
                let path = keys
                    .iter()
                    .map(|(_, key)| *key)
                    .collect::<Vec<_>>()
                    .join(".");
                let comment = above.join("\n");
                comments.insert(path, comment.trim_end_matches('.').to_owned());
            }
        }
        above.clear();
    }
    comments
}

fn check(path: &str, value: &Value, schema: &Value) -> anyhow::Result<()> {
    if !accepts(schema, value) {
        bail!("`{path}` in `{VALUES}` cannot be {value}: it must match {schema}");
    }
    Ok(())
}

/// Whether a value has one of the types of a schema, or is one of its constants.
fn accepts(schema: &Value, value: &Value) -> bool {
    if let Some(constants) = schema["enum"].as_array() {
        return constants.contains(value);
    }
    let name = type_of(value);
    match &schema["type"] {
        Value::String(only) => only == name,
        Value::Array(several) => several.contains(&json!(name)),
        _ => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The user's own templates, for the chart in `folder`.
///
/// # Errors
/// A file cannot be read, or is not text.
pub fn templates(root: &Path, folder: &str) -> anyhow::Result<Vec<Body>> {
    let read = |path: String| {
        let text = files::read(&root.join(&path))?.unwrap_or_default();
        let text = String::from_utf8(text).with_context(|| format!("`{path}` is not text"))?;
        let path = path.replacen(TEMPLATES, &format!("{folder}/templates/own"), 1);
        Ok(Body { path, text })
    };
    files::all(root, TEMPLATES)?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_patch(patch: &Value, expected: Result<&[(&str, Value)], &str>) {
        let mut rows = vec![
            Row::new(
                "manager.replicas",
                Value::Null,
                json!({ "type": ["integer", "null"] }),
                "r",
            ),
            Row::new("crd.keep", json!(true), json!({ "type": "boolean" }), "k"),
        ];
        let own = Own {
            patch: patch.clone(),
            ..Own::default()
        };
        let template = Body {
            path: "team.yaml".to_owned(),
            text: "{{ .Values.team.name }} {{ .Values.manager.sidecar }}".to_owned(),
        };
        let applied = own.defaults(&mut rows, &[template]);
        let applied = applied.map_err(|error| error.to_string());
        match expected {
            Ok(expected) => {
                applied.unwrap();
                for (path, default) in expected {
                    let row = rows.iter().find(|row| row.path == *path).unwrap();
                    assert_eq!(row.default, *default, "{path}");
                }
            }
            Err(part) => assert!(
                applied.as_ref().is_err_and(|it| it.contains(part)),
                "{applied:?}"
            ),
        }
    }

    #[test]
    fn a_default_replaces_kbrs_and_another_value_is_added() {
        check_patch(
            &json!({ "manager": { "replicas": 3 } }),
            Ok(&[("manager.replicas", json!(3)), ("crd.keep", json!(true))]),
        );
        check_patch(
            &json!({ "team": { "name": "x", "labels": { "a.io/b": "c" } } }),
            Ok(&[
                ("team.name", json!("x")),
                ("team.labels", json!({ "a.io/b": "c" })),
            ]),
        );
        check_patch(
            &json!({ "manager": { "sidecar": true } }),
            Ok(&[("manager.sidecar", json!(true))]),
        );
    }

    #[test]
    fn a_default_of_another_type_is_an_error() {
        check_patch(
            &json!({ "manager": { "replicas": "3" } }),
            Err("`manager.replicas` in"),
        );
        check_patch(&json!({ "manager": 3 }), Err("has values of its own"));
    }

    #[test]
    fn a_value_that_nothing_reads_is_an_error() {
        check_patch(
            &json!({ "manager": { "replcas": 3, "sidecar": true }, "crew": { "a": { "b": 1 }, "c": 1 } }),
            Err("`crew`, `manager.replcas` in"),
        );
    }

    #[test]
    fn comments_belong_to_the_key_below_them() {
        let text = "# A file.\n\n# The first.\n# Two lines.\na:\n  # Inside\n  \"b\": 1\n  list:\n    # An item\n    - x: 1\n  c: 2\n# Last\nd: 3\n";
        let expected = [
            ("a", "The first.\nTwo lines"),
            ("a.b", "Inside"),
            ("d", "Last"),
        ];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(comments(text), expected.into());
    }

    #[test]
    fn a_schema_refuses_what_it_does_not_list() {
        let mut schema = json!({ "properties": {
            "a": { "properties": {} },
            "b": { "properties": {}, "additionalProperties": true },
        } });
        close(&mut schema);
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["a"]["additionalProperties"], false);
        assert_eq!(schema["properties"]["b"]["additionalProperties"], true);
    }
}
