//! Test what triggers a reconcile, and what does not.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kbr_testing::{FakeApi, eventually};
use kube::{
    ResourceExt,
    api::{ObjectMeta, PartialObjectMeta},
};
use manager::{Action, Context, Controller, Key, Manager, Trigger, predicate};

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
        .watches::<ConfigMap>(|map, cached| {
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
fn naming(name: &str, named: &str) -> ConfigMap {
    let mut map = object(name, "");
    map.labels_mut()
        .insert("names".to_owned(), named.to_owned());
    map
}

fn named<K: kube::Resource>(map: &K) -> Vec<Key> {
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
        controller.watches::<ConfigMap>(|map, _| Ok(named(map))),
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
        controller.watches::<PartialObjectMeta<Secret>>(|secret, _| Ok(named(secret))),
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
    saying!(controller.watches::<ConfigMap>(map), said);
    let running = Running::start(manager);
    said.heard("hook").await;
    for name in ["panic", "fail", "good"] {
        api.put(&naming(name, "hook"));
    }
    said.heard_times("hook", 2).await;
    running.stop().await.unwrap();
    assert_eq!(said.count("hook"), 2);
}

fn labelled(mut captain: Captain) -> Captain {
    captain
        .labels_mut()
        .insert("rank".to_owned(), "1".to_owned());
    captain
}

#[tokio::test]
async fn a_predicate_filters_updates_but_not_creation_or_deletion() {
    const FINALIZER: &str = "crew.example.com/captain";
    let api = FakeApi::new();
    let mut hook = captain("hook", "one");
    hook.finalizers_mut().push(FINALIZER.to_owned());
    api.put(&hook);
    let (mut manager, said) = (manager(&api), Said::default());
    let cleaning = said.clone();
    let controller = manager
        .controller::<Captain>("captain")
        .when(predicate::generation_changed)
        .finalizer(FINALIZER, move |_, _| {
            cleaning.say("cleaned up");
            async { Ok(Action::await_change()) }
        });
    saying!(controller, said);
    let running = Running::start(manager);
    said.heard("hook").await;
    let put = |mut captain: Captain| {
        captain.finalizers_mut().push(FINALIZER.to_owned());
        api.put(&captain);
    };
    put(labelled(captain("hook", "one")));
    put(captain("ahab", "one"));
    said.heard("ahab").await;
    assert_eq!(said.count("hook"), 1);
    put(labelled(captain("hook", "two")));
    said.heard_times("hook", 2).await;
    api.delete::<Captain>("default", "hook");
    said.heard("cleaned up").await;
    running.stop().await.unwrap();
    assert!(api.get::<Captain>("default", "hook").is_none());
}

/// Reconciles `hook` when a `ConfigMap` that names it has new data and new labels, and when the captain changes.
async fn filtered<W, S>(
    register: impl FnOnce(Controller<'_, Captain>) -> Controller<'_, Captain, W, S>,
) {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    let (mut manager, said) = (manager(&api), Said::default());
    let controller = register(manager.controller::<Captain>("captain"));
    saying!(controller, said);
    let running = Running::start(manager);
    said.heard("hook").await;
    api.put(&naming("map", "hook"));
    said.heard_times("hook", 2).await;
    // Only labels; only data; both.
    api.put(&naming("map", "hook2"));
    api.put(&object("map", "new"));
    api.put(&naming("map", "hook"));
    said.heard_times("hook", 3).await;
    // An update of the captain itself is not filtered.
    api.put(&labelled(captain("hook", "one")));
    said.heard_times("hook", 4).await;
    running.stop().await.unwrap();
    assert_eq!(said.count("hook"), 4);
}

#[tokio::test]
async fn a_predicate_of_a_watched_kind_applies_to_that_kind_alone() {
    filtered(|controller| {
        controller.watches_with::<ConfigMap>(
            |map, _| Ok(named(map)),
            |kind| {
                kind.when(|old, new| old.data != new.data)
                    .when(predicate::labels_changed)
            },
        )
    })
    .await;
}

#[tokio::test]
#[expect(deprecated, reason = "projects of 0.2.0 have it")]
async fn a_predicate_after_a_kind_still_applies_to_that_kind() {
    filtered(|controller| {
        controller
            .watches::<ConfigMap>(|map, _| Ok(named(map)))
            .when(|old, new| old.data != new.data)
            .reads::<Secret>()
            .when(predicate::labels_changed)
    })
    .await;
}

#[tokio::test]
async fn a_predicate_after_a_configured_kind_is_about_the_controllers_own() {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    let (mut manager, said) = (manager(&api), Said::default());
    let controller = manager
        .controller::<Captain>("captain")
        .watches_with::<ConfigMap>(|map, _| Ok(named(map)), |kind| kind)
        .when(predicate::generation_changed);
    saying!(controller, said);
    let running = Running::start(manager);
    said.heard("hook").await;
    api.put(&labelled(captain("hook", "one")));
    api.put(&naming("map", "hook"));
    said.heard_times("hook", 2).await;
    api.put(&object("map", "new"));
    said.heard_times("hook", 3).await;
    running.stop().await.unwrap();
    assert_eq!(said.count("hook"), 3);
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
