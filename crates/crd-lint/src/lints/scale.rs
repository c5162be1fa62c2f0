//! The `scale` subresource.

use serde_json::Value;

use crate::definition::schema;
use crate::lint::Hit;
use crate::path;

/// Checks that the paths of the `scale` subresource are fields of `spec` or `status`.
pub fn check(version: &Value, found: &mut Vec<Hit>) {
    let scale = &version["subresources"]["scale"];
    if scale.is_null() {
        return;
    }
    let rules: [(&str, &str, &[&str], bool); 3] = [
        ("specReplicasPath", "spec_replicas_path", &[".spec."], true),
        (
            "statusReplicasPath",
            "status_replicas_path",
            &[".status."],
            true,
        ),
        (
            "labelSelectorPath",
            "label_selector_path",
            &[".spec.", ".status."],
            false,
        ),
    ];
    let schema = schema(version);
    for (key, attribute, starts, required) in rules {
        let path = scale[key].as_str().unwrap_or_default();
        if path.is_empty() && !required {
            continue;
        }
        if !starts.iter().any(|start| path.starts_with(start)) {
            let text = format!("`scale`: `{path}` is not below `{}`", starts.join("` or `"));
            found.push(Hit::new(
                "",
                text,
                format!("change `{attribute}` in `#[kube(scale(…))]`"),
            ));
        } else if let Some(unknown) = path::unknown(schema, path, &format!("`scale` path `{path}`"))
        {
            found.push(Hit::new(
                "",
                unknown.message,
                format!("change `{attribute}` in `#[kube(scale(…))]`"),
            ));
        }
    }
}
