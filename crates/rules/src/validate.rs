//! Validates a value against a schema like the API server.
//!
//! Source: `k8s.io/kube-openapi/pkg/validation/validate`; `pkg/apiserver/validation/ratcheting.go` of
//! `k8s.io/apiextensions-apiserver`.

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::number;
use crate::problem::{Problem, Reason, dotted, joined};
use crate::ratcheting::Pair;
use crate::schema::field;
use crate::{bounds, extensions, formats, re2};

/// What is wrong with a value. Unknown fields are not: they are dropped.
#[must_use]
pub fn problems(value: &Value, schema: &Value) -> Vec<Problem> {
    problems_within(&Cell::new(usize::MAX), value, schema)
}

/// Like [`problems`], as far as some steps reach, of which one looks at a value: alternatives and values multiply. Long patterns are cut
/// in the API server's words, too.
#[must_use]
pub fn problems_within(steps: &Cell<usize>, value: &Value, schema: &Value) -> Vec<Problem> {
    let mut validation = Validation::within(steps);
    validation.is_brief = steps.get() < usize::MAX;
    let mut all = validation.found(None, value, schema);
    all.extend(extensions::problems(value, schema));
    all
}

/// What is wrong with an object that replaces another: what is the same as before may be wrong.
#[must_use]
pub fn problems_of_update(new: &Value, old: &Value, schema: &Value) -> Vec<Problem> {
    let pair = Pair { schema, new, old };
    let steps = Cell::new(usize::MAX);
    let mut all = Validation::within(&steps).found(Some(pair), new, schema);
    all.extend(extensions::problems_of_update(new, old, schema));
    all
}

/// Whether all of `values` are known to be valid.
#[must_use]
pub fn are_valid(schema: &Value, values: &[Value]) -> bool {
    /// Enough for the values of an enumeration.
    const STEPS: usize = 200_000;
    let steps = Cell::new(STEPS);
    let mut validation = Validation::within(&steps);
    let mut values = values.iter();
    values.all(|value| {
        let found = validation.found(None, value, schema);
        found.is_empty() && extensions::problems(value, schema).is_empty() && steps.get() > 0
    })
}

struct Validation<'s> {
    found: Vec<Problem>,
    steps: &'s Cell<usize>,
    /// Whether the API server's words leave out a long pattern, which each value that does not match would repeat.
    is_brief: bool,
}

impl<'s> Validation<'s> {
    fn within(steps: &'s Cell<usize>) -> Self {
        Self {
            found: Vec::new(),
            steps,
            is_brief: false,
        }
    }

    fn found(&mut self, pair: Option<Pair>, value: &Value, schema: &Value) -> Vec<Problem> {
        self.value(pair, value, schema, "");
        std::mem::take(&mut self.found)
    }

    /// Takes so many steps; whether there were enough.
    fn take(&self, steps: usize) -> bool {
        self.steps.set(self.steps.get().saturating_sub(steps));
        self.steps.get() > 0
    }

    /// Validates a value; with what it replaces, if that can be compared.
    fn value(&mut self, pair: Option<Pair>, value: &Value, schema: &Value, path: &str) {
        let before = self.found.len();
        self.whole(pair, value, schema, path);
        if self.found.len() > before && pair.is_some_and(Pair::is_same) {
            self.found.truncate(before);
        }
    }

    fn whole(&mut self, pair: Option<Pair>, value: &Value, schema: &Value, path: &str) {
        let values = schema["enum"].as_array();
        if !self.take(1 + values.map_or(0, Vec::len)) {
            return;
        }
        if let Some((wanted, found)) = wrong_type(value, schema) {
            let plain = format!("is of type `{found}`, not {}", quoted(&wanted));
            // A format stands for the type, unless the value is one that formats are of.
            let (wanted, found) = match format(schema) {
                Some(format) if !value.is_string() && !value.is_array() && !value.is_null() => {
                    (format.to_owned(), go_format(value))
                }
                _ => (wanted.join(","), found),
            };
            let why = format!("{path} in body must be of type {wanted}: \"{found}\"");
            let found = Value::from(found);
            let problem = Problem::of_value(Reason::TypeInvalid, path, &found, &why);
            self.found.push(problem.plain(plain));
        }
        if let Some(values) = values.filter(|values| !values.iter().any(|it| converts(value, it))) {
            self.unlisted(values, value, path);
        }
        match value {
            Value::Null => return,
            Value::Bool(_) => {}
            Value::Number(_) => self.found.extend(bounds::problems(value, schema, path)),
            Value::String(text) => self.text(text, value, schema, path),
            Value::Array(items) => self.list(pair, items, schema, path),
            Value::Object(fields) => self.object(pair, fields, schema, path),
        }
        self.combined(value, schema, path);
    }

