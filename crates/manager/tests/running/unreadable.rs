//! Test objects that their type cannot read, because they were stored under an earlier schema.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use kube::ResourceExt;
use manager::{Action, Context, Manager, kind};
use serde_json::json;

use crate::support::{Captain, Running, SOON, Said, captain, electing, manager, object, reached};

/// The earlier version of the kind: its chart may have any type.
mod earlier {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::Value;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "crew.example.com",
        version = "v1",
        kind = "Captain",
        namespaced
    )]
    pub(crate) struct CaptainSpec {
        pub(crate) chart: Value,
    }
}

/// A captain that [`Captain`] cannot read.
fn unreadable(name: &str) -> earlier::Captain {
    earlier::Captain::new(name, earlier::CaptainSpec { chart: json!(5) })
}

/// The events on the object with this name, as `reason: note`.
fn events(api: &FakeApi, name: &str) -> Vec<String> {
    let events = api.all_json("events").into_iter();
    let about = events.filter(|event| event["regarding"]["name"] == name);
    about
        .map(|event| {
            let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            format!("{} {}: {}", text("type"), text("reason"), text("note"))
        })
        .collect()
}

async fn told(api: &FakeApi, name: &str) {
    let look = async || Ok((!events(api, name).is_empty()).then_some(()));
    eventually(SOON, "the event", look).await.unwrap();
}

const EVENT: &str = "Warning Unreadable: cannot be read, so it is skipped until it changes: \
                     spec.chart: invalid type: integer `5`, expected a string";

/// Each captain records its name and chart. The captain `watch` also records all listed captains, again and again.
fn saying(manager: &mut Manager) -> (Said, Arc<AtomicUsize>) {
    let (said, stale) = (Said::default(), Arc::new(AtomicUsize::new(0)));
    let (saying, counted) = (said.clone(), stale.clone());
    manager.controller::<Captain>("captain").reconcile(
        move |captain: Arc<Captain>, cx: Context<Captain>| {
            let (said, stale) = (saying.clone(), counted.clone());
            async move {
                let name = captain.name_any();
                said.say(format!("{name} {}", captain.spec.chart));
                if name == "bad" {
                    stale.fetch_add(1, Ordering::SeqCst);
                }
                if name == "watch" {
                    let all = cx.list::<Captain>().all()?;
                    let names: Vec<_> = all.iter().map(|it| it.name_any()).collect();
                    said.say(names.join(" "));
                    match cx.get::<Captain>("bad") {
                        Ok(found) => said.say(format!("found: {}", found.is_some())),
                        Err(error) => said.say(error.to_string()),
                    }
                }
                Ok(Action::requeue(Duration::from_millis(20)))
            }
        },
    );
    (said, stale)
}

#[tokio::test]
async fn a_standby_with_warm_caches_publishes_events_only_when_it_leads() {
    let api = FakeApi::new();
    api.put(&unreadable("bad"));
    api.put(&captain("zoe", "two"));
    let candidate = || {
        let mut options = electing();
        options.warm_standby = true;
        let mut manager = api.manager_with(options);
        let (said, _) = saying(&mut manager);
        (said, Running::start(manager))
    };
    let asked = || {
        let requests = api.requests();
        let asked = requests.iter().filter(|it| it.ends_with("/captains"));
        asked.count()
    };
    let (first, leader) = candidate();
    told(&api, "bad").await;
    first.heard("zoe two").await;
    let before = asked();
    let (second, standby) = candidate();
    let listed = async || Ok((asked() > before).then_some(()));
    eventually(SOON, "both watch", listed).await.unwrap();
    // The standby has seen `bad` as well, but it is repaired before it leads.
    api.put(&captain("bad", "good"));
    first.heard("bad good").await;
    leader.stop().await.unwrap();
    second.heard("bad good").await;
    standby.stop().await.unwrap();
    assert_eq!(events(&api, "bad"), [EVENT]);
}

