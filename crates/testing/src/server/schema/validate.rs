//! Validates a value against a schema, with the messages of the API server.

use serde_json::Value;

use super::{
    OF_ALL, formats, is_embedded,
    problem::{Problem, Reason},
    ratcheting::Pair,
    re2,
};

/// What is wrong with an object that is created.
pub(crate) fn problems(object: &Value, schema: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    Validation { found: &mut found }.value(object, schema, "", true);
    found
}

/// What is wrong with an object that replaces another: what is the same as before may be wrong.
pub(crate) fn problems_of_update(new: &Value, old: &Value, schema: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    let pair = Pair { schema, new, old };
    Validation { found: &mut found }.replaced(Some(pair), new, schema, "", true);
    found
}

struct Validation<'f> {
    found: &'f mut Vec<Problem>,
}

impl Validation<'_> {
    fn value(&mut self, value: &Value, schema: &Value, path: &str, is_object: bool) {
        self.replaced(None, value, schema, path, is_object);
    }

    /// Validates a value; with what it replaces, if that can be compared.
    fn replaced(
        &mut self,
        pair: Option<Pair>,
        value: &Value,
        schema: &Value,
        path: &str,
        is_object: bool,
    ) {
        let before = self.found.len();
        self.whole(pair, value, schema, path, is_object);
        if self.found.len() > before && pair.is_some_and(Pair::is_same) {
            self.found.truncate(before);
        }
    }

    fn whole(
        &mut self,
        pair: Option<Pair>,
        value: &Value,
        schema: &Value,
        path: &str,
        is_object: bool,
    ) {
        if value.is_null() && (schema["nullable"] == true || path.is_empty()) {
            return;
        }
        if !has_type(value, schema) {
            let wanted = schema["type"].as_str().unwrap_or_default();
            let found = Value::from(type_of(value));
            let why = format!("{path} in body must be of type {wanted}: {found}");
            self.add(Problem::of_value(Reason::TypeInvalid, path, &found, &why));
            self.allowed(value, schema, path);
            return;
        }
        self.allowed(value, schema, path);
        match value {
            Value::Number(number) => {
                self.number(number.as_f64().unwrap_or_default(), value, schema, path);
            }
            Value::String(text) => self.text(text, value, schema, path),
            Value::Array(items) => self.list(pair, items, value, schema, path),
            Value::Object(_) => self.object(pair, value, schema, path, is_object),
            _ => {}
        }
        self.combined(value, schema, path);
    }

    fn add(&mut self, problem: Problem) {
        self.found.push(problem);
    }

    fn invalid(&mut self, path: &str, value: &Value, why: &str) {
        self.add(Problem::of_value(Reason::Invalid, path, value, why));
    }

    fn allowed(&mut self, value: &Value, schema: &Value, path: &str) {
        let Some(allowed) = schema["enum"].as_array() else {
            return;
        };
        if !allowed.contains(value) {
            let list: Vec<_> = allowed.iter().map(Value::to_string).collect();
            let why = format!("supported values: {}", list.join(", "));
            self.add(Problem::of_value(Reason::NotSupported, path, value, &why));
        }
    }

    fn number(&mut self, number: f64, value: &Value, schema: &Value, path: &str) {
        let bound = |name: &str| schema[name].as_f64();
        if let Some(least) = bound("minimum") {
            let exclusive = schema["exclusiveMinimum"] == true;
            if number < least || exclusive && number <= least {
                let or_equal = if exclusive { "" } else { " or equal to" };
                let why = format!("{path} in body should be greater than{or_equal} {least}");
                self.invalid(path, value, &why);
            }
        }
        if let Some(most) = bound("maximum") {
            let exclusive = schema["exclusiveMaximum"] == true;
            if number > most || exclusive && number >= most {
                let or_equal = if exclusive { "" } else { " or equal to" };
                let why = format!("{path} in body should be less than{or_equal} {most}");
                self.invalid(path, value, &why);
            }
        }
        if let Some(factor) = bound("multipleOf").filter(|factor| *factor > 0.0) {
            let quotient = number / factor;
            if (quotient - quotient.round()).abs() > f64::EPSILON {
                let why = format!("{path} in body should be a multiple of {factor}");
                self.invalid(path, value, &why);
            }
        }
        let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
        if schema["format"] == "int32" && !fits {
            let why = format!("{path} in body must be of type int32: {value}");
            self.invalid(path, value, &why);
        }
    }

    fn text(&mut self, text: &str, value: &Value, schema: &Value, path: &str) {
        let length = text.chars().count();
        if let Some(least) = size(schema, "minLength").filter(|least| length < *least) {
            let why = format!("{path} in body should be at least {least} chars long");
            self.invalid(path, value, &why);
        }
        if let Some(most) = size(schema, "maxLength").filter(|most| length > *most) {
            let why = format!("may not be more than {most} bytes");
            self.add(Problem::new(Reason::TooLong, path, &why));
        }
        // A pattern that cannot be read allows everything.
        let pattern = schema["pattern"].as_str();
        if let Some(pattern) = pattern.filter(|it| re2::matches(it, text) == Some(false)) {
            let why = format!("{path} in body should match '{pattern}'");
            self.invalid(path, value, &why);
        }
        let format = schema["format"].as_str();
        if let Some(format) = format.filter(|format| !formats::matches(format, text)) {
            let why = format!("{path} in body must be of type {format}: {value}");
            self.invalid(path, value, &why);
        }
    }

    fn list(
        &mut self,
        pair: Option<Pair>,
        items: &[Value],
        value: &Value,
        schema: &Value,
        path: &str,
    ) {
        let count = items.len();
        if let Some(least) = size(schema, "minItems").filter(|least| count < *least) {
            let why = format!("{path} in body should have at least {least} items");
            self.invalid(path, value, &why);
        }
        if let Some(most) = size(schema, "maxItems").filter(|most| count > *most) {
            self.add(Problem::too_many(path, count, most));
        }
        let keys = keys(schema);
        for (at, item) in items.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let is_embedded = is_embedded(&schema["items"]);
            let pair = pair.and_then(|pair| pair.item(at));
            self.replaced(pair, item, &schema["items"], &path, is_embedded);
            let same = |other: &Value| match &keys {
                Some(keys) if keys.is_empty() => other == item,
                Some(keys) => keys.iter().all(|key| other[key] == item[key]),
                None => false,
            };
            if items[..at].iter().any(same) {
                self.add(Problem::of_value(Reason::Duplicate, &path, item, ""));
            }
        }
    }

    fn object(
        &mut self,
        pair: Option<Pair>,
        value: &Value,
        schema: &Value,
        path: &str,
        is_object: bool,
    ) {
        let Some(fields) = value.as_object() else {
            return;
        };
        let count = fields.len();
        if let Some(least) = size(schema, "minProperties").filter(|least| count < *least) {
            let why = format!("{path} in body should have at least {least} properties");
            self.invalid(path, value, &why);
        }
        if let Some(most) = size(schema, "maxProperties").filter(|most| count > *most) {
            self.add(Problem::too_many(path, count, most));
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if fields.get(name).is_none() {
                let path = joined(path, name);
                self.add(Problem::new(Reason::Required, &path, ""));
            }
        }
        for (name, value) in fields {
            let is_meta = is_object && OF_ALL.contains(&name.as_str());
            if let Some(schema) = super::field(schema, name).filter(|_| !is_meta) {
                let is_embedded = is_embedded(schema);
                let pair = pair.and_then(|pair| pair.field(name));
                self.replaced(pair, value, schema, &joined(path, name), is_embedded);
            }
        }
    }

    fn combined(&mut self, value: &Value, schema: &Value, path: &str) {
        let fits = |schema: &Value| {
            let mut found = Vec::new();
            Validation { found: &mut found }.value(value, schema, path, false);
            found.is_empty()
        };
        let list = |name: &str| schema[name].as_array();
        for schema in list("allOf").into_iter().flatten() {
            self.value(value, schema, path, false);
        }
        if list("anyOf").is_some_and(|any| !any.iter().any(fits)) {
            let why = format!("{path} in body must validate at least one schema (anyOf)");
            self.invalid(path, value, &why);
        }
        if list("oneOf").is_some_and(|one| one.iter().filter(|schema| fits(schema)).count() != 1) {
            let why = format!("{path} in body must validate one and only one schema (oneOf)");
            self.invalid(path, value, &why);
        }
        if schema["not"].is_object() && fits(&schema["not"]) {
            let why = format!("{path} in body must not validate the schema (not)");
            self.invalid(path, value, &why);
        }
    }
}

