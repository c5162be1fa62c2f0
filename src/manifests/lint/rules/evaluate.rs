//! Rules run on a value, as the API server runs them on defaults.

use std::collections::HashMap;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, Program, Value as Cel};
use serde_json::Value;

/// The rules of a schema, and of what is in it, that `value` does not keep, each with the path of the part. What the
/// interpreter does not know is passed over: Kubernetes' own functions, for one.
pub fn broken(schema: &Value, value: &Value, path: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if value.is_null() {
        return found;
    }
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let text = rule["rule"].as_str().unwrap_or_default();
        if holds(schema, value, text) == Some(false) {
            found.push((path.to_owned(), text.to_owned()));
        }
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let field = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                found.extend(broken(field, value, &format!("{path}.{name}")));
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                found.extend(broken(
                    &schema["items"],
                    item,
                    &format!("{path}[{position}]"),
                ));
            }
        }
        _ => {}
    }
    found
}

/// `None` if it cannot be told.
fn holds(schema: &Value, value: &Value, rule: &str) -> Option<bool> {
    let program = Program::compile(rule).ok()?;
    let mut context = Context::default();
    context.add_variable_from_value("self", converted(schema, value)?);
    context.add_variable_from_value("oldSelf", converted(schema, value)?);
    match program.execute(&context) {
        Ok(Cel::Bool(holds)) => Some(holds),
        // A field that is not there ends a rule, and so does nothing that stands for it here.
        Err(cel::ExecutionError::NoSuchKey(_)) => Some(false),
        _ => None,
    }
}

/// A value as its schema makes it for CEL; `None` for what has a form of its own there.
fn converted(schema: &Value, value: &Value) -> Option<Cel> {
    Some(match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) if schema["type"] == "number" => Cel::Float(number.as_f64()?),
        Value::Number(number) => Cel::Int(number.as_i64()?),
        Value::String(_)
            if ["date", "date-time", "duration", "byte"]
                .iter()
                .any(|format| schema["format"] == *format) =>
        {
            return None;
        }
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => {
            let items = items.iter().map(|item| converted(&schema["items"], item));
            Cel::List(Arc::new(items.collect::<Option<_>>()?))
        }
        Value::Object(fields) => {
            let mut map = HashMap::new();
            for (name, value) in fields {
                let field = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                let name = super::types::escaped(name)?;
                map.insert(Key::String(Arc::new(name)), converted(field, value)?);
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    })
}
