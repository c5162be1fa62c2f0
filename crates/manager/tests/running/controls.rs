//! Test the annotations by which users pause an object, or have it reconciled now.

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually, reason};
use kube::ResourceExt;
use manager::{Action, Cleanup, Context, Manager, predicate};

use crate::support::{Captain, Running, SOON, Said, captain, manager, object};

const FINALIZER: &str = "crew.example.com/captain";

fn annotate(api: &FakeApi, name: &str, value: Option<&str>) {
    api.edit("default", "hook", |captain: &mut Captain| {
        let name = format!("test.example.com/{name}");
        let annotations = captain.annotations_mut();
        match value {
            Some(value) => drop(annotations.insert(name, value.to_owned())),
            None => drop(annotations.remove(&name)),
        }
    });
}

/// Says why each reconcile runs, and which clean-ups.
fn register(manager: &mut Manager, said: &Said) {
    let (said, cleaning) = (said.clone(), said.clone());
    manager
        .controller::<Captain>("captain")
        .when(predicate::generation_changed)
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer(FINALIZER, move |_, _| {
            cleaning.say("cleaned up");
            async { Ok(Cleanup::Done) }
        })
        .reconcile(move |captain, cx: Context<Captain>| {
            said.say(format!("{}: {}", captain.spec.chart, cx.causes()));
            cx.ready("Sails", "");
            async { Ok(Action::await_change()) }
        });
}

fn running(api: &FakeApi) -> (Running, Said) {
    let (mut manager, said) = (manager(api), Said::default());
    register(&mut manager, &said);
    (Running::start(manager), said)
}

/// Waits for the reason of the condition `Paused`.
async fn paused(api: &FakeApi, wanted: Option<&str>) {
    let look = async || {
        let hook: Option<Captain> = api.get("default", "hook");
        let status = hook.and_then(|hook| hook.status).unwrap_or_default();
        Ok((reason(&status.conditions, "Paused") == wanted).then_some(()))
    };
    eventually(SOON, "the condition", look).await.unwrap();
}

#[tokio::test]
async fn a_paused_object_is_not_reconciled_until_it_is_resumed() {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    let (running, said) = running(&api);
    said.heard("one: start").await;
    annotate(&api, "paused", Some("true"));
    paused(&api, Some("PausedByUser")).await;
    let hook: Captain = api.get("default", "hook").unwrap();
    let generation = hook.status.unwrap().observed_generation;
    api.edit("default", "hook", |hook: &mut Captain| {
        hook.spec.chart = "two".to_owned();
    });
    api.put(&captain("ahab", "other"));
    said.heard("other: created").await;
    assert_eq!(said.all(), ["one: start", "other: created"]);
    let hook: Captain = api.get("default", "hook").unwrap();
    assert_eq!(hook.status.unwrap().observed_generation, generation);

    annotate(&api, "paused", None);
    paused(&api, None).await;
    assert_eq!(said.last().as_deref(), Some("two: own annotations"));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_paused_object_is_cleaned_up_unless_all_is_paused() {
    for (value, cleans) in [("true", true), ("all", false)] {
        let api = FakeApi::new();
        api.put(&captain("hook", "one"));
        let (running, said) = running(&api);
        said.heard("one: start").await;
        annotate(&api, "paused", Some(value));
        paused(&api, Some("PausedByUser")).await;
        api.delete::<Captain>("default", "hook");
        if !cleans {
            api.put(&captain("ahab", "other"));
            said.heard("other: created").await;
            assert_eq!(said.count("cleaned up"), 0);
            annotate(&api, "paused", Some("false"));
        }
        said.heard("cleaned up").await;
        running.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_poked_object_is_reconciled_once_and_says_when_it_is_done() {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    let (running, said) = running(&api);
    said.heard("one: start").await;
    for value in ["now", "and again"] {
        annotate(&api, "reconcile-at", Some(value));
        let look = async || {
            let hook: Captain = api.get("default", "hook").unwrap();
            let done = hook.annotations().get("test.example.com/reconciled-at");
            Ok((done.map(String::as_str) == Some(value)).then_some(()))
        };
        eventually(SOON, "the annotation", look).await.unwrap();
    }
    api.put(&captain("ahab", "other"));
    said.heard("other: created").await;
    assert_eq!(
        said.all(),
        ["one: start", "one: poke", "one: poke", "other: created"]
    );
    running.stop().await.unwrap();
}

#[tokio::test]
async fn without_conditions_events_say_that_an_object_is_paused_and_resumed() {
    let api = FakeApi::new();
    let mut map = object("map", "");
    map.immutable = Some(true);
    api.put(&map);
    let (mut manager, said) = (manager(&api), Said::default());
    let saying = said.clone();
    manager
        .controller::<ConfigMap>("map")
        .paused_when(|map| map.immutable == Some(true))
        .reconcile(move |_, _| {
            saying.say("reconciled");
            async { Ok(Action::await_change()) }
        });
    let running = Running::start(manager);
    let event = async |reason: &str| {
        let look = async || {
            let events = api.all_json("events");
            Ok(events
                .iter()
                .any(|event| event["reason"] == reason)
                .then_some(()))
        };
        eventually(SOON, reason, look).await.unwrap();
    };
    event("Paused").await;
    assert_eq!(said.all(), [""; 0]);
    api.edit("default", "map", |map: &mut ConfigMap| map.immutable = None);
    event("Resumed").await;
    assert_eq!(said.all(), ["reconciled"]);
    running.stop().await.unwrap();
}
