//! How the fields of an object merge: which lists are sets or have keys, and which objects are atomic.
//!
//! Source: `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type` in the API description of
//! Kubernetes 1.37, and in the definition of a custom resource. Without these, lists are atomic and objects are merged
//! field by field.

use serde_json::{Map, Value};

use super::kinds::Kind;

/// Keys of lists in Kubernetes' own kinds, by the last names of their path (a leading `.` stands for the root).
const LISTS: &[(&str, &[&str])] = &[
    (".conditions", &["type"]),
    (".secrets", &["name"]),
    (".webhooks", &["name"]),
    (
        "compositePodGroupTemplates.compositePodGroupTemplates",
        &["name"],
    ),
    ("compositePodGroupTemplates.podGroupTemplates", &["name"]),
    ("containers.env", &["name"]),
    ("containers.ports", &["containerPort", "protocol"]),
    ("containers.volumeDevices", &["devicePath"]),
    ("containers.volumeMounts", &["mountPath"]),
    ("devices.conditions", &["type"]),
    ("ephemeralContainers.env", &["name"]),
    ("ephemeralContainers.ports", &["containerPort", "protocol"]),
    ("ephemeralContainers.volumeDevices", &["devicePath"]),
    ("ephemeralContainers.volumeMounts", &["mountPath"]),
    ("healthStatus.healthConditions", &["status", "reason"]),
    ("initContainers.env", &["name"]),
    ("initContainers.ports", &["containerPort", "protocol"]),
    ("initContainers.volumeDevices", &["devicePath"]),
    ("initContainers.volumeMounts", &["mountPath"]),
    ("metadata.finalizers", &[]),
    ("metadata.ownerReferences", &["uid"]),
    ("nodeAllocatableResourceClaimStatuses.containers", &[]),
    ("nodeAllocatableResourceClaimStatuses.mapping", &["name"]),
    ("nodeAllocatableResourceClaimStatuses.overhead", &["name"]),
    ("podGroupTemplates.resourceClaims", &["name"]),
    ("podPreemptionPolicy.disableResizePreemption", &[]),
    ("resources.claims", &["name"]),
    ("scheduling.resourceClaims", &["name"]),
    ("spec.compositePodGroupTemplates", &["name"]),
    ("spec.containers", &["name"]),
    ("spec.drivers", &["name"]),
    ("spec.ephemeralContainers", &["name"]),
    ("spec.evictionResponders", &["name"]),
    ("spec.hostAliases", &["ip"]),
    ("spec.imagePullSecrets", &["name"]),
    ("spec.initContainers", &["name"]),
    ("spec.matchConditions", &["name"]),
    ("spec.podCIDRs", &[]),
    ("spec.podGroupTemplates", &["name"]),
    ("spec.ports", &["port", "protocol"]),
    ("spec.resourceClaims", &["name"]),
    ("spec.schedulingGates", &["name"]),
    ("spec.skipNodeOperations", &[]),
    (
        "spec.topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("spec.validationActions", &[]),
    ("spec.variables", &["name"]),
    ("spec.volumeLifecycleModes", &[]),
    ("spec.volumes", &["name"]),
    ("status.addresses", &["type"]),
    ("status.conditions", &["type"]),
    ("status.devices", &["driver", "device", "pool", "shareID"]),
    (
        "status.nodeAllocatableResourceClaimStatuses",
        &["resourceClaimName"],
    ),
    ("status.podIPs", &["ip"]),
    ("status.requesters", &["name"]),
    ("status.reservedFor", &["uid"]),
    ("status.resourceClaimStatuses", &["name"]),
    ("status.responders", &["name"]),
    ("status.storageHealth", &["name"]),
    ("status.storageVersions", &["apiServerID"]),
    ("status.targetResponders", &["name"]),
    ("status.volumeHealth", &["name"]),
    ("storageVersions.decodableVersions", &[]),
    ("storageVersions.servedVersions", &[]),
    ("uncountedTerminatedPods.failed", &[]),
    ("uncountedTerminatedPods.succeeded", &[]),
    ("volumeHealth.healthConditions", &["status", "reason"]),
    ("volumeMounts.bindMountOptions", &[]),
    ("webhooks.matchConditions", &["name"]),
];

/// Exceptions from [`LISTS`] and [`WHOLE`] for a path in one kind, or in a version of it.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "spec.scaleTargetRef",
    ),
    ("batch/v1", "Job", "status.conditions"),
    ("", "MutatingAdmissionPolicy", "spec.variables"),
];

