//! Helpers for the tests of a running manager.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Condition};
use kbr_testing::{FakeApi, eventually};
use kube::{CustomResource, api::ObjectMeta};
use manager::{Manager, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) fn object(name: &str, text: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), text.to_owned())].into()),
        ..ConfigMap::default()
    }
}

/// A manager that runs until it is stopped.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    result: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl Running {
    pub(crate) fn start(mut manager: Manager) -> Self {
        let (stop, stopped) = oneshot::channel();
        let result = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            manager.run_until(stopped).await
        });
        Self { stop, result }
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        self.result.await.unwrap()
    }
}

/// The flags of a manager without servers, because tests run in parallel.
pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.health_probe_bind_address = "0".parse().unwrap();
    options
}

/// The flags of a replica that elects a leader.
pub(crate) fn electing() -> Options {
    let mut options = options();
    options.leader_elect = true;
    options.leader_election_lease_duration = Duration::from_secs(60);
    options.leader_election_renew_deadline = Duration::from_secs(40);
    options.leader_election_retry_period = Duration::from_millis(20);
    options
}

/// A manager with a short shutdown.
pub(crate) fn manager(api: &FakeApi) -> Manager {
    let mut options = options();
    options.shutdown_timeout = Duration::from_millis(200);
    api.manager_with(options)
}

pub(crate) async fn reached(count: &AtomicUsize, wanted: usize) {
    reached_within(SOON, count, wanted).await;
}

pub(crate) async fn reached_within(limit: Duration, count: &AtomicUsize, wanted: usize) {
    let look = async || Ok((count.load(Ordering::SeqCst) >= wanted).then_some(()));
    eventually(limit, "the reconciles", look).await.unwrap();
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus"
)]
pub(crate) struct CaptainSpec {
    /// The name of a `ConfigMap`.
    pub(crate) chart: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaptainStatus {
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
    pub(crate) observed_generation: Option<i64>,
}

pub(crate) fn captain(name: &str, chart: &str) -> Captain {
    let chart = chart.to_owned();
    Captain::new(name, CaptainSpec { chart })
}

/// The records of reconciles, in order.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.lock().push(what.into());
    }

    /// All records.
    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// The last record.
    pub(crate) fn last(&self) -> Option<String> {
        self.lock().last().cloned()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.lock().iter().filter(|said| *said == what).count()
    }

    /// Waits for this record.
    pub(crate) async fn heard(&self, what: &str) {
        self.heard_times(what, 1).await;
    }

    pub(crate) async fn heard_times(&self, what: &str, times: usize) {
        let look = async || Ok((self.count(what) >= times).then_some(()));
        let heard = eventually(SOON, what, look).await;
        heard.unwrap_or_else(|error| panic!("{error}; said: {:?}", self.lock()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
