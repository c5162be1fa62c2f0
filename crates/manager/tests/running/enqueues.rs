//! Test what triggers a reconcile, and what does not.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kbr_testing::{FakeApi, eventually};
use kube::{ResourceExt, api::ObjectMeta};
use manager::{Action, Context, Key, Manager, Trigger, kind, metadata};

use crate::support::{Captain, Running, SOON, Said, captain, manager, object, options};

/// Records the name of each reconciled object, one at a time and so in the order of the triggers.
macro_rules! saying {
    ($controller:expr, $said:expr) => {{
        let said: Said = $said.clone();
        $controller
            .max_concurrent_reconciles(1)
            .reconcile(move |_, cx| {
                said.say(cx.name());
                async { Ok(Action::await_change()) }
            })
    }};
}

pub(crate) use saying;

fn charts(captain: &Captain) -> Vec<String> {
    let key = Key::new(captain.namespace().as_deref(), &captain.spec.chart);
    vec![key.to_string()]
}

#[tokio::test]
async fn a_watched_object_enqueues_only_objects_that_refer_to_it() {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    api.put(&captain("ahab", "two"));
    api.put(&object("one", "1"));
    let mut manager = manager(&api);
    let said = Said::default();
    let saying = said.clone();
    manager
        .controller::<Captain>("captain")
        .watches(kind::<ConfigMap>(), |map, cached| {
            let captains = cached.list::<Captain>();
            captains.by(charts, Key::of(map)).keys()
        })
        .max_concurrent_reconciles(1)
        .reconcile(move |captain: Arc<Captain>, cx: Context<Captain>| {
            let saying = saying.clone();
            async move {
                let chart = cx.get::<ConfigMap>(&captain.spec.chart)?;
                let text = chart.and_then(|chart| chart.data.as_ref()?.get("text").cloned());
                let text = text.as_deref().unwrap_or("none");
                saying.say(format!("{} {text}", cx.name()));
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    said.heard("hook 1").await;
    said.heard("ahab none").await;
    api.put(&object("two", "5"));
    said.heard("ahab 5").await;
    let hook = said.count("hook 1");
    api.put(&object("two", "6"));
    said.heard("ahab 6").await;
    api.put(&object("one", "2"));
    said.heard("hook 2").await;
    api.delete::<ConfigMap>("default", "two");
    said.heard_times("ahab none", 2).await;
    running.stop().await.unwrap();
    assert_eq!(said.count("hook 1"), hook);
    assert_eq!((said.count("ahab 5"), said.count("ahab 6")), (1, 1));
}

/// A `ConfigMap` with the name of an object in a label.
pub(crate) fn naming(name: &str, named: &str) -> ConfigMap {
    let mut map = object(name, "");
    map.labels_mut()
        .insert("names".to_owned(), named.to_owned());
    map
}

pub(crate) fn named<K: kube::Resource>(map: &K) -> Vec<Key> {
    let name = map.labels().get("names");
    name.map(|name| Key::new(Some("default"), name))
        .into_iter()
        .collect()
}

#[tokio::test]
async fn an_update_of_a_watched_object_enqueues_its_old_references_too() {
    let api = FakeApi::new();
    api.put(&naming("map", "hook"));
    for name in ["hook", "ahab"] {
        api.put(&captain(name, ""));
    }
    let (mut manager, said) = (manager(&api), Said::default());
    let controller = manager.controller::<Captain>("captain");
    saying!(
        controller.watches(kind::<ConfigMap>(), |map, _| Ok(named(map))),
        said
    );
    let running = Running::start(manager);
    said.heard("hook").await;
    said.heard("ahab").await;
    let hook = said.count("hook");
    api.put(&naming("map", "ahab"));
    said.heard_times("ahab", 2).await;
    said.heard_times("hook", hook + 1).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn metadata_alone_can_be_watched() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let (mut manager, said) = (manager(&api), Said::default());
    let controller = manager.controller::<Captain>("captain");
    saying!(
        controller.watches(metadata::<Secret>(), |secret, _| Ok(named(secret))),
        said
    );
    let running = Running::start(manager);
    said.heard("hook").await;
    api.put(&Secret {
        metadata: naming("secret", "hook").metadata,
        ..Secret::default()
    });
    said.heard_times("hook", 2).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_mapping_that_fails_or_panics_enqueues_nothing() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let (mut manager, said) = (manager(&api), Said::default());
    let controller = manager.controller::<Captain>("captain");
    let map = |map: &ConfigMap, cached: &manager::Reader| match map.name_any().as_str() {
        "panic" => panic!("a kraken"),
        // The controller does not cache this kind.
        "fail" => cached.list::<Secret>().keys(),
        _ => Ok(named(map)),
    };
    saying!(controller.watches(kind::<ConfigMap>(), map), said);
    let running = Running::start(manager);
    said.heard("hook").await;
    for name in ["panic", "fail", "good"] {
        api.put(&naming(name, "hook"));
    }
    said.heard_times("hook", 2).await;
    running.stop().await.unwrap();
    assert_eq!(said.count("hook"), 2);
}

#[tokio::test]
async fn a_controllers_own_status_write_does_not_trigger_a_reconcile() {
    let api = FakeApi::new();
    let (mut manager, said) = (manager(&api), Said::default());
    let saying = said.clone();
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .max_concurrent_reconciles(1)
        .reconcile(move |_, cx: Context<Captain>| {
            saying.say(cx.name());
            async move {
                cx.ready("Sailing", "all is well");
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    for name in ["hook", "ahab", "nemo"] {
        api.put(&captain(name, ""));
        said.heard(name).await;
        let written = async || {
            let captain: Option<Captain> = api.get("default", name);
            Ok(captain.and_then(|captain| captain.status))
        };
        eventually(SOON, "the status", written).await.unwrap();
    }
    running.stop().await.unwrap();
    for name in ["hook", "ahab", "nemo"] {
        assert_eq!(said.count(name), 1, "{name}");
    }
}

#[tokio::test]
async fn a_trigger_enqueues_one_or_all_before_and_after_the_start() {
    let api = FakeApi::new();
    for name in ["hook", "ahab"] {
        api.put(&captain(name, ""));
    }
    let (mut manager, said, trigger) = (manager(&api), Said::default(), Trigger::new());
    let controller = manager.controller::<Captain>("captain");
    saying!(controller.triggered_by(&trigger), said);
    // No object exists yet.
    trigger.enqueue("default/hook");
    trigger.enqueue_all();
    let from_a_task = trigger.clone();
    manager.leading("at once", async move |running| {
        from_a_task.enqueue("default/nobody");
        running.stopped().await;
        Ok(())
    });
    let running = Running::start(manager);
    for name in ["hook", "ahab"] {
        said.heard(name).await;
    }
    let (hook, ahab) = (said.count("hook"), said.count("ahab"));
    trigger.enqueue("default/hook");
    said.heard_times("hook", hook + 1).await;
    trigger.enqueue_all();
    said.heard_times("hook", hook + 2).await;
    said.heard_times("ahab", ahab + 1).await;
    running.stop().await.unwrap();
    assert_eq!(
        (said.count("hook"), said.count("ahab")),
        (hook + 2, ahab + 1)
    );
}

#[tokio::test]
async fn a_burst_of_triggers_loses_nothing() {
    let api = FakeApi::new();
    let (mut manager, said, trigger) = (manager(&api), Said::default(), Trigger::new());
    let controller = manager.controller::<Captain>("captain");
    saying!(controller.triggered_by(&trigger), said);
    let running = Running::start(manager);
    for n in 0..100 {
        let name = format!("captain-{n}");
        api.put(&captain(&name, ""));
        trigger.enqueue(&format!("default/{name}"));
    }
    for n in 0..100 {
        said.heard(&format!("captain-{n}")).await;
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn two_controllers_of_one_kind_share_a_cache_but_do_not_block_each_other() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let (mut manager, said) = (manager(&api), Said::default());
    manager
        .controller::<Captain>("stuck")
        .max_concurrent_reconciles(1)
        .reconcile(|_, _| std::future::pending());
    saying!(manager.controller::<Captain>("captain"), said);
    let running = Running::start(manager);
    said.heard("hook").await;
    api.put(&captain("ahab", ""));
    said.heard("ahab").await;
    let requests = api.requests();
    let lists = requests
        .iter()
        .filter(|request| request.ends_with("/captains"));
    // One watch, which begins with the list.
    assert_eq!(lists.count(), 1);
    let error = running.stop().await.unwrap_err().to_string();
    assert!(error.contains("1 reconcile did not end"), "{error}");
}

#[tokio::test]
async fn only_the_requested_namespaces_are_watched() {
    let api = FakeApi::new();
    let put = |name: &str, namespace: &str| {
        let mut captain = captain(name, "");
        captain.metadata.namespace = Some(namespace.to_owned());
        api.put(&captain);
    };
    put("hook", "a");
    put("ahab", "b");
    put("nemo", "c");
    api.put(&Namespace {
        metadata: ObjectMeta {
            name: Some("c".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    });
    let mut options = options();
    options.watch_namespace = vec!["a".to_owned(), "b".to_owned()];
    options.shutdown_timeout = Duration::from_millis(200);
    let mut manager: Manager = api.manager_with(options);
    let said = Said::default();
    saying!(manager.controller::<Captain>("captain"), said);
    saying!(manager.controller::<Namespace>("namespace"), said);
    let running = Running::start(manager);
    for name in ["hook", "ahab", "c"] {
        said.heard(name).await;
    }
    put("nemo", "c");
    put("starbuck", "b");
    said.heard("starbuck").await;
    put("smee", "a");
    said.heard("smee").await;
    running.stop().await.unwrap();
    assert_eq!(said.count("nemo"), 0);
    let requests = api.requests();
    assert!(
        !requests
            .iter()
            .any(|request| request.contains("/namespaces/c/"))
    );
}
