//! Changes of a schema, each in an object, in a list without keys, and in one with keys.

use serde_json::{Value, json};

use super::{Pair, definition, object};

/// A change of the schema of an object, and such an object.
struct Change<'a> {
    name: &'a str,
    old: Value,
    new: Value,
    object: Value,
    /// The pointers of texts in the object that an update may change.
    neighbours: Vec<&'a str>,
}

pub fn pairs() -> Vec<Pair> {
    let rows: Vec<Value> = serde_yaml_ng::from_str(include_str!("schemas.yaml")).expect("YAML");
    let mut all = Vec::new();
    for row in &rows {
        let change = Change::of(row);
        for place in ["field", "atomic", "keyed"] {
            if place != "atomic" || row["uses_old_self"].is_null() {
                all.push(pair(&change, place));
            }
        }
    }
    all
}

impl<'a> Change<'a> {
    fn of(row: &'a Value) -> Self {
        let schema = |field: &str, object: &str| {
            let mut schema = row[object].clone();
            if schema.is_null() {
                schema = json!({ "properties": { "it": row[field] } });
            }
            schema["type"] = json!("object");
            schema["properties"]["other"] = json!({ "type": "string", "maxLength": 9 });
            schema
        };
        let mut object = row["object"].clone();
        if object.is_null() {
            object = json!({ "it": row["value"] });
        }
        object["other"] = json!("same");
        Self {
            name: row["change"].as_str().expect("a name"),
            old: schema("old", "old_object"),
            new: schema("new", "new_object"),
            object,
            neighbours: ["/other"]
                .into_iter()
                .chain(row["inside"].as_str())
                .collect(),
        }
    }
}

fn pair(change: &Change, place: &str) -> Pair {
    let schema = |inner: &Value| match place {
        "field" => inner.clone(),
        "atomic" => {
            json!({ "type": "object", "properties": { "list": { "type": "array", "maxItems": 3, "items": inner } } })
        }
        _ => keyed(inner.clone()),
    };
    let mut object_of_change = change.object.clone();
    if place == "keyed" {
        object_of_change["name"] = json!("a");
    }
    let (spec, around) = match place {
        "field" => (object_of_change, "/spec"),
        _ => (json!({ "list": [object_of_change] }), "/spec/list/0"),
    };
    let name = format!("{} {place}", change.name);
    let old = definition(&name, &schema(&change.old));
    let neighbours = change.neighbours.iter();
    Pair {
        object: object(&old, &spec),
        new: definition(&name, &schema(&change.new)),
        old,
        neighbours: neighbours.map(|it| format!("{around}{it}")).collect(),
        request: None,
        name,
    }
}

/// A list of such objects whose key is `name`.
fn keyed(mut items: Value) -> Value {
    items["properties"]["name"] = json!({ "type": "string", "maxLength": 9 });
    let mut required = items["required"].as_array().cloned().unwrap_or_default();
    required.push(json!("name"));
    items["required"] = Value::from(required);
    json!({ "type": "object", "properties": { "list": {
        "type": "array", "maxItems": 3, "items": items,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    } } })
}
