//! What a version serves next to its objects.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rule::Break;

/// Subresources that are gone, or work differently.
pub fn subresources(old: &Value, new: &Value, found: &mut Vec<Break>) {
    let (before, now) = (&old["subresources"], &new["subresources"]);
    for name in ["status", "scale"] {
        if !before[name].is_null() && now[name].is_null() {
            let text = format!("the subresource `{name}` was removed: requests for it fail");
            let help = match name {
                "status" => "keep `status` in `#[kube(…)]`",
                _ => "keep `scale(…)` in `#[kube(…)]`: autoscalers use it",
            };
            found.push(Break::new("", text, help));
        }
    }
    if before["status"].is_null() && !now["status"].is_null() {
        let text = "`status` is now a subresource: writes of the whole object ignore it";
        let help = "write the status through the subresource: `patch_status`, `kubectl --subresource=status`";
        found.push(Break::new("", text, help).tolerated_if(true));
    }
    let (before, now) = (&before["scale"], &now["scale"]);
    if before.is_object() && now.is_object() && before != now {
        let text = "the paths of `scale` changed: requests fail for objects without those fields, or change other fields";
        let help = "keep the paths: autoscalers rely on them";
        found.push(Break::new("", text, help));
    }
}

/// Fields by which clients can no longer filter.
pub fn selectable(old: &Value, new: &Value, found: &mut Vec<Break>) {
    let now: BTreeSet<&str> = paths(new).collect();
    for path in paths(old).filter(|path| !now.contains(path)) {
        let text = "the field is not selectable now: requests that filter by it fail";
        let help = format!("keep `selectable = \"{path}\"` in `#[kube(…)]`");
        found.push(Break::new(path, text, help));
    }
}

fn paths(version: &Value) -> impl Iterator<Item = &str> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.filter_map(|field| field["jsonPath"].as_str())
}
