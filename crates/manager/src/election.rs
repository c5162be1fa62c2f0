//! Leader election for any program on kube: [`lead`] runs a function while this process holds a Lease, with a client
//! whose writes fail as soon as it may no longer lead.
//!
//! A [`Manager`](crate::Manager) does this by itself. A program that has a `kube::runtime::Controller` instead uses it alone:
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, Config, runtime::{Controller, watcher}};
//! use manager::election::{Election, lead};
//! # use std::{sync::Arc, time::Duration};
//! # use kube::{Client, runtime::controller::Action};
//! # async fn reconcile(_: Arc<ConfigMap>, _: Arc<Client>) -> kube::Result<Action> { Ok(Action::await_change()) }
//! # fn on_error(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<Client>) -> Action { Action::requeue(Duration::from_secs(5)) }
//!
//! # async fn run() -> anyhow::Result<()> {
//! let election = Election::new("captains-system", "captains.example.com", "captains-7d4f9_1");
//! lead(Config::infer().await?, election, async |client| {
//!     Controller::new(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
//!         .shutdown_on_signal()
//!         .run(reconcile, on_error, Arc::new(client))
//!         .for_each(async |_| ())
//!         .await;
//!     Ok(())
//! })
//! .await
//! # }
//! ```

use kube::{Client, Config};

pub use crate::leader::election::Election;
use crate::{
    connect::Clients,
    leader::{
        election::{Elector, lost},
        fence::Fence,
        watchdog,
    },
    metrics::Requests,
};

/// Waits until this process leads, and then runs `work` with a client whose writes fail as soon as another process may
/// lead.
///
/// When `work` succeeds, the Lease is released, so that the next leader need not wait. When it fails, the Lease is left to
/// expire, because some of it may still be running. Dropping the future withdraws the candidate.
///
/// A process that has lost the Lease must end: this function returns an error, and if the process still runs at the
/// moment when another one may lead, a watchdog ends it with exit code 1. Errors say this by `leadership lost`.
///
/// Needs the verbs `get`, `create` and `update` on the Lease.
///
/// # Errors
/// The error of `work`; the durations cannot work; the configuration has no valid certificates; the Lease was lost.
pub async fn lead<T>(
    config: Config,
    election: Election,
    work: impl AsyncFnOnce(Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let fence = Fence::closed();
    let clients = Clients::connect(config, &fence, &Requests::default())?;
    let _watched = watchdog::watch(fence.clone(), election.grace())?;
    lead_with(clients, election, fence, work).await
}

async fn lead_with<T>(
    clients: Clients,
    election: Election,
    fence: Fence,
    work: impl AsyncFnOnce(Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    election.check()?;
    let lease = election.name.clone();
    let mut elector = Elector::new(clients.election, election, fence);
    let deadline = elector.acquire().await;
    tracing::info!(lease, "leading");
    let done = tokio::select! {
        biased;
        () = elector.hold(deadline) => Err(lost(&lease)),
        done = work(clients.leading) => done,
    }?;
    elector.release().await;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use hyper::Uri;
    use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
    use kbr_testing::FakeApi;
    use kube::{Api, client::ClientBuilder};

    use super::*;

    fn election(identity: &str) -> Election {
        let mut election = Election::new("default", "captains.example.com", identity);
        election.retry_period = Duration::from_millis(50);
        election
    }

    async fn led<T>(
        api: &FakeApi,
        identity: &str,
        work: impl AsyncFnOnce(Client) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let fence = Fence::closed();
        let count = Requests::default().to(&Uri::from_static("http://in-memory"));
        let builder = || Ok::<_, Infallible>(ClientBuilder::new(api.connection(), "default"));
        let Ok(clients) = Clients::with(builder, &fence, &count);
        lead_with(clients, election(identity), fence, work).await
    }

    fn holder(api: &FakeApi) -> Option<String> {
        let lease: Lease = api.get("default", "captains.example.com")?;
        lease.spec?.holder_identity
    }

    #[tokio::test]
    async fn the_work_runs_while_the_lease_is_held_and_the_lease_is_released_when_it_is_done() {
        let api = FakeApi::new();
        for identity in ["one", "two"] {
            let kept = led(&api, identity, async |client| {
                assert_eq!(holder(&api).as_deref(), Some(identity));
                let mut map = ConfigMap::default();
                map.metadata.name = Some(identity.to_owned());
                let maps = Api::default_namespaced(client.clone());
                maps.create(&kube::api::PostParams::default(), &map).await?;
                Ok(client)
            });
            let kept = kept.await.unwrap();
            assert_eq!(holder(&api).as_deref(), Some(""));
            let maps = Api::<ConfigMap>::default_namespaced(kept);
            let late = maps
                .delete(identity, &kube::api::DeleteParams::default())
                .await;
            assert!(late.is_err(), "it writes without leading");
        }
    }

    #[tokio::test]
    async fn a_failure_leaves_the_lease_to_expire() {
        let api = FakeApi::new();
        let failed = led::<()>(&api, "one", async |_| anyhow::bail!("no wind"));
        assert_eq!(failed.await.unwrap_err().to_string(), "no wind");
        assert_eq!(holder(&api).as_deref(), Some("one"));
    }
}
