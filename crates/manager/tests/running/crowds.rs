//! Test controllers that write one object at the same time.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kbr_testing::{FakeApi, eventually};
use kube::ResourceExt as _;
use manager::{Action, Context, Manager, harness::Simulation, kind, predicate};
use tokio::sync::Barrier;

use crate::support::{Captain, SOON, captain, object};

const CONTROLLERS: usize = 8;

/// How a controller, by its number, writes an object that all of them write.
type Write =
    fn(&Context<Captain>, usize) -> futures_util::future::BoxFuture<'_, anyhow::Result<()>>;

/// How many reconciles it takes until all have written, which begin at once.
async fn reconciles(api: &FakeApi, write: Write, have_written: impl Fn() -> bool) -> usize {
    let (count, barrier) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Barrier::new(CONTROLLERS)),
    );
    let counted = count.clone();
    let register = move |manager: &mut Manager| {
        for number in 0..CONTROLLERS {
            let parts = (counted.clone(), barrier.clone());
            manager
                .controller::<Captain>(&format!("captain-{number}"))
                .conditions_only(|status| &mut status.conditions)
                .without_automatic_ready()
                .when(predicate::generation_changed)
                .reads(kind::<ConfigMap>())
                .reconcile(move |_, cx: Context<Captain>| {
                    let (count, barrier) = parts.clone();
                    async move {
                        // A reconcile is repeated only if it has failed.
                        if count.fetch_add(1, Ordering::SeqCst) < CONTROLLERS {
                            barrier.wait().await;
                        }
                        write(&cx, number).await?;
                        Ok(Action::await_change())
                    }
                });
        }
    };
    let mut run = api.run(register).unwrap();
    let look = async || Ok(have_written().then_some(()));
    eventually(SOON, "all writes", look).await.unwrap();
    run.idle().await.unwrap();
    count.load(Ordering::SeqCst)
}

/// In virtual time, and with the same delays in every run.
#[tokio::test(start_paused = true)]
async fn none_of_eight_controllers_that_write_one_status_at_once_fails() {
    for seed in 0..20 {
        let _simulation = Simulation::begin(seed, Timestamp::UNIX_EPOCH);
        let api = FakeApi::new();
        api.put(&captain("hook", ""));
        let write: Write = |cx, number| {
            cx.condition(&format!("Of{number}"), true, "Written", "");
            Box::pin(async { Ok(()) })
        };
        let all = || {
            let captain: Captain = api.get("default", "hook").unwrap();
            let status = captain.status.unwrap_or_default();
            status.conditions.len() == CONTROLLERS
        };
        assert_eq!(reconciles(&api, write, all).await, CONTROLLERS, "{seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn none_of_eight_controllers_that_update_one_object_at_once_fails() {
    for seed in 0..20 {
        let _simulation = Simulation::begin(seed, Timestamp::UNIX_EPOCH);
        let api = FakeApi::new();
        api.put(&captain("hook", ""));
        api.put(&object("map", ""));
        let write: Write = |cx, number| {
            Box::pin(async move {
                let map = cx.get::<ConfigMap>("map")?.unwrap();
                let mark = |map: &mut ConfigMap| {
                    map.labels_mut()
                        .insert(format!("of-{number}"), "yes".to_owned());
                };
                cx.update(&*map, mark).await?;
                Ok(())
            })
        };
        let all = || {
            let map: ConfigMap = api.get("default", "map").unwrap();
            map.labels().len() == CONTROLLERS
        };
        assert_eq!(reconciles(&api, write, all).await, CONTROLLERS, "{seed}");
    }
}
