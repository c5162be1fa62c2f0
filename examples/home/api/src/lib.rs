//! The API types of home: one module for each group, containing one for each version.

use crate::conversion::Spoke;
use ::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use ::kube::CustomResourceExt;
// +kbr:scaffold:imports

pub mod ajd;
pub mod conversion;
// +kbr:scaffold:groups

/// Every `CustomResourceDefinition` of this crate, one for each version of each kind.
#[must_use]
#[allow(clippy::too_many_lines)] // one line for each kind and version
pub fn crds() -> Vec<CustomResourceDefinition> {
    let crds = &mut vec![
        ajd::v1::Home::crd(),
        ajd::v2::Home::crd(),
        // +kbr:scaffold:crds
    ];
    ajd::v1::Home::spoke(crds);
    // +kbr:scaffold:conversions
    std::mem::take(crds)
}
