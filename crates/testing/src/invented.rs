//! Generates objects from a schema, the same in every run.

use serde_json::{Map, Value, json};

use super::{formats, pattern::matching, random::Random};

/// The nesting depth from which optional fields are left out.
const DEEP: usize = 6;

/// Generates values, and records those that may be invalid.
#[derive(Debug)]
pub(super) struct Inventor {
    random: Random,
    /// The path of the value that is being generated.
    path: Vec<String>,
    /// The strings for which no match of their pattern was found.
    unmatched: Vec<Unmatched>,
}

/// A string that probably does not match its pattern.
#[derive(Debug)]
pub(super) struct Unmatched {
    pub(super) path: Vec<String>,
    pub(super) pattern: String,
    pub(super) text: Value,
}

impl Inventor {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            path: Vec::new(),
            unmatched: Vec::new(),
        }
    }

    /// The unmatched strings among all generated values.
    pub(super) fn unmatched(&self) -> &[Unmatched] {
        &self.unmatched
    }

    /// A value below `name` that a structural schema allows, as far as possible: CEL rules are ignored.
    pub(super) fn value(&mut self, name: &str, schema: &Value) -> Value {
        self.path.push(name.to_owned());
        let value = self.value_here(schema);
        self.path.pop();
        value
    }

    fn value_here(&mut self, schema: &Value) -> Value {
        if let Some(choices) = schema["enum"].as_array() {
            return choices[self.random.below(choices.len())].clone();
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return if self.random.chance() {
                json!(self.random.below(1000))
            } else {
                json!("25%")
            };
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema),
            Some("array") => self.array(schema),
            Some("string") => self.string(schema),
            Some("integer") => self.integer(schema),
            // Multiples of a sixteenth are exact, so none is rounded.
            Some("number") => json!(f64::from(self.random.small()) / 16.0),
            Some("boolean") => json!(self.random.chance()),
            _ => json!({}),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut object = Map::new();
        let required: Vec<&str> = names(&schema["required"]);
        let chosen = self.choice(schema);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let needed = required.contains(&name.as_str());
            let wanted = match &chosen {
                Some((all, one)) if all.contains(&name.as_str()) => one.contains(&name.as_str()),
                _ => needed || (self.path.len() <= DEEP && self.random.chance()),
            };
            if wanted {
                object.insert(name.clone(), self.value(name, property));
            }
        }
        let values = &schema["additionalProperties"];
        if values.is_object() {
            for _ in 0..self.random.below(3) {
                let key = self.random.word();
                let value = self.value(&key, values);
                object.insert(key, value);
            }
        }
        Value::Object(object)
    }

    /// For an enum with data: the properties of all variants, and the properties of one variant.
    fn choice<'a>(&mut self, schema: &'a Value) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
        let variants = schema["oneOf"].as_array().or(schema["anyOf"].as_array())?;
        let all = variants
            .iter()
            .flat_map(|variant| names(&variant["required"]));
        let one = &variants[self.random.below(variants.len())];
        Some((all.collect(), names(&one["required"])))
    }

    fn array(&mut self, schema: &Value) -> Value {
        let least = count(&schema["minItems"]).unwrap_or(0);
        let most = count(&schema["maxItems"]).unwrap_or(least + 3);
        let items = least + self.random.below(most - least + 1).min(3);
        let item = |at: usize| self.value(&at.to_string(), &schema["items"]);
        let mut items: Vec<Value> = (0..items).map(item).collect();
        let listed = schema["x-kubernetes-list-type"].as_str();
        if matches!(listed, Some("set" | "map")) {
            items.dedup();
            items.truncate(1.max(least));
        }
        Value::Array(items)
    }

    fn string(&mut self, schema: &Value) -> Value {
        if schema["example"].is_string() {
            return schema["example"].clone();
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            return self.matching(schema, pattern);
        }
        let format = schema["format"].as_str().unwrap_or_default();
        self.formatted(format)
            .unwrap_or_else(|| self.bounded(schema))
    }

    fn matching(&mut self, schema: &Value, pattern: &str) -> Value {
        let (least, most) = lengths(schema);
        let fits = |text: &str| (least..=most).contains(&text.chars().count());
        if let Some(text) = matching(pattern, &mut self.random, fits) {
            return text.into();
        }
        if schema["default"].is_string() {
            return schema["default"].clone();
        }
        let text = self.bounded(schema);
        self.unmatched.push(Unmatched {
            path: self.path.clone(),
            pattern: pattern.to_owned(),
            text: text.clone(),
        });
        text
    }

    /// A string in a format that Rust types often have.
    fn formatted(&mut self, format: &str) -> Option<Value> {
        let (small, word) = (self.random.small(), self.random.word());
        let day = format!("2026-01-{:02}", 1 + small % 28);
        let text = match format.replace('-', "").as_str() {
            "datetime" => format!("{day}T03:04:05Z"),
            "partialdatetime" => format!("{day}T03:04:05"),
            "date" => day,
            "time" => format!("03:04:{:02}Z", small % 60),
            "duration" => format!("{small}s"),
            "byte" => "YWhveQ==".to_owned(),
            "uri" | "url" => format!("https://{word}.example.com"),
            "email" => format!("{word}@example.com"),
            "hostname" | "k8slongname" => format!("{word}.example.com"),
            "ip" | "ipv4" => format!("10.0.0.{small}"),
            "ipv6" => format!("2001:db8::{:x}", 1 + u16::from(small)),
            "cidr" => format!("10.{small}.0.0/16"),
            "mac" => format!("02:00:00:00:00:{small:02x}"),
            "uuid" | "uuid4" => format!("00000000-0000-4000-8000-0000000000{small:02x}"),
            _ => formats::example(format)?.to_owned(),
        };
        Some(text.into())
    }

    /// A string within the length limits.
    fn bounded(&mut self, schema: &Value) -> Value {
        let (least, most) = lengths(schema);
        let mut text = self.random.word();
        while text.len() < least {
            text += &self.random.word();
        }
        text.truncate(most);
        text.into()
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let least = whole(&schema["minimum"]).unwrap_or(0);
        let most = whole(&schema["maximum"]).unwrap_or(least.saturating_add(1000));
        let range = usize::try_from(most.saturating_sub(least)).unwrap_or(0);
        let over = i64::try_from(self.random.below(range.saturating_add(1))).unwrap_or(0);
        json!(least + over)
    }
}

/// A bound: schemars writes it with `.0`.
fn whole(bound: &Value) -> Option<i64> {
    let text = bound.as_number()?.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

/// The minimum and maximum length of a string.
fn lengths(schema: &Value) -> (usize, usize) {
    let least = count(&schema["minLength"]).unwrap_or(0);
    let most = count(&schema["maxLength"]).unwrap_or(usize::MAX);
    (least, most)
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn count(number: &Value) -> Option<usize> {
    usize::try_from(number.as_u64()?).ok()
}
