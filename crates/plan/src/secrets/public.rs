//! What stays in a clone even if it contains the value of a Secret: names, and what selects by name. Replacing them would separate objects
//! that refer to each other, or make an object another one.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::cloned::{Cloned, Kind};

/// The fields of an object that are not changed.
pub const IDENTITY: [&str; 2] = ["apiVersion", "kind"];
/// The fields of `metadata` that are not changed.
pub const METADATA: [&str; 11] = [
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "labels",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// The fields that are not changed at any depth: labels, and what selects by them.
pub const SELECTORS: [&str; 6] = [
    "labelSelector",
    "labels",
    "matchExpressions",
    "matchLabels",
    "nodeSelector",
    "selector",
];

/// Values of the fields of Kubernetes' own kinds, and its verbs, of eight characters or more.
const WORDS: [&str; 40] = [
    "AllowVolumeExpansion",
    "Cluster",
    "ClusterFirst",
    "ClusterFirstWithHostNet",
    "ClusterIP",
    "DoNotSchedule",
    "ExternalName",
    "FallbackToLogsOnError",
    "Filesystem",
    "IfNotPresent",
    "Immediate",
    "IntOrString",
    "KubernetesCluster",
    "LoadBalancer",
    "Namespaced",
    "NoExecute",
    "NoSchedule",
    "NodePort",
    "NotIn",
    "OnDelete",
    "OnFailure",
    "OrderedReady",
    "Parallel",
    "PreferDualStack",
    "PreferNoSchedule",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
    "Recreate",
    "RequireDualStack",
    "RollingUpdate",
    "RuntimeDefault",
    "ScheduleAnyway",
    "SingleStack",
    "Unconfined",
    "WaitForFirstConsumer",
    "deletecollection",
    "kubernetes",
    "kubernetes.io",
];

/// Every string that stays as a whole: names, labels, and what [`words`] returns.
pub fn strings(cloned: &Cloned) -> HashSet<String> {
    let mut found = words(cloned);
    for object in cloned.kinds.iter().flat_map(|kind| &kind.objects) {
        if let Some(object) = object.as_object() {
            identity(object, &mut found);
        }
    }
    found
}

/// Kinds, what CRDs say of fields, and words of Kubernetes.
pub fn words(cloned: &Cloned) -> HashSet<String> {
    let mut found: HashSet<String> = WORDS.map(str::to_owned).into();
    for kind in &cloned.kinds {
        found.extend([&kind.group, &kind.version, &kind.plural, &kind.kind].map(Clone::clone));
        if is_definition(kind) {
            for object in &kind.objects {
                schema(object.get("spec"), &mut found);
            }
        }
    }
    found
}

/// Whether the objects are CRDs.
pub fn is_definition(kind: &Kind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
}

fn identity(object: &Map<String, Value>, found: &mut HashSet<String>) {
    for key in IDENTITY {
        all(object.get(key), found);
    }
    if let Some(Value::Object(metadata)) = object.get("metadata") {
        for key in METADATA {
            all(metadata.get(key), found);
        }
    }
}

fn all(value: Option<&Value>, found: &mut HashSet<String>) {
    match value {
        Some(Value::String(text)) => drop(found.insert(text.clone())),
        Some(Value::Array(list)) => list.iter().for_each(|it| all(Some(it), found)),
        Some(Value::Object(map)) => map.values().for_each(|it| all(Some(it), found)),
        _ => {}
    }
}

/// The names, defaults and enums of a CRD: whoever may read the definition knows them. Fields are keys.
fn schema(value: Option<&Value>, found: &mut HashSet<String>) {
    match value {
        Some(Value::String(text)) => drop(found.insert(text.clone())),
        Some(Value::Array(list)) => list.iter().for_each(|it| schema(Some(it), found)),
        Some(Value::Object(map)) => {
            for (key, value) in map {
                match key.as_str() {
                    "description" | "conversion" => {}
                    "properties" => {
                        found.extend(value.as_object().into_iter().flat_map(Map::keys).cloned());
                        schema(Some(value), found);
                    }
                    _ => schema(Some(value), found),
                }
            }
        }
        _ => {}
    }
}
