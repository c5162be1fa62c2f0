//! Test replicas that stand by.

use std::sync::Arc;

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kbr_testing::{FakeApi, eventually};
use kube::ResourceExt;
use manager::{Action, Context, Manager};

use crate::support::{Running, SOON, Said, electing, object};

/// A replica that records each object as `name text`.
fn candidate(api: &FakeApi, warm_standby: bool) -> (Said, Manager) {
    let mut options = electing();
    options.warm_standby = warm_standby;
    let mut manager = api.manager_with(options);
    let said = Said::default();
    let saying = said.clone();
    manager.controller::<ConfigMap>("map").reconcile(
        move |map: Arc<ConfigMap>, _: Context<ConfigMap>| {
            let text = map.data.as_ref().and_then(|data| data.get("text"));
            saying.say(format!("{} {}", map.name_any(), text.unwrap()));
            async { Ok(Action::await_change()) }
        },
    );
    (said, manager)
}

/// The number of requests that listed or watched `ConfigMap`s: one for each replica, which streams its list.
fn reads(api: &FakeApi) -> usize {
    let requests = api.requests();
    let reads = requests.iter().filter(|it| *it == "GET /api/v1/configmaps");
    reads.count()
}

/// Waits until a second replica has tried for the lease several times.
async fn stands_by(api: &FakeApi) {
    let asked = api.requests().len() + 20;
    let waiting = async || Ok((api.requests().len() > asked).then_some(()));
    eventually(SOON, "some tries for the lease", waiting)
        .await
        .unwrap();
}

#[tokio::test]
async fn only_the_leader_reconciles_and_hands_over_when_it_ends() {
    let api = FakeApi::new();
    api.put(&object("a", "1"));
    let (first, manager) = candidate(&api, false);
    let leader = Running::start(manager);
    first.heard("a 1").await;
    let (second, manager) = candidate(&api, false);
    let other = Running::start(manager);
    stands_by(&api).await;
    assert_eq!((second.last(), reads(&api)), (None, 1));
    leader.stop().await.unwrap();
    second.heard("a 1").await;
    other.stop().await.unwrap();
    let lease: Lease = api.get("default", "test.example.com").unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some(""));
}

#[tokio::test]
async fn a_warm_standby_reconciles_each_object_once_when_it_leads() {
    let api = FakeApi::new();
    for name in ["a", "b", "c"] {
        api.put(&object(name, "1"));
    }
    let (first, manager) = candidate(&api, true);
    let leader = Running::start(manager);
    first.heard("c 1").await;
    let (second, manager) = candidate(&api, true);
    let other = Running::start(manager);
    stands_by(&api).await;
    api.put(&object("b", "2"));
    api.delete::<ConfigMap>("default", "c");
    api.put(&object("d", "1"));
    first.heard("d 1").await;
    stands_by(&api).await;
    assert_eq!(second.last(), None);

    leader.stop().await.unwrap();
    for what in ["a 1", "b 2", "d 1"] {
        second.heard(what).await;
    }
    api.put(&object("a", "2"));
    second.heard("a 2").await;
    other.stop().await.unwrap();
    let mut said = second.all();
    said.sort();
    assert_eq!(said, ["a 1", "a 2", "b 2", "d 1"]);
}