/// Atomic objects in Kubernetes' own kinds, by the last names of their path.
const WHOLE: &[&str] = &[
    ".involvedObject",
    ".nodeTopology",
    ".regarding",
    ".related",
    ".roleRef",
    ".target",
    "allocation.nodeSelector",
    "cephfs.secretRef",
    "cinder.secretRef",
    "csi.controllerExpandSecretRef",
    "csi.controllerPublishSecretRef",
    "csi.nodeExpandSecretRef",
    "csi.nodePublishSecretRef",
    "csi.nodeStageSecretRef",
    "defaultBackend.resource",
    "evictionResponders.",
    "flexVolume.secretRef",
    "imagePullSecrets.",
    "inlineVolumeSpec.claimRef",
    "iscsi.secretRef",
    "nodeAffinity.required",
    "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    "ownerReferences.",
    "rbd.secretRef",
    "requesters.",
    "scaleIO.secretRef",
    "scheduling.nodeSelector",
    "secrets.",
    "service.port",
    "spec.claimRef",
    "spec.dataSource",
    "spec.matchConstraints",
    "spec.matchResources",
    "spec.nodeSelector",
    "spec.paramKind",
    "spec.paramRef",
    "spec.podSelector",
    "spec.scaleTargetRef",
    "spec.scopeSelector",
    "spec.selector",
    "storageos.secretRef",
    "targetResponders.",
    "topologySpreadConstraints.labelSelector",
    "valueFrom.configMapKeyRef",
    "valueFrom.fieldRef",
    "valueFrom.fileKeyRef",
    "valueFrom.resourceFieldRef",
    "valueFrom.secretKeyRef",
    "variables.",
    "webhooks.namespaceSelector",
    "webhooks.objectSelector",
];

/// How one value merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merges {
    /// As a whole (atomic).
    Whole,
    /// Field by field.
    Fields,
    /// A list of unique values.
    Set,
    /// A list of objects identified by these fields, each with its default.
    Keyed(Vec<(String, Option<Value>)>),
}

