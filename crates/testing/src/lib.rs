//! Tests for operators on kbr-manager: a fake API server for unit tests, and helpers for integration tests on a real one.
//!
//! ```
//! use std::sync::Arc;
//!
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kbr_testing::FakeApi;
//! use manager::{Action, Context, Manager};
//!
//! fn register(manager: &mut Manager) {
//!     manager.controller::<ConfigMap>("greeter").reconcile(greet);
//! }
//!
//! async fn greet(map: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
//!     let mut greeting = ConfigMap::default();
//!     greeting.metadata.name = Some(format!("{}-greeting", cx.key().name()));
//!     greeting.data = map.data.clone();
//!     cx.apply(&greeting).await?;
//!     Ok(Action::await_change())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let api = FakeApi::new();
//! let mut captain = ConfigMap::default();
//! captain.metadata.name = Some("captain".to_owned());
//! api.put(&captain);
//! api.reconcile(register, "default/captain").await?;
//! assert!(api.get::<ConfigMap>("default", "captain-greeting").is_some());
//! # Ok(())
//! # }
//! ```
//!
//! | To test | Use |
//! |---|---|
//! | one reconcile | [`FakeApi::reconcile`] |
//! | a manager that runs, events included | [`FakeApi::run`], [`eventually`] |
//! | an operator against faults | `simulate`, with the feature `simulate` |
//! | a webhook or a conversion | [`FakeApi::admit`], [`FakeApi::convert`], [`round_trip`] |
//! | the operator as a process, on a real API server | [`Cluster`], [`Operator`], [`Kubelet`] |
//!
//! # Let an hour pass
//!
//! ```
//! # use std::{sync::atomic::{AtomicUsize, Ordering}, time::Duration};
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kbr_testing::FakeApi;
//! # use manager::{Action, Manager};
//! # const MINUTE: Duration = Duration::from_secs(60);
//! # const HOUR: Duration = Duration::from_secs(3600);
//! # static STRIKES: AtomicUsize = AtomicUsize::new(0);
//! # fn strikes() -> usize { STRIKES.load(Ordering::SeqCst) }
//! # fn register(manager: &mut Manager) {
//! #     manager.controller::<ConfigMap>("clock").reconcile(async |_, _| {
//! #         STRIKES.fetch_add(1, Ordering::SeqCst);
//! #         Ok(Action::requeue(HOUR))
//! #     });
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! # let mut clock = ConfigMap::default();
//! # clock.metadata.name = Some("clock".to_owned());
//! let api = FakeApi::new();
//! api.put(&clock);
//! let mut run = api.run(register)?; // its reconcile strikes, and returns `Action::requeue(HOUR)`
//! run.idle().await?;
//! assert_eq!(strikes(), 1);
//! api.advance(59 * MINUTE);
//! run.idle().await?;
//! assert_eq!(strikes(), 1);
//! api.advance(MINUTE);
//! run.idle().await?;
//! assert_eq!(strikes(), 2);
//! # Ok(())
//! # }
//! ```

// In a project this crate is a path dependency, and cargo does not cap the lints of those: a newer compiler could
// print new warnings. Only kbr itself runs clippy on it, with all lints.
#![cfg_attr(not(clippy), allow(warnings))]

mod admission;
mod cluster;
mod configurations;
mod deployment;
mod fake;
mod invented;
mod jobs;
mod kubelet;
mod noticed;
mod operator;
mod operators;
mod pattern;
mod random;
mod relay;
mod round_trip;
mod run;
mod service_account;
#[cfg(feature = "simulate")]
mod simulate;
mod turns;
mod webhooks;

#[cfg(feature = "simulate")]
use apiserver_fake::internals as server;
pub use apiserver_fake::{Admitted, ApiServer, Connection, Content, review};
use apiserver_rules::formats;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
pub use manager::is_ready;

#[cfg(feature = "simulate")]
pub use self::simulate::{
    External, Failure, Oracle, Simulation, Summary, simulate, simulate_client,
};
pub use self::{
    cluster::{Cluster, eventually},
    fake::FakeApi,
    jobs::JobEnd,
    kubelet::Kubelet,
    operator::Operator,
    round_trip::{round_trip, round_trip_with},
    run::Run,
};

/// The reason of a condition; `None` if there is not a condition of this type.
#[must_use]
pub fn reason<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a str> {
    let condition = conditions
        .iter()
        .find(|condition| condition.type_ == kind)?;
    Some(&condition.reason)
}
