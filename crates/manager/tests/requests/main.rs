//! Test requests that are answered late or never: real clients of the fake API server, behind HTTP with faults.
//!
//! The tests use tokio's paused time, which jumps to the next timer whenever nothing else can run.

mod gone;
mod limits;
mod retries;
mod stub;

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta},
};
use kube::CustomResource;
use manager::{Action, Manager};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

/// A limit on the waits of the tests, in the time of the test.
pub(crate) const SOON: Duration = Duration::from_secs(600);

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus"
)]
pub(crate) struct CaptainSpec {}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaptainStatus {
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
    pub(crate) observed_generation: Option<i64>,
}

pub(crate) fn captain(name: &str) -> Captain {
    Captain::new(name, CaptainSpec {})
}

pub(crate) fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// Makes each captain ready.
pub(crate) fn ready(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(async |_: Arc<Captain>, cx: manager::Context<Captain>| {
            cx.ready("Done", "all is well");
            Ok(Action::await_change())
        });
}

pub(crate) fn is_ready(stub: &stub::Stub, name: &str) -> bool {
    let captain = stub.api.get::<Captain>("default", name);
    let status = captain.and_then(|captain| captain.status);
    status.is_some_and(|status| kbr_testing::is_ready(&status.conditions))
}

/// Runs a manager until the handle is aborted.
pub(crate) fn run(mut manager: Manager) -> JoinHandle<anyhow::Result<()>> {
    tokio::spawn(async move { manager.run_until(std::future::pending()).await })
}
