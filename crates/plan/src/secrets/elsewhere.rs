//! Replaces the values of Secrets wherever else they occur: in any string of any object, as they are, in base64, compressed, or in JSON
//! inside a string.
//!
//! One automaton finds all values in one pass, so the time is linear in the size of the clone. It contains the beginning of each value; a
//! longer one is looked up by its length.

use std::collections::{BTreeSet, HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use anyhow::Context as _;
use serde_json::{Map, Value};

use super::public::{IDENTITY, METADATA, SELECTORS};
use super::{encoded, json, managed, runs};

/// How much of a value the automaton contains: enough to tell the most from another, and 20 bytes of memory for each.
const PREFIX: usize = 96;
/// Through how many layers a value is found.
const LAYERS: u8 = 4;

/// Values, and what replaces them.
pub struct Replacer {
    automaton: AhoCorasick,
    /// The lengths of the values with each prefix.
    lengths: Vec<Vec<usize>>,
    fakes: HashMap<Vec<u8>, Vec<u8>>,
    public: HashSet<String>,
    /// The strings that changed.
    pub changed: usize,
}

impl Replacer {
    /// Searches for these values. Strings that are `public` as a whole stay.
    ///
    /// # Errors
    /// There are more than 2^31 bytes of values.
    pub fn new(
        values: impl Iterator<Item = (Vec<u8>, Vec<u8>)>,
        public: HashSet<String>,
    ) -> anyhow::Result<Replacer> {
        let is_public = |value: &[u8]| str::from_utf8(value).is_ok_and(|it| public.contains(it));
        let values = values.filter(|(value, _)| !is_public(value));
        let fakes: HashMap<_, _> = values.flat_map(variants).collect();
        let mut lengths: HashMap<&[u8], BTreeSet<usize>> = HashMap::new();
        for value in fakes.keys() {
            let prefix = &value[..value.len().min(PREFIX)];
            lengths.entry(prefix).or_default().insert(value.len());
        }
        let (prefixes, lengths): (Vec<_>, Vec<_>) = lengths.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(prefixes)
            .context("too many values of Secrets")?;
        Ok(Replacer {
            automaton,
            lengths: lengths
                .into_iter()
                .map(|it| it.into_iter().collect())
                .collect(),
            fakes,
            public,
            changed: 0,
        })
    }

    /// Replaces in an object, apart from names and what selects by them.
    pub fn object(&mut self, object: &mut Value) {
        let Value::Object(object) = object else {
            return;
        };
        for (key, value) in object {
            match (key.as_str(), value) {
                ("metadata", Value::Object(metadata)) => self.metadata(metadata),
                (key, value) if !IDENTITY.contains(&key) => self.value(value),
                _ => {}
            }
        }
    }

    fn metadata(&mut self, metadata: &mut Map<String, Value>) {
        for (key, value) in metadata {
            match key.as_str() {
                "managedFields" => managed::each_element(value, &|it| self.text(it, LAYERS)),
                key if METADATA.contains(&key) => {}
                _ => self.value(value),
            }
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(other) = self.text(text, LAYERS) {
                    *text = other;
                    self.changed += 1;
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|it| self.value(it)),
            Value::Object(map) => {
                let others = map.iter_mut();
                let others = others.filter(|(key, _)| !SELECTORS.contains(&key.as_str()));
                others.for_each(|(_, value)| self.value(value));
            }
            _ => {}
        }
    }

    /// The text without the values; `None` if it has none.
    fn text(&self, text: &str, layers: u8) -> Option<String> {
        if self.public.contains(text) {
            return None;
        }
        if layers > 0 && json::is_container(text) {
            let mut changed = false;
            let mapped = json::map_strings(text, |_, leaf| {
                let other = self.text(leaf, layers - 1);
                changed |= other.is_some();
                other
            });
            return changed.then_some(mapped);
        }
        let raw = self.raw(text.as_bytes());
        // Values and fakes that are parts of a text are texts.
        let raw = raw.map(|it| String::from_utf8_lossy(&it).into_owned());
        if layers == 0 {
            return raw;
        }
        let text = raw.as_deref().unwrap_or(text);
        let decoded = runs::replace(text, |content| self.content(content, layers - 1));
        decoded.or(raw)
    }

    /// The content of base64 without the values.
    fn content(&self, content: &[u8], layers: u8) -> Option<Vec<u8>> {
        if let Some(inner) = encoded::gunzip(content) {
            return Some(encoded::gzip(&self.content(&inner, layers)?));
        }
        match str::from_utf8(content) {
            Ok(text) => Some(self.text(text, layers)?.into_bytes()),
            Err(_) => self.raw(content),
        }
    }

    fn raw(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut found = Vec::new();
        for prefix in self.automaton.find_overlapping_iter(text) {
            let rest = &text[prefix.start()..];
            let lengths = self.lengths[prefix.pattern().as_usize()].iter();
            let values = lengths.filter_map(|length| rest.get(..*length));
            let longest = values.rev().find_map(|it| self.fakes.get_key_value(it));
            found.extend(longest.map(|(value, fake)| (prefix.start(), value.len(), fake)));
        }
        if found.is_empty() {
            return None;
        }
        // The first one, and of those that begin together the longest.
        found.sort_by_key(|(start, length, _)| (*start, usize::MAX - length));
        let (mut made, mut from) = (Vec::with_capacity(text.len()), 0);
        for (start, length, fake) in found {
            if start >= from {
                made.extend_from_slice(&text[from..start]);
                made.extend_from_slice(fake);
                from = start + length;
            }
        }
        made.extend_from_slice(&text[from..]);
        Some(made)
    }
}

/// A value as it is, and as a part of JSON or of a URL.
fn variants((value, fake): (Vec<u8>, Vec<u8>)) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut variants = Vec::new();
    if let (Ok(value), Ok(fake)) = (str::from_utf8(&value), str::from_utf8(&fake)) {
        let in_json = |text: &str| {
            let json = Value::from(text).to_string();
            json[1..json.len() - 1].to_owned()
        };
        for encode in [in_json, encoded::percent_encode] {
            if encode(value) != value {
                variants.push((encode(value).into_bytes(), encode(fake).into_bytes()));
            }
        }
    }
    variants.push((value, fake));
    variants
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "a value of more than a line, which is longer than what the automaton has of it: \
        it is looked up by its length";

    fn replacer() -> Replacer {
        let long = |text: &str| text.replace("value", "fake!");
        let values = [
            ("password", "letters1".to_owned()),
            ("password-one", "letters2-two".to_owned()),
            ("say \"hello\"", "lot \"words\"".to_owned()),
            (LONG, long(LONG)),
            (&LONG[..90], "the beginning".to_owned()),
            (&LONG[..100], "the longer beginning".to_owned()),
        ];
        let values = values.map(|(value, fake)| (value.as_bytes().to_owned(), fake.into_bytes()));
        Replacer::new(
            values.into_iter(),
            HashSet::from(["my-password".to_owned()]),
        )
        .unwrap()
    }

    fn check(text: &str, expected: &str) {
        let other = replacer().text(text, LAYERS);
        assert_eq!(other.as_deref().unwrap_or(text), expected);
    }

    #[test]
    fn the_longest_value_is_replaced() {
        check("a password-one, password-on", "a letters2-two, letters1-on");
        check(LONG, &LONG.replace("value", "fake!"));
        check(&LONG[1..], &LONG[1..]);
        check(&LONG[..95], &format!("the beginning{}", &LONG[90..95]));
        check(
            &LONG[..105],
            &format!("the longer beginning{}", &LONG[100..105]),
        );
        check("my-password", "my-password");
        check("my-password ", "my-letters1 ");
        check("é", "é");
    }

    #[test]
    fn a_value_is_found_in_fragments_of_json_and_below_several_layers() {
        check(r#"msg="say \"hello\"" {"#, r#"msg="lot \"words\"" {"#);
        check(
            r#"{"password": [1e3, "x password"]}"#,
            r#"{"password": [1e3, "x letters1"]}"#,
        );
        let layers = |text: &str| {
            let json = serde_json::json!({ "a": text }).to_string();
            let compressed = encoded::gzip(json.as_bytes());
            format!("v/{}", encoded::to_base64(compressed))
        };
        check(&layers("password"), &layers("letters1"));
        let binary = |text: &str| encoded::to_base64([b"\xff\xfe", text.as_bytes()].concat());
        check(&binary("password"), &binary("letters1"));
    }
}
