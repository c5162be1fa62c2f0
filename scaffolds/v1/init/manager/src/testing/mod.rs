//! For tests: an API server in memory, and helpers for tests on a real one. Behind the feature `testing`.

mod admission;
mod cluster;
pub(crate) mod fake;
mod kubelet;
mod operator;
mod random;
mod round_trip;
mod server;
mod webhooks;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub use self::{
    admission::{Admitted, review},
    cluster::{Cluster, eventually},
    fake::FakeApi,
    kubelet::Kubelet,
    operator::Operator,
    round_trip::round_trip,
};

/// Whether the condition `Ready` is `True`.
#[must_use]
pub fn is_ready(conditions: &[Condition]) -> bool {
    conditions
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The reason of a condition; `None` if there is none of this type.
#[must_use]
pub fn reason<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a str> {
    let condition = conditions
        .iter()
        .find(|condition| condition.type_ == kind)?;
    Some(&condition.reason)
}
