//! Values in the evaluation of rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use serde_json::{Value, json};

use super::types::written;
use crate::schema::is_embedded;

/// A CEL value. Clones share the content of lists and maps.
#[derive(Clone, Debug)]
pub enum Data {
    /// A value that is not evaluated here: of an unsupported CEL type (timestamp, bytes), or unknown.
    Unknown,
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Rc<str>),
    /// `type(x)`.
    Kind(&'static str),
    Ip(IpAddr),
    /// An address, and the length of its prefix.
    Cidr(IpAddr, u8),
    List(Rc<List>),
    /// A map or an object; the field names of objects are escaped for CEL.
    Map(Rc<BTreeMap<String, Data>>),
    Optional(Option<Rc<Data>>),
}

/// The items of a list.
#[derive(Debug)]
pub struct List {
    pub items: Vec<Data>,
    /// Whether the API server compares and adds them by value or key, not by position: sets, and lists with keys.
    pub merged: bool,
}

/// A marker among the fields of an object that preserves unknown fields: rules cannot see those, but they matter when
/// two objects are compared. It is not a valid field name.
const OTHERS: &str = "*";

impl Data {
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// The bytes of a text, or the items of a list or map.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(list) => list.items.len(),
            Self::Map(map) => map.len(),
            _ => 0,
        }
    }

    /// The same with all that is in it.
    pub fn size(&self) -> usize {
        let below = match self {
            Self::List(list) => list.items.iter().map(Self::size).sum(),
            Self::Map(map) => map.values().map(Self::size).sum(),
            Self::Optional(Some(inner)) => inner.size(),
            _ => 0,
        };
        self.length() + below
    }

    pub fn list(items: Vec<Self>) -> Self {
        let merged = false;
        Self::List(List { items, merged }.into())
    }

    /// Converts a value without a schema.
    pub fn untyped(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Self::Int(number),
                (None, Some(number)) => Self::Double(number),
                (None, None) => Self::Unknown,
            },
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::list(items.iter().map(Self::untyped).collect()),
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (name.clone(), Self::untyped(value)));
                Self::Map(fields.collect::<BTreeMap<_, _>>().into())
            }
        }
    }

    /// Converts a value by its schema; `None` if rules cannot see it. `resource`: whether it has a name (root or embedded object).
    pub fn of(schema: &Value, value: &Value, resource: bool) -> Option<Self> {
        if schema["x-kubernetes-int-or-string"] != json!(true) && !schema["type"].is_string() {
            return None;
        }
        let form = |format: &str| schema["format"] == format;
        Some(match value {
            Value::Null => Self::Unknown,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(number) if schema["type"] != "number" => Self::Int(number),
                _ if schema["type"] != "number" => Self::Unknown,
                _ => Self::Double(number.as_f64()?),
            },
            Value::String(_)
                if ["date", "date-time", "duration", "byte"]
                    .map(form)
                    .contains(&true) =>
            {
                Self::Unknown
            }
            Value::String(text) => Self::text(text),
            Value::Array(items) => {
                let item = &schema["items"];
                let items = items
                    .iter()
                    .map(|value| Self::of(item, value, is_embedded(item)));
                let merged = ["set", "map"]
                    .iter()
                    .any(|kind| schema["x-kubernetes-list-type"] == *kind);
                Self::List(
                    List {
                        items: items.collect::<Option<_>>()?,
                        merged,
                    }
                    .into(),
                )
            }
            Value::Object(fields) => object(schema, fields, resource),
        })
    }
}

fn object(schema: &Value, fields: &serde_json::Map<String, Value>, resource: bool) -> Data {
    let mut seen = BTreeMap::new();
    let values = &schema["additionalProperties"];
    for (name, value) in fields {
        let (field, names) = match schema["properties"].get(name) {
            Some(field) => (field, written(name)),
            None if values.is_object() => (values, vec![name.clone()]),
            None => continue,
        };
        // For rules, a null field is missing.
        if value.is_null() {
            continue;
        }
        let value = Data::of(field, value, is_embedded(field));
        for name in names {
            seen.extend(value.clone().map(|value| (name, value)));
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == json!(true) {
        seen.insert(OTHERS.to_owned(), Data::Unknown);
    }
    if resource {
        let word = |value: Option<&Value>| {
            value
                .and_then(Value::as_str)
                .map_or(Data::Unknown, Data::text)
        };
        for name in ["apiVersion", "kind"] {
            seen.insert(name.to_owned(), word(fields.get(name)));
        }
        // The API server generates the name before rules run.
        let meta = fields.get("metadata");
        let mut names = BTreeMap::from([(
            "name".to_owned(),
            word(meta.and_then(|meta| meta.get("name"))),
        )]);
        if let Some(start) = meta.and_then(|meta| meta.get("generateName")) {
            names.insert("generateName".to_owned(), word(Some(start)));
        }
        seen.insert("metadata".to_owned(), Data::Map(names.into()));
    }
    Data::Map(seen.into())
}

/// Whether two values are equal; `None` if it is not known.
pub fn equal(a: &Data, b: &Data) -> Option<bool> {
    Some(match (a, b) {
        (Data::Unknown, _) | (_, Data::Unknown) => return None,
        (Data::Null, Data::Null) | (Data::Optional(None), Data::Optional(None)) => true,
        (Data::Kind(a), Data::Kind(b)) => a == b,
        (Data::Bool(a), Data::Bool(b)) => a == b,
        (Data::Text(a), Data::Text(b)) => a == b,
        (Data::Ip(a), Data::Ip(b)) => a == b,
        (Data::Cidr(a, c), Data::Cidr(b, d)) => (a, c) == (b, d),
        (Data::Int(_) | Data::Double(_), Data::Int(_) | Data::Double(_)) => order(a, b)?.is_eq(),
        (Data::Optional(Some(a)), Data::Optional(Some(b))) => return equal(a, b),
        (Data::List(a), Data::List(b)) => {
            let same = a.items.len() == b.items.len();
            let pairs = a.items.iter().zip(&b.items);
            let same = if same {
                all(pairs.map(|(a, b)| equal(a, b)))
            } else {
                Some(false)
            };
            return if a.merged || b.merged {
                same.filter(|same| *same)
            } else {
                same
            };
        }
        (Data::Map(a), Data::Map(b)) => {
            let known = |map: &BTreeMap<String, Data>| {
                map.keys()
                    .filter(|name| *name != OTHERS)
                    .cloned()
                    .collect::<Vec<_>>()
            };
            if known(a) != known(b) {
                return Some(false);
            }
            return all(a
                .iter()
                .map(|(name, a)| b.get(name).and_then(|b| equal(a, b))));
        }
        _ => false,
    })
}

/// `false` if one is `false`, otherwise `None` if one is unknown.
fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(true);
    for part in parts {
        match part {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

/// The order of two values; `None` if they have no order or it is unknown.
#[allow(
    clippy::cast_precision_loss,
    reason = "as CEL compares an int with a double"
)]
pub fn order(a: &Data, b: &Data) -> Option<Ordering> {
    match (a, b) {
        (Data::Bool(a), Data::Bool(b)) => Some(a.cmp(b)),
        (Data::Int(a), Data::Int(b)) => Some(a.cmp(b)),
        (Data::Double(a), Data::Double(b)) => a.partial_cmp(b),
        (Data::Int(a), Data::Double(b)) => (*a as f64).partial_cmp(b),
        (Data::Double(a), Data::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Data::Text(a), Data::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
