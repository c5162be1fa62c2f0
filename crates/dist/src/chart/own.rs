//! What the user adds to the chart, in `config/chart`.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::values::Row;
use kbr_manifests::files::{self, Body};

/// Defaults that differ from kbr's, and further values.
const VALUES: &str = "config/chart/values.patch.yaml";

/// Further templates.
const TEMPLATES: &str = "config/chart/templates";

/// Takes the defaults of [`VALUES`]. A value that the chart does not have is a further one, for the user's own templates.
///
/// # Errors
/// The file cannot be read, or a default is of another type than the value.
pub fn defaults(root: &Path, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let Some(text) = files::read(&root.join(VALUES))? else {
        return Ok(());
    };
    let patch: Value = kbr_host::yaml::document(&String::from_utf8_lossy(&text))
        .with_context(|| format!("cannot read `{VALUES}`"))?;
    apply("", &patch, rows)
}

fn apply(path: &str, value: &Value, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    if let Some(row) = rows.iter_mut().find(|row| row.path == path) {
        if !accepts(&row.schema, value) {
            bail!(
                "`{path}` in `{VALUES}` cannot be {value}: it must match {}",
                row.schema
            );
        }
        row.default = value.clone();
        return Ok(());
    }
    let below = format!("{path}.");
    let is_section = path.is_empty() || rows.iter().any(|row| row.path.starts_with(&below));
    match value.as_object() {
        Some(parts) if is_section => parts.iter().try_for_each(|(key, value)| {
            let path = if path.is_empty() {
                key.clone()
            } else {
                below.clone() + key
            };
            apply(&path, value, rows)
        }),
        None if is_section => {
            bail!("`{path}` in `{VALUES}` cannot be {value}: it has values of its own")
        }
        _ => {
            let about = format!("A value of this project's own templates (`{TEMPLATES}`)");
            rows.push(Row::new(path, value.clone(), json!({}), about));
            Ok(())
        }
    }
}

/// Whether a value has one of the types of a schema, or is one of its constants.
fn accepts(schema: &Value, value: &Value) -> bool {
    if let Some(constants) = schema["enum"].as_array() {
        return constants.contains(value);
    }
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match &schema["type"] {
        Value::String(only) => only == name,
        Value::Array(several) => several.contains(&json!(name)),
        _ => true,
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

    fn check(patch: &Value, expected: Result<&[(&str, Value)], &str>) {
        let mut rows = vec![
            Row::new(
                "manager.replicas",
                Value::Null,
                json!({ "type": ["integer", "null"] }),
                "r",
            ),
            Row::new("crd.keep", json!(true), json!({ "type": "boolean" }), "k"),
        ];
        let applied = apply("", patch, &mut rows).map_err(|error| error.to_string());
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
        check(
            &json!({ "manager": { "replicas": 3 } }),
            Ok(&[("manager.replicas", json!(3)), ("crd.keep", json!(true))]),
        );
        check(
            &json!({ "team": { "name": "x" } }),
            Ok(&[("team", json!({ "name": "x" }))]),
        );
        check(
            &json!({ "manager": { "sidecar": true } }),
            Ok(&[("manager.sidecar", json!(true))]),
        );
    }

    #[test]
    fn a_default_of_another_type_is_an_error() {
        check(
            &json!({ "manager": { "replicas": "3" } }),
            Err("`manager.replicas` in"),
        );
        check(&json!({ "manager": 3 }), Err("has values of its own"));
    }
}
