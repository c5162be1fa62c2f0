//! What the answer of a type says about the schema.

use apiserver_rules::{Problem, Reason, complete, undeclared};
use crd_lint::{Finding, Severity};
use serde_json::Value;

use super::objects::{Schema, Tried};
use super::place::{Path, Step, missing};
use crate::allow::SERDE;

/// How serde begins what it says of a value of another type, or with other fields: no value of the schema can be read there, and not
/// only one that is beyond what the schema can say.
const STRUCTURAL: [&str; 7] = [
    "data did not match any variant",
    "duplicate field",
    "invalid length",
    "invalid type",
    "missing field",
    "unknown field",
    "unknown variant",
];

/// What is wrong with the answer about an object that the API server has stored.
pub fn of(schema: &Schema, tried: &Tried, answer: &Result<Value, String>) -> Vec<Finding> {
    let sent = &tried.object;
    let written = match answer {
        Ok(written) => written,
        Err(why) => {
            let value = tried.place.get(sent).cloned().unwrap_or_default();
            return vec![unreadable(schema, &tried.place, &value, why)];
        }
    };
    let extra = undeclared(written, schema.root);
    let mut stored = written.clone();
    complete(&mut stored, schema.root);
    let mut found = Vec::new();
    if let Some(problem) = schema.rejected(&stored) {
        let field = missing_field(&problem);
        let other = extra.as_deref().zip(field).filter(|(extra, field)| {
            // The value of the one is written as the other.
            around(extra) == around(field) && value_at(sent, field) == value_at(written, extra)
        });
        if let Some((extra, field)) = &other {
            return vec![renamed(schema, field, extra)];
        }
        found.push(rejected(schema, sent, &problem, &stored));
    }
    if let Some(extra) = extra {
        let message =
            "serde writes this field, but the schema does not have it, so the API server drops it";
        let help = "use one name for reading and writing, and no `skip_deserializing`; or `#[serde(skip)]`";
        let path = schema.shown(&extra);
        let severity = Severity::Error;
        found.push(finding(schema, severity, path, message.to_owned(), help));
    }
    if found.is_empty() {
        found.extend(changed(schema, sent, &stored));
    }
    found
}

/// What is stored of an object after Rust has read and written it, and differs.
fn changed(schema: &Schema, sent: &Value, stored: &Value) -> Option<Finding> {
    let place = lost(sent, stored, &Path::default())?;
    let before = shown(place.get(sent));
    let (message, help) = match place.get(stored) {
        Some(after) => (
            format!("serde reads `{before}` and writes `{}`", shown(Some(after))),
            "use a type that keeps the value, such as `f64` instead of `f32`",
        ),
        None => (
            format!(
                "serde reads `{before}` and does not write it, so an update from Rust removes it"
            ),
            "remove `skip_serializing`, or use one name for reading and writing",
        ),
    };
    Some(finding(
        schema,
        Severity::Warning,
        place.shown(),
        message,
        help,
    ))
}

/// What is wrong if the same object is written in two ways.
pub fn unstable(
    schema: &Schema,
    tried: &Tried,
    [first, second]: [&Result<Value, String>; 2],
) -> Option<Finding> {
    let (Ok(first), Ok(second)) = (first, second) else {
        return None;
    };
    if first == second {
        return None;
    }
    let message = "serde writes the items in another order each time, so that each update differs";
    let help = "use a `Vec`, or a `BTreeSet` instead of a `HashSet`";
    let place = tried.place.shown();
    Some(finding(
        schema,
        Severity::Warning,
        place,
        message.to_owned(),
        help,
    ))
}

/// A value that the API server accepts and serde cannot read.
pub fn unreadable(schema: &Schema, place: &Path, value: &Value, why: &str) -> Finding {
    let why = why.rsplit_once(" at line ").map_or(why, |(why, _)| why);
    let is_structural = STRUCTURAL.iter().any(|start| why.starts_with(start));
    let severity = if is_structural {
        Severity::Error
    } else {
        Severity::Warning
    };
    let message = match missing(why) {
        Some(_) => "the API server accepts an object without this field, but serde cannot read it"
            .to_owned(),
        None => format!(
            "the API server accepts `{}`, but serde cannot read it: {why}",
            shown(Some(value))
        ),
    };
    let wanted = wanted(why);
    let help = match value {
        _ if missing(why).is_some() => {
            "write `#[serde(default)]`, or require the field in the schema, too".to_owned()
        }
        Value::Null => {
            "write `#[serde(default)]` and `Option<…>`, or a schema without `nullable`".to_owned()
        }
        _ if is_structural => {
            format!("describe what serde reads: `#[schemars(with = \"{wanted}\")]`")
        }
        Value::Number(_) if schema.at(place)["x-kubernetes-int-or-string"] == true => {
            "write the limits of the type: `#[schemars(extend(\"minimum\" = i32::MIN, \"maximum\" = i32::MAX))]`".to_owned()
        }
        Value::Number(_) => {
            "write the limits of the type: `#[schemars(range(min = …, max = …))]`".to_owned()
        }
        _ => "write which texts the type reads: `#[schemars(regex(pattern = \"…\"))]`".to_owned(),
    };
    finding(schema, severity, place.shown(), message, &help)
}

