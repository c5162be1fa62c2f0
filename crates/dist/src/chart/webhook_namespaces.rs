//! The namespaces of the objects that go through the webhooks of a release: with several releases, each has its own.

use serde_json::{Value, json};

use super::schemas;
use super::tokens::conditional;
use super::values::Row;

const VALUE: &str = "webhook.namespaces";
const MARK: &str = "kbrWebhookNamespacesKbr";

/// Gives each webhook without a namespace selector one. Returns whether there is such a webhook.
pub fn mark(object: &mut Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    if !matches!(
        kind,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"
    ) {
        return false;
    }
    let mut marked = false;
    for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
        if webhook.get("namespaceSelector").is_none() {
            webhook["namespaceSelector"] = json!(MARK);
            marked = true;
        }
    }
    marked
}

/// Replaces what [`mark`] wrote with actions of a template.
pub fn expand(text: &str) -> String {
    let selector = format!(
        "{{{{ dict \"matchExpressions\" (list (dict \"key\" \"kubernetes.io/metadata.name\" \"operator\" \"In\" \"values\" .Values.{VALUE})) | toJson }}}}"
    );
    conditional(text, MARK, &format!(".Values.{VALUE}"), &selector)
}

/// The value of the chart.
pub fn row() -> Row {
    let about = "Only objects in these namespaces go through the webhooks of this release; those in all, if it is empty";
    Row::new(VALUE, json!([]), schemas::namespaces(), about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_of_the_project_is_left_alone() {
        let kind = "MutatingWebhookConfiguration";
        let own = json!({ "name": "a", "namespaceSelector": {} });
        let mut object = json!({ "kind": kind, "webhooks": [own, { "name": "b" }] });
        assert!(mark(&mut object));
        assert_eq!(
            object["webhooks"],
            json!([own, { "name": "b", "namespaceSelector": MARK }])
        );
        assert!(!mark(&mut json!({ "kind": kind, "webhooks": [own] })));
        assert!(!mark(&mut json!({ "kind": "Service" })));
    }

    #[test]
    fn the_line_exists_only_with_namespaces() {
        let lines = expand(&format!("- name: b\n  namespaceSelector: {MARK}\n"));
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines[1], "{{- if .Values.webhook.namespaces }}");
        assert!(
            lines[2].starts_with("  namespaceSelector: {{ dict "),
            "{lines:?}"
        );
        assert_eq!(lines[3], "{{- end }}");
    }
}
