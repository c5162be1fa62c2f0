//! Objects made up from a schema, the same in every run.

use serde_json::{Map, Value, json};

/// How deep objects lie in each other before what may be left out is.
const DEEP: usize = 6;

/// Numbers that look random: splitmix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// At least 0, less than `most`, or 0.
    fn below(&mut self, most: usize) -> usize {
        let most = most.max(1) as u64;
        usize::try_from(self.next() % most).unwrap_or_default()
    }

    fn chance(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    /// A value that a structural schema allows, as far as types, bounds and choices go; patterns and CEL are not looked at.
    pub(super) fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if let Some(choices) = schema["enum"].as_array() {
            return choices[self.below(choices.len())].clone();
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return if self.chance() {
                json!(self.below(1000))
            } else {
                json!("25%")
            };
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, depth),
            Some("string") => self.string(schema),
            Some("integer") => self.integer(schema),
            // Of sixteenths, none is rounded.
            Some("number") => json!(f64::from(self.small()) / 16.0),
            Some("boolean") => json!(self.chance()),
            _ => json!({}),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required: Vec<&str> = names(&schema["required"]);
        let chosen = self.choice(schema);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let needed = required.contains(&name.as_str());
            let wanted = match &chosen {
                Some((all, one)) if all.contains(&name.as_str()) => one.contains(&name.as_str()),
                _ => needed || (depth < DEEP && self.chance()),
            };
            if wanted {
                object.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        let values = &schema["additionalProperties"];
        if values.is_object() {
            for _ in 0..self.below(3) {
                let key = self.word();
                object.insert(key, self.value(values, depth + 1));
            }
        }
        Value::Object(object)
    }

    /// Of an enum with data: the properties of all its variants, and those of one of them.
    fn choice<'a>(&mut self, schema: &'a Value) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
        let variants = schema["oneOf"].as_array().or(schema["anyOf"].as_array())?;
        let all = variants
            .iter()
            .flat_map(|variant| names(&variant["required"]));
        let one = &variants[self.below(variants.len())];
        Some((all.collect(), names(&one["required"])))
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let least = count(&schema["minItems"]).unwrap_or(0);
        let most = count(&schema["maxItems"]).unwrap_or(least + 3);
        let items = least + self.below(most - least + 1).min(3);
        let item = |_| self.value(&schema["items"], depth + 1);
        let mut items: Vec<Value> = (0..items).map(item).collect();
        let listed = schema["x-kubernetes-list-type"].as_str();
        if matches!(listed, Some("set" | "map")) {
            items.dedup();
            items.truncate(1.max(least));
        }
        Value::Array(items)
    }

    fn string(&mut self, schema: &Value) -> Value {
        match schema["format"].as_str() {
            Some("date-time") => json!(format!("2026-01-{:02}T03:04:05Z", 1 + self.below(28))),
            Some("byte") => json!("YWhveQ=="),
            _ => {
                let least = count(&schema["minLength"]).unwrap_or(0);
                let most = count(&schema["maxLength"]).unwrap_or(usize::MAX);
                let mut text = self.word();
                while text.len() < least {
                    text += &self.word();
                }
                text.truncate(most);
                json!(text)
            }
        }
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let least = whole(&schema["minimum"]).unwrap_or(0);
        let most = whole(&schema["maximum"]).unwrap_or(least.saturating_add(1000));
        let range = usize::try_from(most.saturating_sub(least)).unwrap_or(0);
        let over = i64::try_from(self.below(range.saturating_add(1))).unwrap_or(0);
        json!(least + over)
    }

    /// At least 0, at most 255.
    fn small(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn word(&mut self) -> String {
        let letters = (0..=self.below(8)).map(|_| char::from(b'a' + self.small() % 26));
        letters.collect()
    }
}

/// A bound: schemars writes it with `.0`.
fn whole(bound: &Value) -> Option<i64> {
    let text = bound.as_number()?.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn count(number: &Value) -> Option<usize> {
    usize::try_from(number.as_u64()?).ok()
}
