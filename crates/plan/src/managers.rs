//! The managed fields of an object -> who has written a field.

use std::collections::BTreeSet;

use serde_json::Value;

use super::difference::{KEYS, joined};
use super::discovery::{list, text};

/// The field managers of an object, each with the paths that it owns, as [`super::difference`] writes them.
#[derive(Debug, Default)]
pub struct Managers(Vec<(String, BTreeSet<String>)>);

impl Managers {
    /// Those in the text of managed fields; none if it is empty.
    #[must_use]
    pub fn parse(managed: &str) -> Self {
        let entries: Value = serde_json::from_str(managed).unwrap_or_default();
        let entry = |it: &Value| {
            let mut paths = BTreeSet::new();
            walk(&it["fieldsV1"], "", &mut paths);
            (text(&it["manager"]).to_owned(), paths)
        };
        Self(list(&entries).map(entry).collect())
    }

    /// Who owns a part of the field, or all of a field around it.
    #[must_use]
    pub fn of(&self, path: &str) -> BTreeSet<&str> {
        let mut names = self.owning(|it| it == path || is_below(it, path));
        let mut around = path;
        while names.is_empty() {
            let Some(parent) = parent(around) else { break };
            around = parent;
            names = self.owning(|it| it == around);
        }
        names
    }

    fn owning(&self, is_owned: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let owning = self.0.iter();
        let owning = owning.filter(|(_, paths)| paths.iter().any(|it| is_owned(it)));
        owning.map(|(name, _)| name.as_str()).collect()
    }
}

/// Source: `sigs.k8s.io/structured-merge-diff/fieldpath/serialize-pe.go`.
fn walk(fields: &Value, path: &str, paths: &mut BTreeSet<String>) {
    for (step, below) in fields.as_object().into_iter().flatten() {
        let path = match step.split_once(':') {
            Some(("f", key)) => joined(path, key),
            Some(("k", keys)) => {
                let keys: Value = serde_json::from_str(keys).unwrap_or_default();
                let key = KEYS.iter().find_map(|key| Some((key, keys.get(key)?)));
                match key {
                    Some((_, Value::String(name))) => format!("{path}[{name}]"),
                    Some((_, name)) => format!("{path}[{name}]"),
                    None => path.to_owned(),
                }
            }
            // An element of a set is shown with the whole set.
            Some(("v" | "i", _)) => path.to_owned(),
            _ => continue,
        };
        if below.as_object().is_none_or(serde_json::Map::is_empty) {
            paths.insert(path);
        } else {
            walk(below, &path, paths);
        }
    }
}

/// Whether the path leads to a field below another one.
#[must_use]
pub fn is_below(path: &str, field: &str) -> bool {
    let rest = path.strip_prefix(field);
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

fn parent(path: &str) -> Option<&str> {
    let end = if let Some(quoted) = path.strip_suffix('"') {
        quoted.rfind('"')?.checked_sub(1)?
    } else if path.ends_with(']') {
        path.rfind('[')?
    } else {
        path.rfind('.')?
    };
    Some(&path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_owned_by_who_owns_it_a_part_of_it_or_all_around_it() {
        let container =
            json!({ "k:{\"name\":\"helm\"}": { ".": {}, "f:image": {}, "f:args": {} } });
        let ports = json!({ "k:{\"port\":80,\"protocol\":\"TCP\"}": { "f:port": {} } });
        let managed = json!([
            { "manager": "crew/captain", "fieldsV1": { "f:spec": { "f:containers": container, "f:ports": ports } } },
            { "manager": "kubectl", "fieldsV1": { "f:spec": { "f:replicas": {} }, "f:metadata": {
                "f:annotations": { ".": {}, "f:crew.example.com/x": {} }, "f:finalizers": { "v:\"a\"": {} },
            } } },
        ]);
        let managers = Managers::parse(&managed.to_string());
        for (path, expected) in [
            ("spec.containers[helm].image", &["crew/captain"][..]),
            ("spec.containers[helm]", &["crew/captain"]),
            ("spec.containers[helm].args[0]", &["crew/captain"]),
            ("spec.containers[helm].command", &[]),
            ("spec.replicas", &["kubectl"]),
            ("spec.replicasets", &[]),
            ("metadata.annotations.\"crew.example.com/x\"", &["kubectl"]),
            ("metadata.annotations.\"crew.example.com/y\"", &[]),
            ("metadata.finalizers[0]", &["kubectl"]),
            ("spec", &["crew/captain", "kubectl"]),
        ] {
            let found: Vec<&str> = managers.of(path).into_iter().collect();
            assert_eq!(found, expected, "{path}");
        }
        assert!(Managers::parse("").of("spec").is_empty());
    }
}
