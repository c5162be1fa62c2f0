//! Attributes that leave no trace in the CRD: whoever wrote them believes that they work.

use serde_json::json;

use super::Finding;
use super::node::Node;
use super::places::Claim;

/// What becomes of the attributes of the field that `node` describes.
pub fn check(node: &Node, claims: &[Claim], found: &mut Vec<Finding>) {
    for claim in claims {
        let denied = claim.attribute.contains("\"nullable\"") && node.is("nullable");
        let heard = claim.keywords.iter().any(|key| has(node, key)) && !denied;
        // `extend("nullable" = false)`, which is what it would be without.
        let same = claim.keywords == ["nullable"] && !node.is("nullable");
        if !heard && !same {
            let text = format!(
                "`{}` is not in the CRD: it is dropped without a word",
                claim.attribute
            );
            found.push(Finding::error(&node.path, text, help(node, claim)));
        }
    }
}

/// Whether a schema has a keyword, which can be one of its items: `items/pattern`.
fn has(node: &Node, keyword: &str) -> bool {
    let found = node.schema.pointer(&format!("/{keyword}"));
    found.is_some_and(|value| !value.is_null())
}

fn help(node: &Node, claim: &Claim) -> String {
    let is_map = node.text("type") == "object" && node.get("additionalProperties") != &json!(null);
    let first = claim.keywords.first().map_or("", String::as_str);
    match first {
        "minLength" if is_map => "the length of a map is `#[schemars(extend(\"maxProperties\" = …))]`, or `minProperties`".to_owned(),
        inner if inner.starts_with("items/") => "`inner` is for the items of a list, and what is in it must suit their type".to_owned(),
        "minLength" => "only strings and lists have a length".to_owned(),
        "minimum" => "only numbers have a range".to_owned(),
        "pattern" => "only strings have a pattern; for the items of a list, `#[schemars(inner(regex(pattern = \"…\")))]`".to_owned(),
        "x-kubernetes-map-type" => "use `MapMerge::Atomic`, which works for a struct too".to_owned(),
        "nullable" => "for an `Option` that cannot be null, `#[schemars(with = \"T\")]` beside `#[serde(default, skip_serializing_if = \"Option::is_none\")]`".to_owned(),
        "uniqueItems" => "use `#[x_kube(merge_strategy = ListMerge::Set)]`".to_owned(),
        other => format!("`{other}` is no keyword of a CRD, or was replaced: leave it out"),
    }
}
