//! Validates a value against a schema like the API server.
//!
//! Source: `k8s.io/kube-openapi/pkg/validation/validate`, and of `k8s.io/apiextensions-apiserver`
//! `pkg/apiserver/schema/{objectmeta,listtype}` and `pkg/apiserver/validation/ratcheting.go`.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use serde_json::{Map, Value};

use crate::number;
use crate::path::{FieldPath, Step};
use crate::problem::{Problem, Reason, dotted};
use crate::ratcheting::Pair;
use crate::schema::{field, is_embedded};
use crate::{bounds, formats, re2};

/// What is wrong with a value; with a whole object if `is_object`. Unknown fields are not wrong: they are dropped.
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
    all.extend(embedded(value, schema));
    all.extend(duplicates(value, schema));
    all
}

/// What is wrong with an object that replaces another: what is the same as before may be wrong.
#[must_use]
pub fn problems_of_update(new: &Value, old: &Value, schema: &Value) -> Vec<Problem> {
    let pair = Pair { schema, new, old };
    let steps = Cell::new(usize::MAX);
    let mut all = Validation::within(&steps).found(Some(pair), new, schema);
    all.extend(embedded(new, schema));
    if duplicates(old, schema).is_empty() {
        all.extend(duplicates(new, schema));
    }
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
        let others = [embedded(value, schema), duplicates(value, schema)].concat();
        found.is_empty() && others.is_empty() && steps.get() > 0
    })
}

struct Validation<'s> {
    found: Vec<Problem>,
    steps: &'s Cell<usize>,
    /// Whether the API server's words leave out a long pattern, which each value that does not match would repeat.
    is_brief: bool,
    /// The patterns so far: compiling one takes longer than matching it. `None` for those that are not known.
    patterns: BTreeMap<String, Option<Regex>>,
}

