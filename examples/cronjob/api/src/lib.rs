//! The API types of cronjob: one module for each group, containing one for each version.

use ::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use ::kube::CustomResourceExt;
// +kbr:scaffold:imports

pub mod batch;
// +kbr:scaffold:groups

/// Every `CustomResourceDefinition` of this crate, one for each version of each kind.
#[must_use]
#[allow(clippy::too_many_lines)] // one line for each kind and version
pub fn crds() -> Vec<CustomResourceDefinition> {
    let crds = &mut vec![
        batch::v1::CronJob::crd(),
        // +kbr:scaffold:crds
    ];
    // +kbr:scaffold:conversions
    std::mem::take(crds)
}