/// The known schema of a field.
#[derive(Clone, Debug)]
pub enum Shape<'a> {
    /// In a kind of Kubernetes: the kind, and the path with a `.` before each name.
    BuiltIn(&'a Kind, String),
    /// In the metadata of any object: the path.
    Meta(String),
    /// In a custom resource: the schema in its definition.
    Schema(&'a Value),
    /// The root of a custom resource, which has metadata.
    Custom(Option<&'a Value>),
    /// No schema: the values decide. `true` if field names count as declared.
    Unknown(bool),
}

impl<'a> Shape<'a> {
    /// The shape of a whole object.
    pub fn of(kind: &'a Kind) -> Self {
        if kind.built_in {
            Self::BuiltIn(kind, String::new())
        } else {
            Self::Custom(kind.schema.as_deref())
        }
    }

    /// How a value here merges. Either of two values may be missing, so both are passed.
    pub(super) fn merges(&self, values: [Option<&Value>; 2]) -> Merges {
        let is = |test: fn(&Value) -> bool| values.into_iter().flatten().any(test);
        let (object, list) = (is(Value::is_object), is(Value::is_array));
        match self {
            _ if object == list => Merges::Whole,
            Self::Unknown(_) => [Merges::Whole, Merges::Fields][usize::from(object)].clone(),
            Self::BuiltIn(kind, path) if list => built_in_list(Some(kind), path),
            Self::Meta(path) if list => built_in_list(None, path),
            Self::BuiltIn(kind, path) => built_in_object(Some(kind), path),
            Self::Meta(path) => built_in_object(None, path),
            Self::Schema(schema) if list => list_by_schema(schema),
            Self::Schema(schema) if schema["x-kubernetes-map-type"] == "atomic" => Merges::Whole,
            Self::Schema(_) | Self::Custom(_) => Merges::Fields,
        }
    }

    /// The shape of a field.
    pub(super) fn field(&self, name: &str) -> Self {
        match self {
            Self::BuiltIn(kind, path) => Self::BuiltIn(kind, format!("{path}.{name}")),
            Self::Meta(path) => Self::Meta(format!("{path}.{name}")),
            Self::Custom(_) if name == "metadata" => Self::Meta(".metadata".to_owned()),
            Self::Custom(Some(schema)) | Self::Schema(schema) => {
                if name == "metadata" && schema["x-kubernetes-embedded-resource"] == true {
                    return Self::Meta(".metadata".to_owned());
                }
                let declared = schema["properties"].get(name);
                let any = &schema["additionalProperties"];
                match declared.or(Some(any).filter(|any| any.is_object())) {
                    Some(schema) => Self::Schema(schema),
                    None => Self::Unknown(false),
                }
            }
            Self::Custom(None) => Self::Unknown(true),
            Self::Unknown(declared) => Self::Unknown(*declared),
        }
    }

    /// The shape of the items of a list.
    pub(super) fn item(&self) -> Self {
        match self {
            Self::BuiltIn(kind, path) => Self::BuiltIn(kind, format!("{path}.")),
            Self::Meta(path) => Self::Meta(format!("{path}.")),
            Self::Schema(schema) => Self::Schema(&schema["items"]),
            Self::Custom(_) => Self::Unknown(false),
            Self::Unknown(declared) => Self::Unknown(*declared),
        }
    }

    /// Whether the kind declares a field of this name, as opposed to the keys of a map.
    pub(super) fn declares(&self, name: &str) -> bool {
        match self {
            Self::BuiltIn(_, path) | Self::Meta(path) => {
                !MAPS.contains(&path.rsplit('.').next().unwrap_or_default())
            }
            Self::Custom(None) => true,
            Self::Custom(Some(schema)) => {
                ["apiVersion", "kind", "metadata"].contains(&name)
                    || schema["properties"].get(name).is_some()
            }
            Self::Schema(schema) => schema["properties"].get(name).is_some(),
            Self::Unknown(declared) => *declared,
        }
    }
}

/// Fields of Kubernetes' own kinds that are maps with arbitrary keys.
pub(super) const MAPS: &[&str] = &[
    "allocatable",
    "allocatedResources",
    "annotations",
    "binaryData",
    "capacity",
    "data",
    "hard",
    "labels",
    "limits",
    "parameters",
    "requests",
    "stringData",
    "used",
    "volumeAttributes",
];

/// The last two names of a path, `.` for a missing one; the last is empty for the items of a list.
fn tail(path: &str) -> String {
    let mut names: Vec<_> = path.split('.').collect();
    let last = names.pop().unwrap_or_default();
    let before = names.into_iter().rev().find(|name| !name.is_empty());
    format!("{}.{last}", before.unwrap_or_default())
}

fn is_exception(kind: Option<&Kind>, tail: &str) -> bool {
    kind.is_some_and(|kind| {
        EXCEPTIONS.iter().any(|(version, name, path)| {
            kind.name == *name && *path == tail && [kind.api_version.as_str(), ""].contains(version)
        })
    })
}

fn built_in_object(kind: Option<&Kind>, path: &str) -> Merges {
    let tail = tail(path);
    if WHOLE.contains(&tail.as_str()) && !is_exception(kind, &tail) {
        return Merges::Whole;
    }
    Merges::Fields
}

fn built_in_list(kind: Option<&Kind>, path: &str) -> Merges {
    let tail = tail(path);
    let found = LISTS.iter().find(|(path, _)| *path == tail);
    let Some((_, keys)) = found.filter(|_| !is_exception(kind, &tail)) else {
        return Merges::Whole;
    };
    if keys.is_empty() {
        return Merges::Set;
    }
    let default = |key: &str| (key == "protocol").then(|| Value::from("TCP"));
    Merges::Keyed(
        keys.iter()
            .map(|key| ((*key).to_owned(), default(key)))
            .collect(),
    )
}

fn list_by_schema(schema: &Value) -> Merges {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Merges::Set,
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array();
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            let fields = &schema["items"]["properties"];
            let default = |key: &str| fields[key].get("default").cloned();
            Merges::Keyed(keys.map(|key| (key.to_owned(), default(key))).collect())
        }
        _ => Merges::Whole,
    }
}

/// The fields that identify an item of a keyed list, sorted by name.
pub(super) fn keys_of(item: &Value, keys: &[(String, Option<Value>)]) -> Map<String, Value> {
    let value = |key: &String, default: &Option<Value>| {
        item.get(key)
            .filter(|value| !value.is_null())
            .cloned()
            .or(default.clone())
    };
    let mut found: Vec<_> = keys
        .iter()
        .filter_map(|(key, default)| Some((key.clone(), value(key, default)?)))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().collect()
}
