//! Test which of many objects is reconciled first.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::FakeApi;
use manager::{Action, Context, Manager, Trigger};
use tokio::sync::Semaphore;

use crate::support::{Running, Said, manager, object};

/// Registers a controller that reconciles one object for each permit, and records it as `name text`.
fn one_at_a_time(manager: &mut Manager, trigger: &Trigger, said: &Said) -> Arc<Semaphore> {
    let (permits, said) = (Arc::new(Semaphore::new(0)), said.clone());
    let taken = permits.clone();
    manager
        .controller::<ConfigMap>("one")
        .triggered_by(trigger)
        .max_concurrent_reconciles(1)
        .reconcile(move |map: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            let (permits, said) = (taken.clone(), said.clone());
            async move {
                said.say(record(&map, cx.name()));
                permits.acquire().await?.forget();
                Ok(Action::await_change())
            }
        });
    permits
}

/// Registers a controller that records each object. It sees a change after the controllers that are registered before.
fn witness(manager: &mut Manager) -> Said {
    let said = Said::default();
    let saying = said.clone();
    manager.controller::<ConfigMap>("witness").reconcile(
        move |map: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            saying.say(record(&map, cx.name()));
            async { Ok(Action::await_change()) }
        },
    );
    said
}

fn record(map: &ConfigMap, name: &str) -> String {
    let text = map.data.as_ref().and_then(|data| data.get("text"));
    format!("{name} {}", text.map_or("", String::as_str))
}

#[tokio::test]
async fn a_change_goes_before_the_objects_found_at_start_and_those_enqueued_all_at_once() {
    let api = FakeApi::new();
    for name in ["a", "b", "c", "d", "e"] {
        api.put(&object(name, "old"));
    }
    let (mut manager, trigger, said) = (manager(&api), Trigger::new(), Said::default());
    let permits = one_at_a_time(&mut manager, &trigger, &said);
    let witness = witness(&mut manager);
    let running = Running::start(manager);
    said.heard("a old").await;
    api.put(&object("e", "new"));
    witness.heard("e new").await;
    permits.add_permits(4);
    said.heard("d old").await;
    assert_eq!(said.all(), ["a old", "e new", "b old", "c old", "d old"]);

    // `d` is in progress still, so it returns at once.
    trigger.enqueue_all();
    api.put(&object("c", "new"));
    witness.heard("c new").await;
    permits.add_permits(10);
    said.heard_times("a old", 2).await;
    running.stop().await.unwrap();
    let again = &said.all()[5..];
    let place = |what: &str| again.iter().position(|said| said == what);
    assert!(place("c new") < place("a old"), "{again:?}");
}
