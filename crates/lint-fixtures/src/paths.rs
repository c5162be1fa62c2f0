//! Invalid names and paths in `#[kube(…)]`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::fixtures!(
    Columns,
    HiddenColumns,
    Selectable,
    Scaled,
    Names,
    Deprecated,
    SelectableBare
);

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Columns",
    plural = "columnss",
    namespaced,
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.imgae"),
    printcolumn(name = "Size", type_ = "text", json_path = ".spec.image"),
    printcolumn(name = "Bare", type_ = "date", json_path = "spec.image")
)]
pub struct ColumnsSpec {
    pub image: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "HiddenColumns",
    plural = "hiddencolumnss",
    namespaced,
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.{image}")
)]
pub struct HiddenColumnsSpec {
    pub image: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Selectable",
    plural = "selectables",
    namespaced,
    selectable = ".spec.imgae",
    selectable = ".spec.ports",
    selectable = ".metadata.name"
)]
pub struct SelectableSpec {
    pub image: String,
    pub ports: Vec<i32>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Scaled",
    plural = "scaleds",
    namespaced,
    status = "ScaledStatus",
    scale(
        spec_replicas_path = ".spec.replica",
        status_replicas_path = ".spec.replicas"
    )
)]
pub struct ScaledSpec {
    pub replicas: i32,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct ScaledStatus {
    pub replicas: i32,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Names",
    plural = "namess",
    namespaced,
    shortname = "Bad_Name",
    category = "All"
)]
pub struct NamesSpec {
    pub image: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Deprecated",
    plural = "deprecateds",
    namespaced,
    deprecated = ""
)]
pub struct DeprecatedSpec {
    pub image: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "SelectableBare",
    plural = "selectablebares",
    namespaced,
    selectable = "spec.image"
)]
pub struct SelectableBareSpec {
    pub image: String,
}
