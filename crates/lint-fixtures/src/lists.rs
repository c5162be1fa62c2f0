//! Lists that server-side apply cannot merge.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

crate::fixtures!(
    OptionalKey,
    UnknownKey,
    ObjectKey,
    ScalarsByKey,
    SetOfObjects,
    SetOfOptions,
    ListTypeOfMap,
    Conditions,
    SetOfAtomicObjects,
);

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "OptionalKey",
    plural = "optionalkeys",
    namespaced
)]
pub struct OptionalKeySpec {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub ports: Vec<Port>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Port {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub number: i32,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "UnknownKey",
    plural = "unknownkeys",
    namespaced
)]
pub struct UnknownKeySpec {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["nmae".into()]))]
    pub ports: Vec<Port>,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "ObjectKey",
    plural = "objectkeys",
    namespaced
)]
pub struct ObjectKeySpec {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["inner".into()]))]
    pub entries: Vec<Entry>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Entry {
    pub inner: Port,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "ScalarsByKey",
    plural = "scalarsbykeys",
    namespaced
)]
pub struct ScalarsByKeySpec {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub names: Vec<String>,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "SetOfObjects",
    plural = "setofobjectss",
    namespaced
)]
pub struct SetOfObjectsSpec {
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub ports: Vec<Port>,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "SetOfOptions",
    plural = "setofoptionss",
    namespaced
)]
pub struct SetOfOptionsSpec {
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub names: Vec<Option<String>>,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "ListTypeOfMap",
    plural = "listtypeofmaps",
    namespaced
)]
pub struct ListTypeOfMapSpec {
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub labels: BTreeMap<String, String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Conditions",
    plural = "conditionss",
    namespaced,
    status = "ConditionsStatus"
)]
pub struct ConditionsSpec {
    pub name: String,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct ConditionsStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "SetOfAtomicObjects",
    plural = "setofatomicobjectss",
    namespaced
)]
pub struct SetOfAtomicObjectsSpec {
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub hosts: Vec<Host>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Host {
    pub name: String,
}
