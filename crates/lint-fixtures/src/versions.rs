//! Versions that the API server rejects together.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Both versions are storage versions, the default of the derive macro.
#[must_use]
pub fn two_stored() -> [CustomResourceDefinition; 2] {
    [v1::TwoStored::crd(), v2::TwoStored::crd()]
}

/// A kind without served versions.
#[must_use]
pub fn unserved() -> [CustomResourceDefinition; 1] {
    [v1::Unserved::crd()]
}

/// A kind without a storage version.
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
