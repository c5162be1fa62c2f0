//! The API types of tsi-controller: one module for each group, containing one for each version.

use ::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use ::kube::CustomResourceExt;
// +kbr:scaffold:imports

pub mod tsi;
// +kbr:scaffold:groups

/// Every `CustomResourceDefinition` of this crate, one for each version of each kind.
#[must_use]
#[allow(clippy::too_many_lines)] // one line for each kind and version
pub fn crds() -> Vec<CustomResourceDefinition> {
    let crds = &mut vec![
        tsi::v1alpha1::IPPool::crd(),
        tsi::v1alpha1::IPClaim::crd(),
        tsi::v1alpha1::IPAllocation::crd(),
        // +kbr:scaffold:crds
    ];
    // +kbr:scaffold:conversions
    std::mem::take(crds)
}
