//! How the fields of a kind's objects become the struct that kube's macro starts from.

use serde_json::{Map, Value, json};

use super::definition::Version;
use super::node::{Node, node};

/// What kube's macro makes of the struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The struct is `spec`.
    Spec,
    /// The struct has all fields of the object: there are others than `spec` and `status`, or no `spec`.
    Flat,
}

/// The fields of each object, which have no type of their own.
pub const OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The struct of a version, its status and their schemas.
#[derive(Debug)]
pub struct Root {
    pub shape: Shape,
    /// The types with a fixed name: the struct first, then its status.
    pub types: Vec<(String, Value)>,
    /// The type of the status, as a path.
    pub status: Option<String>,
}

impl Root {
    /// The types, for those below them.
    pub fn roots(&self) -> Vec<(String, &Value)> {
        let roots = self.types.iter();
        roots.map(|(name, schema)| (name.clone(), schema)).collect()
    }

    pub fn new(kind: &str, version: &Version) -> Self {
        let fields = version
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let is_other = |name: &str| {
            !OBJECT.contains(&name) && name != "spec" && !(name == "status" && version.has_status)
        };
        let is_object = |name: &str| {
            fields
                .get(name)
                .is_some_and(|field| field["type"] == json!("object"))
        };
        let shape = if fields.keys().any(|name| is_other(name)) || !is_object("spec") {
            Shape::Flat
        } else {
            Shape::Spec
        };
        let mut types = vec![match shape {
            Shape::Spec => (format!("{kind}Spec"), fields["spec"].clone()),
            Shape::Flat => (
                format!("{kind}Fields"),
                Value::Object(flat(version, &fields)),
            ),
        }];
        let mut status = version.has_status.then(|| "serde_json::Value".to_owned());
        if let Some(schema) = fields
            .get("status")
            .filter(|_| version.has_status)
            .filter(|schema| matches!(node(schema), Node::Struct | Node::Known(_)))
        {
            status = Some(format!("{kind}Status"));
            types.push((format!("{kind}Status"), schema.clone()));
        }
        Root {
            shape,
            types,
            status,
        }
    }
}

/// The schema of the object without the fields that it has anyway.
fn flat(version: &Version, fields: &Map<String, Value>) -> Map<String, Value> {
    let is_status = |name: &str| name == "status" && version.has_status;
    let own = |name: &str| !OBJECT.contains(&name) && !is_status(name);
    let mut schema = version.schema.clone();
    let fields = fields.iter().filter(|(name, _)| own(name));
    let fields: Map<String, Value> = fields
        .map(|(name, field)| (name.clone(), field.clone()))
        .collect();
    schema.insert("properties".to_owned(), Value::Object(fields));
    schema.insert("type".to_owned(), json!("object"));
    for key in [
        "x-kubernetes-validations",
        "oneOf",
        "anyOf",
        "allOf",
        "not",
        "description",
    ] {
        schema.remove(key);
    }
    let Some(Value::Array(required)) = schema.get_mut("required") else {
        return schema;
    };
    required.retain(|name| name.as_str().is_some_and(own));
    if required.is_empty() {
        schema.remove("required");
    }
    schema
}
