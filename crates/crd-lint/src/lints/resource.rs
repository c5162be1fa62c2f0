//! Whole objects: the root of a schema, and objects that are embedded in it.

use serde_json::json;

use crate::lint::Hit;
use crate::node::{Level, Node};

/// Whether a whole object is described as one.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    if node.level == Level::Root {
        root(node, found);
    }
    if node.is_resource() {
        fields(node, found);
    }
}

/// What only the schema of the whole object must not have.
fn root(node: &Node, found: &mut Vec<Hit>) {
    if node.is("nullable") {
        found.push(Hit::new(
            "",
            "the object itself cannot be null",
            "leave `nullable` out",
        ));
    }
    if !["object", ""].contains(&node.text("type")) {
        found.push(Hit::new(
            "",
            "the object itself must have the type `object`",
            "use a struct",
        ));
    }
}

/// `apiVersion`, `kind` and `metadata` of the object, or of one that is embedded.
fn fields(node: &Node, found: &mut Vec<Hit>) {
    let fields = node.get("properties");
    for (name, kind) in [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "object"),
    ] {
        let field = &fields[name];
        if field.is_object() && field["type"] != json!(kind) {
            let text = format!("`{name}` of an object is always of type `{kind}`");
            found.push(Hit::new(
                &format!("{}.{name}", node.path),
                text,
                "name the field otherwise",
            ));
        }
    }
    let metadata = &fields["metadata"];
    if node.level == Level::Root && metadata.is_object() {
        let names = metadata["properties"].as_object().into_iter().flatten();
        let sound = metadata
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, _)| key == "type" || key == "properties")
            && names
                .map(|(name, _)| name)
                .all(|name| name == "name" || name == "generateName");
        if !sound {
            found.push(Hit::new(
                ".metadata",
                "only `name` and `generateName` can be restricted",
                "write a rule for the object instead: `#[kube(validation = …)]`",
            ));
        }
    }
}