/// The Rust type of what serde says that it expects.
fn wanted(why: &str) -> &'static str {
    let expected = why.rsplit_once("expected ").map_or("", |(_, text)| text);
    match expected {
        text if text.starts_with("a string") || text.contains("string") => "String",
        text if text.starts_with("a boolean") => "bool",
        text if text.starts_with('f') => "f64",
        text if text.starts_with(['i', 'u']) => "i64",
        _ => "…",
    }
}

/// What serde writes and the API server rejects.
fn rejected(schema: &Schema, sent: &Value, problem: &Problem, stored: &Value) -> Finding {
    let field = missing_field(problem);
    let [before, after] = [sent, stored].map(|object| value_at(object, &problem.path));
    let why = format!("the API server rejects what serde writes: {problem}");
    let (message, help) = match &field {
        Some(_) => (
            why,
            "`#[serde(default)]` makes the field optional in the schema; or write it always, without `skip_serializing` and `skip_serializing_if`",
        ),
        None if after.is_some_and(has_null) => (
            format!("the API server rejects what serde writes of `None`: {problem}"),
            "write `#[serde(default, skip_serializing_if = \"Option::is_none\")]`",
        ),
        None if problem.reason == Reason::NotSupported && before != after => (
            format!(
                "serde reads `{}` and writes `{}`, which the API server rejects",
                shown(before),
                shown(after)
            ),
            "use one name for reading and writing: `rename` or `rename_all` without `serialize` and `deserialize`",
        ),
        None => (
            why,
            "describe what serde writes: `#[schemars(with = \"…\")]`",
        ),
    };
    let path = schema.shown(field.as_deref().unwrap_or(&problem.path));
    finding(schema, Severity::Error, path, message, help)
}

/// A field that is written under another name.
fn renamed(schema: &Schema, field: &str, other: &str) -> Finding {
    let other = other.rsplit('.').next().unwrap_or(other);
    let message = format!(
        "serde reads this field and writes it as `{other}`, so that the API server rejects what Rust writes"
    );
    let help = "use one name for both: `#[serde(rename = \"…\")]`";
    let path = schema.shown(field);
    finding(schema, Severity::Error, path, message, help)
}

/// Whether a value is null, or has a field that is.
fn has_null(value: &Value) -> bool {
    let mut fields = value.as_object().into_iter().flatten();
    value.is_null() || fields.any(|(_, value)| value.is_null())
}

/// The path of the field that the API server misses.
fn missing_field(problem: &Problem) -> Option<String> {
    (problem.reason == Reason::Required).then(|| format!(".{}", problem.field()))
}

/// What is above the last field of a path.
fn around(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(above, _)| above)
}

/// The value at a path such as `.spec.ports[0].name`.
fn value_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    object.pointer(&path.replace(['.', '['], "/").replace(']', ""))
}

/// The first place where `stored` lacks a value of `sent`, or has another one. A text may be written in another way, and items in
/// another order; what is empty may be left out.
fn lost(sent: &Value, stored: &Value, place: &Path) -> Option<Path> {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => sent.iter().find_map(|(name, value)| {
            let field = place.join(Step::Field(name.clone()));
            match stored.get(name) {
                Some(now) => lost(value, now, &field),
                None => (!is_empty(value)).then_some(field),
            }
        }),
        (Value::Array(sent), Value::Array(stored)) if sent.len() == stored.len() => {
            if sent.iter().all(|item| stored.contains(item)) {
                return None;
            }
            let mut items = sent.iter().zip(stored).enumerate();
            items.find_map(|(at, (item, now))| lost(item, now, &place.join(Step::Item(at))))
        }
        (Value::Number(a), Value::Number(b)) => {
            let is_same = a == b || a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64());
            (!is_same).then(|| place.clone())
        }
        (Value::String(_), Value::String(_)) | (Value::Null, _) => None,
        (Value::Number(number), Value::String(text)) if number.to_string() == *text => None,
        _ => (sent != stored).then(|| place.clone()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

/// A value in a message, cut.
fn shown(value: Option<&Value>) -> String {
    const MOST: usize = 60;
    let text = value.unwrap_or(&Value::Null).to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn finding(
    schema: &Schema,
    severity: Severity,
    path: String,
    message: String,
    help: &str,
) -> Finding {
    Finding {
        id: SERDE,
        severity,
        version: Some(schema.version.to_owned()),
        path,
        message,
        helps: vec![help.to_owned()],
    }
}
