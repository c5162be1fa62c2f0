//! Test which updates trigger no reconcile, because a predicate says that they do not matter.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_testing::FakeApi;
use kube::ResourceExt;
use manager::{Action, Cleanup, Controller, kind, predicate};

use crate::{
    enqueues::{named, naming, saying},
    support::{Captain, Running, Said, captain, manager, object},
};

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
            async { Ok(Cleanup::Done) }
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
async fn filtered(register: impl FnOnce(Controller<'_, Captain>) -> Controller<'_, Captain>) {
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
        let maps = kind::<ConfigMap>()
            .when(|old, new| old.data != new.data)
            .when(predicate::labels_changed);
        controller.watches(maps, |map, _| Ok(named(map)))
    })
    .await;
}

#[tokio::test]
async fn a_predicate_after_other_kinds_is_about_the_controllers_own() {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    let (mut manager, said) = (manager(&api), Said::default());
    let controller = manager
        .controller::<Captain>("captain")
        .watches(kind::<ConfigMap>(), |map, _| Ok(named(map)))
        .reads(kind::<Secret>())
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