impl<'s> Validation<'s> {
    fn within(steps: &'s Cell<usize>) -> Self {
        let (found, patterns) = (Vec::new(), BTreeMap::new());
        Self {
            found,
            steps,
            is_brief: false,
            patterns,
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
        let known: Vec<_> = values.iter().take(SHOWN).map(plain).collect();
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
            && self.matches(pattern, text) == Some(false)
        {
            let brief = short(pattern);
            let plain = format!("does not match `{brief}`");
            let whole = if self.is_brief { &brief } else { pattern };
            let why = format!("should match '{whole}'");
            self.invalid(path, value, &why, plain);
        }
        if let Some(format) = format(schema).filter(|format| !formats::matches(format, text)) {
            let why = format!("must be of type {format}: {value}");
            let plain = format!("does not have the format `{format}`");
            self.invalid(path, value, &why, plain);
        }
    }

    /// Whether `text` contains a match of a pattern; `None` if that is not known.
    fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        if !self.patterns.contains_key(pattern) {
            let compiled = re2::compiled(pattern);
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        let compiled = self.patterns.get(pattern)?.as_ref()?;
        Some(compiled.is_match(text))
    }

    fn list(&mut self, pair: Option<Pair>, items: &[Value], schema: &Value, path: &str) {
        let count = items.len();
        if let Some(least) = size(schema, "minItems").filter(|least| count < *least) {
            let why = format!("should have at least {least} items");
            let plain = format!("has fewer than {least} items");
            self.invalid(path, &count.into(), &why, plain);
        }
        if let Some(most) = size(schema, "maxItems").filter(|most| count > *most) {
            let problem = Problem::too_many(path, count, most);
            self.found
                .push(problem.plain(format!("has more than {most} items")));
        }
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
        let count = fields.len();
        if let Some(least) = size(schema, "minProperties").filter(|least| count < *least) {
            let why = format!("should have at least {least} properties");
            let plain = format!("has fewer than {least} entries");
            self.invalid(path, &count.into(), &why, plain);
        }
        if let Some(most) = size(schema, "maxProperties").filter(|most| count > *most) {
            let problem = Problem::too_many(path, count, most);
            self.found
                .push(problem.plain(format!("has more than {most} entries")));
        }
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
        for schema in list("allOf").into_iter().flatten() {
            self.value(None, value, schema, path);
        }
        let before = self.found.len();
        let mut fits = |schema: &Value| {
            self.value(None, value, schema, path);
            let fits = self.found.len() == before;
            self.found.truncate(before);
            fits
        };
        let mut faults = Vec::new();
        if list("anyOf").is_some_and(|any| !any.iter().any(&mut fits)) {
            let why = "must validate at least one schema (anyOf)";
            faults.push((why, "matches none of the schemas in `anyOf`"));
        }
        if let Some(one) = list("oneOf") {
            let why = "must validate one and only one schema (oneOf)";
            match one.iter().filter(|schema| fits(schema)).count() {
                1 => {}
                0 => faults.push((why, "matches none of the schemas in `oneOf`")),
                _ => faults.push((
                    why,
                    "matches several of the schemas in `oneOf` instead of exactly one",
                )),
            }
        }
        if schema["not"].is_object() && fits(&schema["not"]) {
            let why = "must not validate the schema (not)";
            faults.push((why, "matches the schema in `not`"));
        }
        // Without steps, a part only seems to fit.
        for (why, plain) in faults.into_iter().filter(|_| self.steps.get() > 0) {
            // The API server names no field.
            let why = format!("\"{path}\" {why}");
            let problem = Problem::of_value(Reason::Invalid, "", &Value::from(""), &why);
            self.found
                .push(problem.of(dotted(path)).plain(plain.to_owned()));
        }
    }
}

/// The types that a schema wants, and that of a value which has none of them.
fn wrong_type(value: &Value, schema: &Value) -> Option<(Vec<String>, &'static str)> {
    let wanted = if schema["x-kubernetes-int-or-string"] == true {
        vec!["integer".to_owned(), "string".to_owned()]
    } else {
        vec![
            schema["type"]
                .as_str()
                .filter(|kind| !kind.is_empty())?
                .to_owned(),
        ]
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
    let fits = |wanted: &String| match wanted.as_str() {
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

/// What embedded objects lack.
fn embedded(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut all = Vec::new();
    descend(
        value,
        schema,
        &mut FieldPath::default(),
        &mut |value, schema, path| {
            let Some(fields) = value.as_object().filter(|_| is_embedded(schema)) else {
                return;
            };
            for name in ["apiVersion", "kind"] {
                let at = joined(&path.to_string(), name);
                let problem = match fields.get(name) {
                    None => Problem::new(Reason::Required, &at, ""),
                    Some(Value::String(text)) if !text.is_empty() => continue,
                    Some(text @ Value::String(_)) => {
                        Problem::of_value(Reason::Invalid, &at, text, "must not be empty")
                    }
                    Some(other) => {
                        Problem::of_value(Reason::Invalid, &at, other, "must be a string")
                    }
                };
                let plain = format!("has no `{name}`, which an embedded object needs");
                all.push(problem.of(path.dotted()).plain(plain));
            }
        },
    );
    all
}

/// The items that occur a second time in sets, and in lists with keys.
fn duplicates(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut all = Vec::new();
    descend(
        value,
        schema,
        &mut FieldPath::default(),
        &mut |value, schema, path| {
            let Some(items) = value.as_array() else {
                return;
            };
            let keys = match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => None,
                Some("map") => schema["x-kubernetes-list-map-keys"].as_array(),
                _ => return,
            };
            let is_item = |item: &Value| keys.is_none() || item.is_object() || item.is_null();
            if let Some(at) = items.iter().position(|item| !is_item(item)) {
                let field = format!("{path}[{at}]");
                let why = "must be an object for an array of list-type map";
                let problem = Problem::of_value(Reason::Invalid, &field, &items[at], why);
                let plain = "is no object, as each item of a list with keys".to_owned();
                all.push(problem.of(format!("{}[{at}]", path.dotted())).plain(plain));
                return;
            }
            let (mut once, mut twice) = (HashSet::new(), HashSet::new());
            for (at, item) in items.iter().enumerate() {
                let identity = keys.map_or_else(|| item.clone(), |keys| identity(item, keys));
                let text = identity.to_string();
                // The third and all later ones are not reported.
                if !once.insert(text.clone()) && twice.insert(text) {
                    let plain = format!("repeats `{identity}`, which may occur only once");
                    let field = format!("{path}[{at}]");
                    let problem = Problem::of_value(Reason::Duplicate, &field, &identity, "");
                    all.push(problem.of(format!("{}[{at}]", path.dotted())).plain(plain));
                }
            }
        },
    );
    all
}

/// The keys of an item that it has.
fn identity(item: &Value, keys: &[Value]) -> Value {
    let keys = keys.iter().filter_map(Value::as_str);
    let values = keys.filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())));
    values.collect()
}

/// Visits a value and all in it that a schema describes, with their paths.
fn descend(
    value: &Value,
    schema: &Value,
    path: &mut FieldPath,
    visit: &mut impl FnMut(&Value, &Value, &FieldPath),
) {
    visit(value, schema, path);
    let mut below = |step, value, schema| {
        path.0.push(step);
        descend(value, schema, path, visit);
        path.0.pop();
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema["properties"].get(name) {
                    below(Step::Field(name.clone()), value, schema);
                } else if let Some(schema) = field(schema, name) {
                    below(Step::Key(name.clone()), value, schema);
                }
            }
        }
        Value::Array(items) if schema["items"].is_object() => {
            for (at, item) in items.iter().enumerate() {
                below(Step::Index(at), item, &schema["items"]);
            }
        }
        _ => {}
    }
}

fn size(schema: &Value, bound: &str) -> Option<usize> {
    schema[bound]
        .as_u64()
        .and_then(|size| usize::try_from(size).ok())
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

fn quoted(kinds: &[String]) -> String {
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