    fn invalid(&mut self, path: &str, value: &Value, why: &str, plain: String) {
        let why = format!("{path} in body {why}");
        let problem = Problem::of_value(Reason::Invalid, path, value, &why);
        self.found.push(problem.plain(plain));
    }

    fn unlisted(&mut self, values: &[Value], value: &Value, path: &str) {
        const SHOWN: usize = 50;
        let list: Vec<_> = values.iter().map(shown_as_supported).collect();
        let why = format!("supported values: {}", list.join(", "));
        // Not even `null` is valid by being listed.
        let known: Vec<_> = values
            .iter()
            .filter(|it| !it.is_null())
            .take(SHOWN)
            .map(plain)
            .collect();
        let more = match values.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} others"),
        };
        let plain = format!("is not one of `{}`{more}", known.join("`, `"));
        let problem = Problem::of_value(Reason::NotSupported, path, value, &why);
        self.found.push(problem.plain(plain));
    }

    fn text(&mut self, text: &str, value: &Value, schema: &Value, path: &str) {
        let length = text.chars().count();
        let most = size(schema, "maxLength").filter(|most| length > *most);
        let least = size(schema, "minLength").filter(|least| length < *least);
        // The API server reports one of these three. A pattern that cannot be read allows everything.
        if let Some(most) = most {
            let bytes = if most == 1 { "byte" } else { "bytes" };
            let why = format!("may not be more than {most} {bytes}");
            let problem = Problem::new(Reason::TooLong, path, &why);
            let plain = format!("is longer than {most}");
            self.found.push(problem.plain(plain));
        } else if let Some(least) = least {
            let why = format!("should be at least {least} chars long");
            self.invalid(path, value, &why, format!("is shorter than {least}"));
        } else if let Some(pattern) = schema["pattern"].as_str()
            && re2::matches(pattern, text) == Some(false)
        {
            let brief = short(pattern);
            let plain = format!("does not match `{brief}`");
            let whole = if self.is_brief { &brief } else { pattern };
            let why = format!("should match '{whole}'");
            self.invalid(path, value, &why, plain);
        }
        if let Some(format) = format(schema).filter(|format| !formats::matches(format, text)) {
            let why = format!("{path} in body must be of type {format}: {value}");
            let plain = format!("does not have the format `{format}`");
            let problem = Problem::of_value(Reason::TypeInvalid, path, value, &why);
            self.found.push(problem.plain(plain));
        }
    }

    /// Validates how many there are of something: what the API server calls it, and what plain words do.
    fn count(
        &mut self,
        count: usize,
        [least, most]: [Option<usize>; 2],
        [theirs, plain]: [&str; 2],
        path: &str,
    ) {
        if let Some(least) = least.filter(|least| count < *least) {
            let why = format!("should have at least {least} {theirs}");
            let plain = format!("has fewer than {least} {plain}");
            self.invalid(path, &count.into(), &why, plain);
        }
        if let Some(most) = most.filter(|most| count > *most) {
            let problem = Problem::too_many(path, count, most);
            let plain = format!("has more than {most} {plain}");
            self.found.push(problem.plain(plain));
        }
    }

    fn list(&mut self, pair: Option<Pair>, items: &[Value], schema: &Value, path: &str) {
        let bounds = ["minItems", "maxItems"].map(|bound| size(schema, bound));
        self.count(items.len(), bounds, ["items", "items"], path);
        if schema["items"].is_object() {
            for (at, item) in items.iter().enumerate() {
                let pair = pair.and_then(|pair| pair.item(at));
                self.value(pair, item, &schema["items"], &format!("{path}[{at}]"));
            }
        }
    }

    fn object(
        &mut self,
        pair: Option<Pair>,
        fields: &Map<String, Value>,
        schema: &Value,
        path: &str,
    ) {
        let bounds = ["minProperties", "maxProperties"].map(|bound| size(schema, bound));
        self.count(fields.len(), bounds, ["properties", "entries"], path);
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                let plain = format!("has no `{name}`, which is required");
                let problem = Problem::new(Reason::Required, &joined(path, name), "");
                self.found.push(problem.of(dotted(path)).plain(plain));
            }
        }
        for (name, value) in fields {
            if let Some(schema) = field(schema, name) {
                // What a write cannot change cannot have been so before, either.
                let is_kind = path.is_empty() && ["apiVersion", "kind"].contains(&name.as_str());
                let pair = pair.filter(|_| !is_kind);
                let pair = pair.and_then(|pair| pair.field(name));
                self.value(pair, value, schema, &joined(path, name));
            }
        }
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`.
    fn combined(&mut self, value: &Value, schema: &Value, path: &str) {
        let list = |name: &str| schema[name].as_array().filter(|all| !all.is_empty());
        let mut faults: Vec<(String, &str)> = Vec::new();
        if let Some(all) = list("allOf") {
            let mut valid = 0;
            for schema in all {
                let before = self.found.len();
                self.value(None, value, schema, path);
                valid += usize::from(self.found.len() == before);
            }
            if valid < all.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                let why = format!("must validate all the schemas (allOf){none}");
                faults.push((why, "does not match all schemas in `allOf`"));
            }
        }
        let before = self.found.len();
        let mut fits = |schema: &Value| {
            self.value(None, value, schema, path);
            let fits = self.found.len() == before;
            self.found.truncate(before);
            fits
        };
        if list("anyOf").is_some_and(|any| !any.iter().any(&mut fits)) {
            let why = "must validate at least one schema (anyOf)".to_owned();
            faults.push((why, "matches none of the schemas in `anyOf`"));
        }
        if let Some(one) = list("oneOf") {
            let (found, plain) = match one.iter().filter(|schema| fits(schema)).count() {
                1 => (String::new(), ""),
                0 => (
                    "Found none valid".to_owned(),
                    "matches none of the schemas in `oneOf`",
                ),
                several => (
                    format!("Found {several} valid alternatives"),
                    "matches several of the schemas in `oneOf` instead of exactly one",
                ),
            };
            let why = format!("must validate one and only one schema (oneOf). {found}");
            faults.extend((!plain.is_empty()).then_some((why, plain)));
        }
        if schema["not"].is_object() && fits(&schema["not"]) {
            let why = "must not validate the schema (not)".to_owned();
            faults.push((why, "matches the schema in `not`"));
        }
        // Without steps, a part only seems to fit.
        for (why, plain) in faults.into_iter().filter(|_| self.steps.get() > 0) {
            // The API server names no field.
            let why = format!("\"{path}\" {why}");
            let problem = Problem::of_value(Reason::Invalid, "", &Value::from(""), &why);
            let problem = problem.of(dotted(path)).plain(plain.to_owned());
            self.found.push(problem);
        }
    }
}

/// The types that a schema wants, and that of a value which has none of them.
fn wrong_type<'s>(value: &Value, schema: &'s Value) -> Option<(Vec<&'s str>, &'static str)> {
    let wanted = match schema["type"].as_str() {
        _ if schema["x-kubernetes-int-or-string"] == true => vec!["integer", "string"],
        Some(kind) if !kind.is_empty() => vec![kind],
        _ => return None,
    };
    if value.is_null() && schema["nullable"] == true {
        return None;
    }
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = |wanted: &&str| match *wanted {
        "number" => value.is_number(),
        "integer" => number::is_whole(value),
        wanted => wanted == found,
    };
    (!wanted.iter().any(fits)).then_some((wanted, found))
}

/// Whether a value becomes one of an enumeration once it is converted to the type of that, as Go converts.
fn converts(value: &Value, known: &Value) -> bool {
    match (value, known) {
        (Value::Number(value), Value::Number(known)) => match (value.as_f64(), known.as_i64()) {
            #[allow(clippy::cast_possible_truncation, reason = "Go truncates, too")]
            (Some(float), Some(known)) if value.is_f64() => float as i64 == known,
            (Some(float), None) => known.as_f64() == Some(float),
            _ => value == known,
        },
        // A number is converted to the character that it is the code of.
        (Value::Number(value), Value::String(known)) => {
            let code = value
                .as_i64()
                .map(|code| u32::try_from(code).unwrap_or(u32::MAX));
            let character = code.map(|code| char::from_u32(code).unwrap_or('\u{fffd}'));
            character.is_some_and(|character| known.chars().eq([character]))
        }
        _ => !value.is_null() && value == known,
    }
}

/// The format of a schema, unless the API server ignores it.
fn format(schema: &Value) -> Option<&str> {
    let format = schema["format"].as_str()?;
    let is_known = match schema["type"].as_str() {
        None | Some("string") => {
            schema["x-kubernetes-int-or-string"] != true && formats::is_known(format)
        }
        Some("integer") => ["int32", "int64"].contains(&format),
        Some("number") => ["float", "double"].contains(&format),
        Some(_) => false,
    };
    is_known.then_some(format)
}

/// What a value has for a format in Go.
fn go_format(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        _ => "",
    }
}

fn size(schema: &Value, bound: &str) -> Option<usize> {
    schema[bound]
        .as_u64()
        .and_then(|size| usize::try_from(size).ok())
}

fn quoted(kinds: &[&str]) -> String {
    format!("`{}`", kinds.join("` or `"))
}

/// The beginning of a pattern: each value that does not match repeats it.
fn short(pattern: &str) -> String {
    const LENGTH: usize = 200;
    match pattern.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

/// A string without quotes, any other value as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A value of an enumeration in a message of the API server, which quotes all of them.
fn shown_as_supported(value: &Value) -> String {
    Value::from(plain(value)).to_string()
}

#[cfg(test)]
mod tests;
