//! Floats, lists of bytes and unknown formats: they work, but are rarely intended.

use apiserver_rules::formats::is_known;
use serde_json::json;

use crate::lint::Hit;
use crate::node::Node;

use super::keywords::INT_OR_STRING;

/// Reports floats.
pub fn float(node: &Node, found: &mut Vec<Hit>) {
    if node.text("type") == "number" {
        found.push(Hit::new(
            &node.path,
            "floats are rounded differently by different clients",
            "use an integer of a smaller unit, or `Quantity`",
        ));
    }
}

/// Reports lists of bytes.
pub fn bytes(node: &Node, found: &mut Vec<Hit>) {
    let items = node.get("items");
    let bytes = items["minimum"] == json!(0) && items["maximum"] == json!(255);
    if node.text("type") == "array" && items["type"] == json!("integer") && bytes {
        found.push(Hit::new(
            &node.path,
            "bytes are written as a list of numbers",
            "use `String` with `#[schemars(extend(\"format\" = \"byte\"))]` for base64",
        ));
    }
}

/// Reports formats that the API server does not check.
pub fn format(node: &Node, found: &mut Vec<Hit>) {
    let format = node.text("format");
    if ["", "string"].contains(&node.text("type"))
        && !format.is_empty()
        && !node.is(INT_OR_STRING)
        && !is_known(format)
    {
        found.push(Hit::new(
            &node.path,
            format!("unknown format `{format}`: the API server does not check it"),
            "use `#[schemars(regex(pattern = \"…\"))]`",
        ));
    }
}