#[tokio::test]
async fn an_object_that_is_unreadable_at_startup_is_skipped_and_reported() {
    let api = FakeApi::new();
    api.put(&captain("watch", "one"));
    api.put(&unreadable("bad"));
    api.put(&captain("zoe", "two"));
    let mut manager = manager(&api);
    let (said, stale) = saying(&mut manager);
    let running = Running::start(manager);
    said.heard("zoe two").await;
    said.heard("watch zoe").await;
    said.heard(
        "Captain `default/bad` cannot be read: spec.chart: invalid type: integer `5`, expected a string",
    )
    .await;
    told(&api, "bad").await;
    assert_eq!(events(&api, "bad"), [EVENT]);
    // Changes are noticed as before, and so is the repair.
    api.put(&captain("zoe", "three"));
    said.heard("zoe three").await;
    assert_eq!(stale.load(Ordering::SeqCst), 0);
    api.put(&captain("bad", "repaired"));
    said.heard("bad repaired").await;
    said.heard("bad watch zoe").await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_object_that_becomes_unreadable_is_skipped_and_its_deletion_is_noticed() {
    let api = FakeApi::new();
    api.put(&captain("watch", "one"));
    api.put(&captain("bad", "good"));
    let mut manager = manager(&api);
    let (said, stale) = saying(&mut manager);
    let running = Running::start(manager);
    said.heard("bad good").await;
    said.heard("bad watch").await;
    api.put(&unreadable("bad"));
    told(&api, "bad").await;
    // The running reconcile requests another one, which does not find the object.
    let (before, looks) = (stale.load(Ordering::SeqCst), said.count("watch"));
    said.heard_times("watch", looks + 5).await;
    assert!(stale.load(Ordering::SeqCst) <= before + 1);
    api.delete::<Captain>("default", "bad");
    said.heard("found: false").await;
    api.put(&captain("watch", "two"));
    said.heard("watch two").await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_owner_repairs_an_unreadable_child_and_recreates_a_deleted_one() {
    let api = FakeApi::new();
    api.put(&object("owner", "1"));
    let mut manager = manager(&api);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    manager
        .controller::<ConfigMap>("map")
        .owns(kind::<Captain>())
        .reconcile(move |map: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            let counted = counted.clone();
            async move {
                cx.apply(&captain("child", "chart")).await?;
                counted.fetch_add(1, Ordering::SeqCst);
                drop(map);
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    reached(&count, 1).await;
    let child = async || {
        let child = api.get::<earlier::Captain>("default", "child");
        Ok(child.filter(|child| child.spec.chart == "chart"))
    };
    let mut spoiled = eventually(SOON, "the child", child).await.unwrap();
    spoiled.spec.chart = json!(5);
    api.put(&spoiled);
    eventually(SOON, "the repaired child", child).await.unwrap();
    let repaired = count.load(Ordering::SeqCst);
    api.delete::<Captain>("default", "child");
    reached(&count, repaired + 1).await;
    eventually(SOON, "the child again", child).await.unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_unreadable_object_of_another_owner_is_not_taken_over() {
    let api = FakeApi::new();
    api.put(&object("owner", "1"));
    let mut foreign = unreadable("child");
    foreign.metadata.owner_references = Some(vec![
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "other", "controller": true,
        }))
        .unwrap(),
    ]);
    api.put(&foreign);
    let register = |manager: &mut Manager| {
        manager
            .controller::<ConfigMap>("map")
            .owns(kind::<Captain>())
            .reconcile(async |_, cx: Context<ConfigMap>| {
                cx.apply(&captain("child", "chart")).await?;
                Ok(Action::await_change())
            });
    };
    let error = api.reconcile(register, "owner").await.unwrap_err();
    assert!(error.to_string().contains("other"), "{error:#}");
    let child: earlier::Captain = api.get("default", "child").unwrap();
    assert_eq!(child.spec.chart, 5);
}

/// A kind that panics when it is cloned, if its text says so.
mod kraken {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "crew.example.com",
        version = "v1",
        kind = "Kraken",
        namespaced
    )]
    pub(crate) struct KrakenSpec {
        pub(crate) text: String,
    }

    impl Clone for KrakenSpec {
        fn clone(&self) -> Self {
            assert_ne!(self.text, "panic");
            let text = self.text.clone();
            Self { text }
        }
    }
}

#[tokio::test]
async fn an_object_whose_clone_panics_is_skipped_and_delays_no_other() {
    let api = FakeApi::new();
    for text in ["panic", "calm"] {
        let text = text.to_owned();
        api.put(&kraken::Kraken::new(
            &text.clone(),
            kraken::KrakenSpec { text },
        ));
    }
    let mut manager = manager(&api);
    let found = Said::default();
    let finds = found.clone();
    manager.controller::<kraken::Kraken>("kraken").reconcile(
        move |kraken: Arc<kraken::Kraken>, _| {
            finds.say(&kraken.spec.text);
            async { Ok(Action::await_change()) }
        },
    );
    let running = Running::start(manager);
    found.heard("calm").await;
    running.stop().await.unwrap();
    assert_eq!(found.count("panic"), 0);
}
