//! Test the caches that every replica fills, for code outside of controllers.

use std::time::Duration;

use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::{ConfigMap, Secret},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kbr_testing::{FakeApi, eventually};
use kube::api::ObjectMeta;
use manager::{Action, Manager, kind};
use tokio::sync::mpsc;

use crate::support::{Running, SOON, manager, object, options};

/// A manager that never leads, because another process holds the Lease.
fn standby(api: &FakeApi) -> Manager {
    api.put(&Lease {
        metadata: ObjectMeta {
            name: Some("test.example.com".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some("another".to_owned()),
            lease_duration_seconds: Some(3600),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }),
    });
    let mut options = options();
    options.leader_elect = true;
    options.leader_election_lease_duration = Duration::from_secs(3600);
    options.leader_election_renew_deadline = Duration::from_secs(1800);
    api.manager_with(options)
}

#[tokio::test]
async fn a_replica_that_does_not_lead_reads_the_kinds_of_the_manager() {
    let api = FakeApi::new();
    api.put(&object("a", "1"));
    let mut manager = standby(&api);
    manager.reads(kind::<ConfigMap>());
    manager
        .controller::<Secret>("secret")
        .reads(kind::<ConfigMap>())
        .reconcile(async |_, _| Ok(Action::await_change()));
    let reader = manager.reader();
    let (found, mut finds) = mpsc::unbounded_channel();
    manager.always("look", async move |running| {
        let map = running.cached().await.get::<ConfigMap>("default/a")?;
        found.send(map.is_some())?;
        running.stopped().await;
        Ok(())
    });
    let running = Running::start(manager);
    assert_eq!(finds.recv().await, Some(true));
    api.put(&object("b", "1"));
    let both = async || {
        let maps = reader.list::<ConfigMap>().all()?;
        Ok((maps.len() == 2).then_some(()))
    };
    eventually(SOON, "the second one", both).await.unwrap();
    let requests = api.requests();
    assert!(!requests.iter().any(|request| request.contains("secrets")));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_task_that_waits_for_a_cache_ends_with_the_manager() {
    let api = FakeApi::new();
    api.cut_off(true);
    let mut manager = manager(&api);
    manager.reads(kind::<ConfigMap>());
    let (step, mut steps) = mpsc::unbounded_channel();
    manager.always("look", async move |running| {
        step.send("waits")?;
        let read = running.cached().await.get::<ConfigMap>("default/a");
        step.send(read.map_or("cannot read", |_| "reads"))?;
        Ok(())
    });
    let running = Running::start(manager);
    assert_eq!(steps.recv().await, Some("waits"));
    running.stop().await.unwrap();
    assert_eq!(steps.recv().await, Some("cannot read"));
}

#[tokio::test]
async fn controllers_and_other_code_share_a_cache() {
    let api = FakeApi::new();
    api.put(&object("a", "1"));
    let mut manager = manager(&api);
    manager.reads(kind::<ConfigMap>());
    let (done, mut reconciles) = mpsc::unbounded_channel();
    manager
        .controller::<ConfigMap>("map")
        .reconcile(move |_, _| {
            let sent = done.send(());
            async move { Ok(sent.map(|()| Action::await_change())?) }
        });
    let running = Running::start(manager);
    assert_eq!(reconciles.recv().await, Some(()));
    api.put(&object("a", "2"));
    assert_eq!(reconciles.recv().await, Some(()));
    let requests = api.requests();
    let of_kind = requests
        .iter()
        .filter(|request| *request == "GET /api/v1/configmaps");
    assert_eq!(
        of_kind.count(),
        1,
        "a list that goes on as a watch: {requests:?}"
    );
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_read_before_the_cache_is_complete_or_of_another_kind_is_an_error() {
    let mut manager = manager(&FakeApi::new());
    let reader = manager.reader();
    manager.reads(kind::<ConfigMap>());
    let early = "the cache of ConfigMap is not complete yet\n\
                 help: wait until it is, with `Reader::synced`";
    let error = reader.get::<ConfigMap>("default/a").unwrap_err();
    assert_eq!(error.to_string(), early);
    let error = reader.list::<ConfigMap>().all().unwrap_err();
    assert_eq!(error.to_string(), early);
    let error = reader.get::<Secret>("default/a").unwrap_err();
    assert_eq!(
        error.to_string(),
        "code outside of controllers reads Secret, which it does not cache\n\
         help: add `manager.reads(kind::<Secret>())`, and above that\n    \
         // +kbr:rbac:groups=core,resources=secrets,verbs=list;watch"
    );
    let running = Running::start(manager);
    reader.synced().await;
    assert!(reader.get::<ConfigMap>("default/a").unwrap().is_none());
    running.stop().await.unwrap();
}
