//! Deletes the objects of the operator's kinds, so that the operator cleans up what it made for them elsewhere.

use serde_json::{Value, json};

use kbr_envtest::client::Client;

const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// An object of one of the operator's kinds.
#[derive(Debug)]
pub struct Found {
    path: String,
    /// `<plural> [<namespace>/]<name>`.
    name: String,
    /// Whether the operator is to clean up first.
    has_finalizers: bool,
}

/// The objects of the kinds that these CRDs define.
pub fn find(client: &Client, definitions: &[Value]) -> anyhow::Result<Vec<Found>> {
    let mut all = Vec::new();
    for definition in definitions {
        let Some((root, plural)) = collection(definition) else {
            continue;
        };
        let list = client.find(&format!("{root}/{plural}"), METADATA)?;
        let items = list.as_ref().and_then(|list| list["items"].as_array());
        let found = items.into_iter().flatten();
        all.extend(found.map(|object| Found::of(&object["metadata"], &root, plural)));
    }
    Ok(all)
}

/// Deletes these objects: those with finalizers stay until the operator has removed these.
pub fn delete(client: &Client, objects: &[Found]) -> anyhow::Result<()> {
    let options = json!({ "propagationPolicy": "Background" });
    let deleted = objects.iter().map(|it| client.delete(&it.path, &options));
    deleted.collect()
}

/// The names of those whose clean-ups are still to come.
pub fn unfinished(objects: &[Found]) -> Vec<&str> {
    let unfinished = objects.iter().filter(|object| object.has_finalizers);
    unfinished.map(|object| object.name.as_str()).collect()
}

/// The path of the first version of a kind that is served, and the plural of the kind.
fn collection(definition: &Value) -> Option<(String, &str)> {
    let spec = &definition["spec"];
    let mut versions = spec["versions"].as_array()?.iter();
    let version = versions.find(|version| version["served"] == true)?;
    let (group, version) = (spec["group"].as_str()?, version["name"].as_str()?);
    let plural = spec["names"]["plural"].as_str()?;
    Some((format!("/apis/{group}/{version}"), plural))
}

impl Found {
    fn of(metadata: &Value, root: &str, plural: &str) -> Self {
        let name = metadata["name"].as_str().unwrap_or_default();
        let (path, name) = match metadata["namespace"].as_str() {
            Some(namespace) => (
                format!("{root}/namespaces/{namespace}/{plural}/{name}"),
                format!("{plural} {namespace}/{name}"),
            ),
            None => (
                format!("{root}/{plural}/{name}"),
                format!("{plural} {name}"),
            ),
        };
        let finalizers = metadata["finalizers"].as_array();
        Self {
            path,
            name,
            has_finalizers: finalizers.is_some_and(|all| !all.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_a_version_that_is_served() {
        let definition = json!({ "spec": {
            "group": "crew.io", "names": { "plural": "captains" },
            "versions": [{ "name": "v1", "served": false }, { "name": "v2", "served": true }],
        } });
        let (root, plural) = collection(&definition).unwrap();
        assert_eq!((root.as_str(), plural), ("/apis/crew.io/v2", "captains"));
        let of = |metadata: Value| Found::of(&metadata, &root, plural);
        let nemo = of(json!({ "name": "nemo", "namespace": "a", "finalizers": ["crew.io/f"] }));
        let path = "/apis/crew.io/v2/namespaces/a/captains/nemo";
        assert_eq!(
            (nemo.path.as_str(), nemo.name.as_str()),
            (path, "captains a/nemo")
        );
        let ahab = of(json!({ "name": "ahab" }));
        assert_eq!(ahab.path, "/apis/crew.io/v2/captains/ahab");
        assert_eq!(unfinished(&[nemo, ahab]), ["captains a/nemo"]);
    }
}
