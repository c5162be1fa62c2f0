//! Names of the group, the kind and its versions.

use serde_json::Value;

use crate::definition::Definition;
use crate::lint::Hit;

/// Checks the names of a kind by Kubernetes' rules.
pub fn names(definition: &Definition, found: &mut Vec<Hit>) {
    let names = definition.names();
    for (what, key) in [("plural", "plural"), ("singular", "singular")] {
        names[key]
            .as_str()
            .into_iter()
            .for_each(|name| label(what, name, found));
    }
    let kind = names["kind"].as_str().unwrap_or_default();
    label("kind", &kind.to_lowercase(), found);
    for (what, key) in [("short name", "shortNames"), ("category", "categories")] {
        let list = names[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str)
            .for_each(|name| label(what, name, found));
    }
}

/// Checks the name of a version by Kubernetes' rules.
pub fn version(version: &Value, found: &mut Vec<Hit>) {
    label(
        "version",
        version["name"].as_str().unwrap_or_default(),
        found,
    );
}

fn label(what: &str, name: &str, found: &mut Vec<Hit>) {
    if !is_label(name) {
        let text = format!(
            "{what} `{name}` is not a valid name: use at most 63 of `a` to `z`, `0` to `9` and `-`, starting with a letter"
        );
        found.push(Hit::new("", text, "change it in `#[kube(…)]`"));
    }
}

/// Checks that the group is a domain and not protected by Kubernetes.
pub fn group(definition: &Definition, found: &mut Vec<Hit>) {
    let group = definition.group();
    if !group.contains('.') {
        let text = format!("the group `{group}` has no dot");
        found.push(Hit::new(
            "",
            text,
            "use your own domain: `group = \"crew.example.com\"`",
        ));
    }
    let reserved = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|end| group == *end || group.ends_with(&format!(".{end}")));
    let approval = &definition.0["metadata"]["annotations"]["api-approved.kubernetes.io"];
    if reserved && approval.is_null() {
        let text = format!("the group `{group}` belongs to Kubernetes");
        let help = "use your own domain, or add `annotation(\"api-approved.kubernetes.io\", \"<URL of the approval>\")` to `#[kube(…)]`";
        found.push(Hit::new("", text, help));
    }
}

/// Whether the name is a DNS label of RFC 1035, as for services.
fn is_label(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 63
        && name.bytes().all(allowed)
        && name.starts_with(|character: char| character.is_ascii_lowercase())
        && !name.ends_with('-')
}
