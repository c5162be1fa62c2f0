//! Versions that no API server takes together.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Both versions are stored, which is what derives do unless told otherwise.
#[must_use]
pub fn two_stored() -> [CustomResourceDefinition; 2] {
    [v1::TwoStored::crd(), v2::TwoStored::crd()]
}

/// A kind that nobody can read or write.
#[must_use]
pub fn unserved() -> [CustomResourceDefinition; 1] {
    [v1::Unserved::crd()]
}

/// No version is stored.
#[must_use]
pub fn unstored() -> [CustomResourceDefinition; 1] {
    [v1::Unstored::crd()]
}

pub mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "lint.example.com",
        version = "v1",
        kind = "TwoStored",
        plural = "twostoreds",
        namespaced
    )]
    pub struct TwoStoredSpec {
        pub name: String,
    }

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "lint.example.com",
        version = "v1",
        kind = "Unserved",
        plural = "unserveds",
        namespaced,
        served = false
    )]
    pub struct UnservedSpec {
        pub name: String,
    }

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "lint.example.com",
        version = "v1",
        kind = "Unstored",
        plural = "unstoreds",
        namespaced,
        storage = false
    )]
    pub struct UnstoredSpec {
        pub name: String,
    }
}

pub mod v2 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "lint.example.com",
        version = "v2",
        kind = "TwoStored",
        plural = "twostoreds",
        namespaced
    )]
    pub struct TwoStoredSpec {
        pub name: String,
    }
}
