//! Test that the storm guard slows down what writes the same field again and again, and nothing else. Time is simulated.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use kube::ResourceExt;
use manager::{Action, Context, Key, Manager, kind};
use tokio::time::{Instant, sleep};

use crate::support::{Captain, Running, SOON, captain, manager, object};

const MINUTE: Duration = Duration::from_secs(60);

/// Another value each time.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn read(&self) -> String {
        self.0.fetch_add(1, Ordering::SeqCst).to_string()
    }
}

/// The notes of the events about storms.
fn notes(api: &FakeApi) -> Vec<String> {
    let events = api.all_json("events").into_iter();
    let storms = events.filter(|event| event["reason"] == "ReconcileLoop");
    let notes = storms.map(|event| event["note"].as_str().unwrap_or_default().to_owned());
    notes.collect()
}

fn writes(api: &FakeApi) -> usize {
    let requests = api.requests();
    let writes = requests
        .iter()
        .filter(|it| !it.starts_with("GET") && !it.contains("/events"));
    writes.count()
}

/// Runs an operator for a minute; returns the event, and how many writes it sent.
async fn storm(register: impl FnOnce(&mut Manager)) -> (Vec<String>, usize) {
    let api = FakeApi::new();
    api.put(&captain("hook", "one"));
    let mut manager = manager(&api);
    register(&mut manager);
    let running = Running::start(manager);
    sleep(MINUTE).await;
    let found = (notes(&api), writes(&api));
    running.stop().await.unwrap();
    found
}

#[track_caller]
fn is_slowed((notes, writes): &(Vec<String>, usize), field: &str) {
    assert!(*writes <= 75, "{writes} writes");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with(field), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_time_in_the_status_of_an_object_that_is_requeued_at_once_is_slowed_down() {
    let clock = Clock::default();
    let found = storm(|manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(move |_, cx: Context<Captain>| {
                cx.ready("Sails", clock.read());
                async { Ok(Action::requeue(Duration::from_millis(1))) }
            });
    })
    .await;
    is_slowed(
        &found,
        "`status.conditions[Ready].message` was written 11 times",
    );
}

#[tokio::test(start_paused = true)]
async fn a_time_in_a_child_is_slowed_down() {
    let clock = Clock::default();
    let found = storm(|manager| {
        manager
            .controller::<Captain>("captain")
            .owns(kind::<ConfigMap>())
            .reconcile(move |_, cx: Context<Captain>| {
                let child = object("child", &clock.read());
                async move {
                    cx.apply(&child).await?;
                    Ok(Action::await_change())
                }
            });
    })
    .await;
    is_slowed(
        &found,
        "`data.text` of ConfigMap `default/child` was written",
    );
}

