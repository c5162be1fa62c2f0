//! What an update leaves as it was, which the API server tolerates if it is invalid.
//!
//! Source: KEP-4008; `pkg/cel/common/equality.go` and `maplist.go` of apiserver.

use std::collections::BTreeMap;

use serde_json::Value;

/// A value, and the one that it replaces.
#[derive(Clone, Copy)]
pub struct Pair<'v> {
    pub schema: &'v Value,
    pub new: &'v Value,
    pub old: &'v Value,
}

impl Pair<'_> {
    /// The value of a field, if it replaces another.
    #[must_use]
    pub fn field(self, name: &str) -> Option<Self> {
        let others = &self.schema["additionalProperties"];
        let declared = self.schema["properties"].get(name);
        Some(Self {
            schema: declared.or_else(|| Some(others).filter(|it| it.is_object()))?,
            new: self.new.get(name)?,
            old: self.old.get(name)?,
        })
    }

    /// An item, if it replaces one with the same keys.
    #[must_use]
    pub fn item(self, index: usize) -> Option<Self> {
        let new = self.new.get(index)?;
        Some(Self {
            schema: &self.schema["items"],
            new,
            old: before(self.schema, self.old, new)?,
        })
    }

    /// Whether nothing has changed.
    #[must_use]
    pub fn is_same(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) if keys(self.schema).is_some() => {
                let same = |at| self.item(at).is_some_and(Pair::is_same);
                new.len() == old.len() && (0..new.len()).all(same)
            }
            (Value::Object(new), Value::Object(old)) => {
                // A field without a schema, such as those of the metadata, counts as changed.
                let same = |name: &String| self.field(name).is_some_and(Pair::is_same);
                new.len() == old.len() && new.keys().all(same)
            }
            (new, old) => new == old,
        }
    }
}

/// The item of `old` with the keys of `item`, in a list with keys.
#[must_use]
pub fn before<'v>(schema: &Value, old: &'v Value, item: &Value) -> Option<&'v Value> {
    let keys = keys(schema)?;
    let is_one = |old: &&Value| {
        let same = |key: &Value| {
            let key = key.as_str().unwrap_or_default();
            old[key] == item[key] && (keys.len() > 1 || !item[key].is_null())
        };
        old.is_object() && keys.iter().all(same)
    };
    old.as_array()?.iter().find(is_one)
}

/// The items of a list with keys, by those: what [`before`] finds for each item of a list, without a search for each.
pub struct Keyed<'v> {
    keys: &'v [Value],
    items: BTreeMap<String, &'v Value>,
}

impl<'v> Keyed<'v> {
    /// Those of `old`; `None` if its schema has no keys.
    #[must_use]
    pub fn of(schema: &'v Value, old: &'v Value) -> Option<Self> {
        let keys = keys(schema)?;
        let mut items = BTreeMap::new();
        for item in old.as_array()?.iter().filter(|item| item.is_object()) {
            items.entry(identity(keys, item)).or_insert(item);
        }
        Some(Self { keys, items })
    }

    /// The item with the keys of another.
    #[must_use]
    pub fn get(&self, item: &Value) -> Option<&'v Value> {
        let has_key = |key: &Value| !item[key.as_str().unwrap_or_default()].is_null();
        let found = self.items.get(&identity(self.keys, item)).copied();
        found.filter(|_| self.keys.len() > 1 || self.keys.iter().all(has_key))
    }
}

/// The values of the keys of an item.
fn identity(keys: &[Value], item: &Value) -> String {
    let values = keys
        .iter()
        .map(|key| &item[key.as_str().unwrap_or_default()]);
    let values: Vec<String> = values.map(Value::to_string).collect();
    values.join("\n")
}

/// The keys of a list with keys.
fn keys(schema: &Value) -> Option<&Vec<Value>> {
    let keys = schema["x-kubernetes-list-map-keys"].as_array();
    keys.filter(|_| schema["x-kubernetes-list-type"] == "map")
}
