//! Whole objects: the root of a schema, and embedded objects.

use serde_json::json;

use crate::lint::Hit;
use crate::node::{Level, Node};

/// Checks that the schema of a whole object describes an object.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    if node.level == Level::Root {
        root(node, found);
    }
    if node.is_resource() {
        fields(node, found);
    }
}

/// Checks what applies only to the root.
fn root(node: &Node, found: &mut Vec<Hit>) {
    if node.is("nullable") {
        found.push(Hit::new(
            "",
            "the object itself cannot be null",
            "remove `nullable`",
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

/// Checks `apiVersion`, `kind` and `metadata` of the root or an embedded object.
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
                "rename the field",
            ));
        }
    }
    let metadata = &fields["metadata"];
    if node.level == Level::Root && metadata.is_object() {
        let names = metadata["properties"].as_object().into_iter().flatten();
        let valid = metadata
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, _)| key == "type" || key == "properties")
            && names
                .map(|(name, _)| name)
                .all(|name| name == "name" || name == "generateName");
        if !valid {
            found.push(Hit::new(
                ".metadata",
                "only `name` and `generateName` can be restricted",
                "write a rule for the object instead: `#[kube(validation = …)]`",
            ));
        }
    }
}