#[tokio::test(start_paused = true)]
async fn a_time_in_each_of_many_children_is_slowed_down_and_reported_once() {
    let clock = Clock::default();
    let (notes, writes) = storm(|manager| {
        manager
            .controller::<Captain>("captain")
            .owns(kind::<ConfigMap>())
            .reconcile(move |_, cx: Context<Captain>| {
                let clock = clock.clone();
                async move {
                    for node in 0..45 {
                        cx.apply(&object(&format!("node-{node}"), &clock.read()))
                            .await?;
                    }
                    Ok(Action::await_change())
                }
            });
    })
    .await;
    assert!(writes <= 75 * 45, "{writes} writes");
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_time_in_an_annotation_of_the_object_is_slowed_down() {
    let clock = Clock::default();
    let found = storm(|manager| {
        let controller = manager.controller::<Captain>("captain");
        controller.reconcile(move |captain, cx: Context<Captain>| {
            let time = clock.read();
            async move {
                let mark = |captain: &mut Captain| {
                    let annotations = captain.annotations_mut();
                    annotations.insert("example.com/at".to_owned(), time.clone());
                };
                cx.update(&*captain, mark).await?;
                Ok(Action::await_change())
            }
        });
    })
    .await;
    is_slowed(&found, "`metadata.annotations[example.com/at]` was written");
}

#[tokio::test(start_paused = true)]
async fn two_controllers_that_fight_are_both_slowed_down_and_each_names_the_other() {
    let (mut notes, writes) = storm(|manager| {
        for (name, text) in [("one", "1"), ("two", "2")] {
            manager
                .controller::<Captain>(name)
                .watches(kind::<ConfigMap>(), |_, _| {
                    Ok(vec![Key::from("default/hook")])
                })
                .reconcile(move |_, cx: Context<Captain>| async move {
                    cx.apply_unowned(&object("map", text)).await?;
                    Ok(Action::await_change())
                });
        }
    })
    .await;
    assert!(writes <= 150, "{writes} writes");
    notes.sort();
    assert_eq!(notes.len(), 2, "{notes:?}");
    for note in &notes {
        assert!(
            note.starts_with("`data.text` of ConfigMap `default/map`"),
            "{note}"
        );
    }
    let names = |name: &str| notes.iter().any(|note| note.contains(name));
    assert!(
        names("`test.example.com/one`") && names("`test.example.com/two`"),
        "{notes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_another_field_and_a_deletion_do_not_wait_for_a_storm() {
    let (api, clock) = (FakeApi::new(), Clock::default());
    api.put(&captain("hook", "one"));
    let mut manager = manager(&api);
    manager
        .controller::<Captain>("captain")
        .owns(kind::<ConfigMap>())
        .finalizer("crew.example.com/captain", async |_, _| {
            Ok(manager::Cleanup::Done)
        })
        .reconcile(move |captain, cx: Context<Captain>| {
            let child = object("child", &format!("{} {}", captain.spec.chart, clock.read()));
            async move {
                cx.apply(&child).await?;
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    // By now, it waits for four seconds each time.
    sleep(MINUTE).await;
    let (before, began) = (writes(&api), Instant::now());
    api.edit("default", "hook", |hook: &mut Captain| {
        hook.spec.chart = "two".to_owned();
    });
    let look = async || {
        let child: ConfigMap = api.get("default", "child").unwrap();
        Ok(child.data.unwrap()["text"].starts_with("two").then_some(()))
    };
    eventually(SOON, "the edit", look).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    assert!(writes(&api) <= before + 5);
    let began = Instant::now();
    api.delete::<Captain>("default", "hook");
    let look = async || {
        Ok(api
            .get::<Captain>("default", "hook")
            .is_none()
            .then_some(()))
    };
    eventually(SOON, "the deletion", look).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    running.stop().await.unwrap();
}

/// An operator that copies the chart of a captain into a child and into its status.
fn copying(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .owns(kind::<ConfigMap>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(async |captain: Arc<Captain>, cx: Context<Captain>| {
            let child = cx.apply(&object("child", &captain.spec.chart)).await?;
            cx.ready("Sails", &child.data.clone().unwrap_or_default()["text"]);
            Ok(Action::await_change())
        });
}

#[tokio::test(start_paused = true)]
async fn a_hundred_edits_by_a_user_are_not_slowed_down() {
    let api = FakeApi::new();
    api.put(&captain("hook", "0"));
    let mut manager = manager(&api);
    copying(&mut manager);
    let (running, began) = (Running::start(manager), Instant::now());
    for number in 1..=100 {
        let chart = number.to_string();
        api.edit("default", "hook", |hook: &mut Captain| {
            hook.spec.chart = chart.clone();
        });
        let look = async || {
            let hook: Captain = api.get("default", "hook").unwrap();
            let status = hook.status.unwrap_or_default();
            Ok(status
                .conditions
                .iter()
                .any(|it| it.message == chart)
                .then_some(()))
        };
        // Every second one comes while the operator works.
        if number % 2 == 0 {
            eventually(SOON, "the status", look).await.unwrap();
        } else {
            tokio::task::yield_now().await;
        }
    }
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(notes(&api), [""; 0]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_hundred_children_that_are_created_one_by_one_and_counted_are_not_slowed_down() {
    let (api, made) = (FakeApi::new(), Arc::new(AtomicUsize::new(0)));
    api.put(&captain("hook", "one"));
    let (mut manager, count) = (manager(&api), made.clone());
    manager
        .controller::<Captain>("captain")
        .owns(kind::<ConfigMap>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(move |_, cx: Context<Captain>| {
            let count = count.clone();
            async move {
                let made = cx.children::<ConfigMap>()?.len();
                count.store(made, Ordering::SeqCst);
                cx.ready("Creates", made.to_string());
                if made < 200 {
                    cx.apply(&object(&format!("child-{made}"), "")).await?;
                }
                Ok(Action::await_change())
            }
        });
    let (running, began) = (Running::start(manager), Instant::now());
    crate::support::reached(&made, 200).await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(notes(&api), [""; 0]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_off_slows_nothing_down() {
    let (api, clock) = (FakeApi::new(), Clock::default());
    api.put(&captain("hook", "one"));
    let mut options = crate::support::options();
    options.storm_guard = false;
    let mut manager = api.manager_with(options);
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(move |_, cx: Context<Captain>| {
            cx.ready("Sails", clock.read());
            async { Ok(Action::requeue(Duration::from_millis(10))) }
        });
    let running = Running::start(manager);
    let look = async || Ok((writes(&api) > 200).then_some(()));
    eventually(SOON, "the writes", look).await.unwrap();
    assert_eq!(notes(&api), [""; 0]);
    running.stop().await.unwrap();
}
