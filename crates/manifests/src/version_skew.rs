//! Finds versions of a kind that differ although nothing converts between them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::crd::Crd;
use super::problem::Problem;
use kbr_host::lines::Lines;

/// Whether a comment allows the field of a version (first) at a path (second) to differ from the other versions.
pub type Allowed<'a> = dyn Fn(&str, &str) -> bool + 'a;

/// A warning if served versions have different fields: which are lost, and when. `hub` is the hub version that PROJECT records for
/// the conversion of the kind.
pub fn lost_fields(
    crd: &Crd,
    domain: &str,
    hub: Option<&str>,
    allowed: &Allowed,
) -> Option<Problem> {
    if crd.object["spec"]["conversion"]["strategy"] == json!("Webhook") {
        return None;
    }
    let versions = crd.versions();
    let stored = versions
        .iter()
        .find(|version| version["storage"] == json!(true))?;
    let served = versions
        .iter()
        .filter(|version| version["served"] == json!(true));
    let others: Vec<&Value> = served.filter(|version| *version != stored).collect();
    let lost: Vec<String> = others
        .iter()
        .flat_map(|other| differences(stored, other, allowed))
        .collect();
    if lost.is_empty() {
        return None;
    }
    let text = format!(
        "versions of `{}` of group `{}` differ, but nothing converts them",
        crd.kind, crd.group
    );
    let again = match hub {
        Some(_) => {
            "PROJECT records a conversion, but `crds()` in `api/src/lib.rs` does not set it up; restore it: "
        }
        None => "",
    };
    let hub = hub.or(stored["name"].as_str()).unwrap_or_default();
    let names = others.iter().chain([&stored]);
    let mut spokes: Vec<&str> = names
        .filter_map(|version| version["name"].as_str())
        .filter(|name| *name != hub)
        .collect();
    spokes.sort_unstable();
    let group = crd.group.strip_suffix(&format!(".{domain}"));
    let help = format!(
        "{again}`kbr create webhook --group {} --version {hub} --kind {} --conversion --spoke {}`; or give them the same fields; or serve only one (`served = false` in `#[kube(…)]` of the others); or, if a difference is intended, write above the field `// +kbr:lint:allow=versions`",
        group.unwrap_or(&crd.group),
        crd.kind,
        spokes.join(",")
    );
    let lost: Lines = lost.iter().collect();
    Some(Problem::new(text).below(lost).help(help))
}

/// One line for each difference.
fn differences(stored: &Value, other: &Value, allowed: &Allowed) -> Vec<String> {
    let [new, old] = [stored, other].map(|version| version["name"].as_str().unwrap_or_default());
    let [here, there] =
        [stored, other].map(|version| fields(&version["schema"]["openAPIV3Schema"]));
    let reported = |path: &str| !(allowed(new, path) || allowed(old, path));
    let mut lines = Vec::new();
    for (path, kind) in here.iter().filter(|(path, _)| reported(path)) {
        match there.get(path) {
            Some(same) if same == kind => {}
            Some(theirs) => lines.push(format!(
                "  `{path}`: `{kind}` in `{new}`, `{theirs}` in `{old}`"
            )),
            None if parent_is_in(path, &there) => {
                lines.push(format!(
                    "  `{path}` is not in `{old}`: lost when an object is written in that version"
                ));
            }
            None => {}
        }
    }
    let only_there = there
        .keys()
        .filter(|path| !here.contains_key(*path) && parent_is_in(path, &here))
        .filter(|path| reported(path));
    lines
        .extend(only_there.map(|path| {
            format!("  `{path}` is not in `{new}`, the storage version: never stored")
        }));
    lines
}

/// Only the outermost field that differs is reported, not its fields.
fn parent_is_in(path: &str, fields: &BTreeMap<String, String>) -> bool {
    let parent = path.rfind(['.', '[']).map_or("", |end| &path[..end]);
    parent.is_empty() || fields.contains_key(parent)
}

/// Every field with its type: `.spec.tags` `array`, `.spec.tags[]` `string`.
fn fields(schema: &Value) -> BTreeMap<String, String> {
    fn walk(path: &str, schema: &Value, found: &mut BTreeMap<String, String>) {
        if !path.is_empty() {
            let kind = if schema["x-kubernetes-int-or-string"] == json!(true) {
                &json!("string or integer")
            } else {
                &schema["type"]
            };
            found.insert(path.to_owned(), kind.as_str().unwrap_or("value").to_owned());
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{name}"), field, found);
        }
        for (key, sign) in [("items", "[]"), ("additionalProperties", "[*]")] {
            if schema[key].is_object() {
                walk(&format!("{path}{sign}"), &schema[key], found);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk("", schema, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "image": { "type": "string" },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            } },
            "status": { "type": "object", "properties": {
                "conditions": { "type": "array", "items": { "type": "object", "properties": {
                    "type": { "type": "string" }, "status": { "type": "string" },
                } } },
            } },
        } })
    }

    fn crd(second: &Value, served: bool) -> Crd {
        let version = |name: &str, storage: bool, served: bool, schema: &Value| json!({ "name": name, "served": served, "storage": storage, "schema": { "openAPIV3Schema": schema } });
        let versions = [
            version("v2", true, true, &schema()),
            version("v1", false, served, second),
        ];
        Crd {
            group: "x.io".to_owned(),
            kind: "Ship".to_owned(),
            plural: "ships".to_owned(),
            object: json!({ "spec": { "versions": versions } }),
        }
    }

    #[test]
    fn fields_of_only_one_version_are_reported() {
        let mut second = schema();
        let spec = second["properties"]["spec"]["properties"]
            .as_object_mut()
            .unwrap();
        spec.insert(
            "old".to_owned(),
            json!({ "type": "object", "properties": { "deep": { "type": "string" } } }),
        );
        spec.insert("image".to_owned(), json!({ "type": "integer" }));
        second["properties"]
            .as_object_mut()
            .unwrap()
            .remove("status");
        let warning = lost_fields(&crd(&second, true), "io", None, &|_, _| false)
            .unwrap()
            .to_string();
        let expected = "versions of `Ship` of group `x.io` differ, but nothing converts them
    `.spec.image`: `string` in `v2`, `integer` in `v1`
    `.status` is not in `v1`: lost when an object is written in that version
    `.spec.old` is not in `v2`, the storage version: never stored
    help: `kbr create webhook --group x --version v2 --kind Ship --conversion --spoke v1`; ";
        assert!(warning.starts_with(expected), "{warning}");
        let again = lost_fields(&crd(&second, true), "io", Some("v1"), &|_, _| false);
        let again = again.unwrap().to_string();
        let expected = "restore it: `kbr create webhook --group x --version v1 --kind Ship --conversion --spoke v2`";
        assert!(again.contains(expected), "{again}");
        let allowed = |version: &str, path: &str| match version {
            "v1" => path.starts_with(".spec.old"),
            _ => [".spec.image", ".status"].contains(&path),
        };
        assert_eq!(lost_fields(&crd(&second, true), "io", None, &allowed), None);
    }

    #[test]
    fn equal_unserved_and_converted_versions_are_accepted() {
        assert_eq!(
            lost_fields(&crd(&schema(), true), "io", None, &|_, _| false),
            None
        );
        assert_eq!(
            lost_fields(&crd(&json!({}), false), "io", None, &|_, _| false),
            None
        );
        let mut converted = crd(&json!({}), true);
        converted.object["spec"]["conversion"] = json!({ "strategy": "Webhook" });
        assert_eq!(lost_fields(&converted, "io", None, &|_, _| false), None);
    }
}