/// The type of a value, as a schema names it.
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

fn has_type(value: &Value, schema: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_i64() || value.is_u64() || value.is_string();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

/// The keys by which the items of a list are unique: none if the items themselves are. `None` if they need not be.
fn keys(schema: &Value) -> Option<Vec<&str>> {
    match schema["x-kubernetes-list-type"].as_str()? {
        "set" => Some(Vec::new()),
        "map" => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array()?;
            Some(keys.iter().filter_map(Value::as_str).collect())
        }
        _ => None,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_is_checked() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "integer", "minimum": 1, "maximum": 5, "exclusiveMaximum": true, "multipleOf": 2},
            "b": {"type": "string", "enum": ["x", "yy"], "minLength": 2, "maxLength": 2},
            "c": {"type": "array", "minItems": 1, "maxItems": 2, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "d": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "boolean"}},
            "e": {"x-kubernetes-int-or-string": true},
            "f": {"type": "string", "nullable": true, "pattern": "^[a-z]+$"},
            "h": {"type": "string", "format": "ipv4"},
            "i": {"type": "integer", "format": "int32"},
            "g": {"type": "object", "oneOf": [{"required": ["x"]}, {"required": ["y"]}], "not": {"required": ["z"]},
                "x-kubernetes-preserve-unknown-fields": true},
        }});
        let found = |object: Value| {
            let found = problems(&object, &schema);
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            found.join("\n")
        };
        assert_eq!(
            found(
                json!({"a": 2, "b": "yy", "c": [{"k": "v"}], "e": "5%", "f": null, "g": {"x": 1}})
            ),
            ""
        );
        for (object, message) in [
            (json!({}), "a: Required value"),
            (
                json!({"a": "2"}),
                "a: Invalid value: \"string\": a in body must be of type integer: \"string\"",
            ),
            (
                json!({"a": 0}),
                "a: Invalid value: 0: a in body should be greater than or equal to 1",
            ),
            (json!({"a": 5}), "should be less than 5"),
            (json!({"a": 3}), "should be a multiple of 2"),
            (
                json!({"a": 2, "b": "x"}),
                "b: Invalid value: \"x\": b in body should be at least 2 chars long",
            ),
            (
                json!({"a": 2, "b": "zz"}),
                "b: Unsupported value: \"zz\": supported values: \"x\", \"yy\"",
            ),
            (
                json!({"a": 2, "b": "zzz"}),
                "b: Too long: may not be more than 2 bytes",
            ),
            (json!({"a": 2, "c": []}), "should have at least 1 items"),
            (
                json!({"a": 2, "c": [{"k": "v"}, {"k": "v"}]}),
                "c[1]: Duplicate value",
            ),
            (
                json!({"a": 2, "c": [{"k": "v"}, {"k": "w"}, {"k": "x"}]}),
                "c: Too many: 3: must have at most 2 items",
            ),
            (
                json!({"a": 2, "d": {"x": true, "y": true}}),
                "d: Too many: 2",
            ),
            (
                json!({"a": 2, "d": {"x": 1}}),
                "d.x: Invalid value: \"integer\": d.x in body must be of type boolean: \"integer\"",
            ),
            (json!({"a": 2, "e": 1.5}), "e: Invalid value"),
            (
                json!({"a": 2, "f": "a1"}),
                "f: Invalid value: \"a1\": f in body should match '^[a-z]+$'",
            ),
            (
                json!({"a": 2, "h": "10.0.0"}),
                "h: Invalid value: \"10.0.0\": h in body must be of type ipv4: \"10.0.0\"",
            ),
            (
                json!({"a": 2, "i": 3_000_000_000_i64}),
                "must be of type int32",
            ),
            (json!({"a": 2, "g": {"x": 1, "y": 1}}), "one and only one"),
            (json!({"a": 2, "g": {"x": 1, "z": 1}}), "must not validate"),
        ] {
            let found = found(object);
            assert!(found.contains(message), "{message}: {found}");
        }
    }
}
