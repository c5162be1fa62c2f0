//! The API types of captains: one module for each group, containing one for each version.

use crate::conversion::Spoke;
use ::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use ::kube::CustomResourceExt;
// +kbr:scaffold:imports

pub mod conversion;
pub mod crew;
// +kbr:scaffold:groups

/// Every `CustomResourceDefinition` of this crate, one for each version of each kind.
#[must_use]
#[allow(clippy::too_many_lines)] // one line for each kind and version
pub fn crds() -> Vec<CustomResourceDefinition> {
    let crds = &mut vec![
        crew::v1::Captain::crd(),
        crew::v2::Captain::crd(),
        // +kbr:scaffold:crds
    ];
    crew::v1::Captain::spoke(crds);
    // +kbr:scaffold:conversions
    std::mem::take(crds)
}
