//! Test faults of the user's code outside its reconcile, and at shutdown.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, is_ready};
use manager::{Action, Context, webhook::Validator};
use tokio::{net::TcpStream, sync::Notify, time::sleep};

use crate::support::{Captain, Running, captain, manager, object, options, reached};

#[tokio::test]
async fn an_object_whose_accessor_panics_after_its_reconcile_is_retried() {
    let api = FakeApi::new();
    api.put(&captain("a", "b"));
    let mut manager = manager(&api);
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, asked) = (count.clone(), count.clone());
    manager
        .controller::<Captain>("captain")
        .conditions(move |status| {
            // A failed reconcile sets the condition.
            assert!(asked.load(Ordering::SeqCst) > 3, "not yet");
            (&mut status.conditions, &mut status.observed_generation)
        })
        .reconcile(move |_, cx: Context<Captain>| {
            let count = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                anyhow::ensure!(count > 3, "told to fail");
                cx.ready("Done", "all is well");
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    reached(&count, 5).await;
    running.stop().await.unwrap();
    let status = api.get::<Captain>("default", "a").unwrap().status;
    assert!(is_ready(&status.unwrap().conditions));
}

#[tokio::test]
async fn a_task_that_panics_ends_the_manager() {
    for leading in [true, false] {
        let mut manager = manager(&FakeApi::new());
        if leading {
            manager.leading("leak", async |_| panic!("we sink"));
        } else {
            manager.always("leak", async |_| panic!("we sink"));
        }
        let error = manager.run_until(std::future::pending()).await.unwrap_err();
        assert!(error.to_string().contains("we sink"), "{error}");
    }
}

struct All;

impl Validator<ConfigMap> for All {}

#[tokio::test(start_paused = true)]
async fn webhooks_are_served_until_the_last_reconcile_has_ended() {
    let api = FakeApi::new();
    api.put(&object("a", ""));
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut options = options();
    options.webhook_host = Some("127.0.0.1".to_owned());
    options.webhook_port = address.port();
    options.shutdown_timeout = Duration::from_secs(600);
    let mut manager = api.manager_with(options);
    manager.validator::<ConfigMap>(All);
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parts = (begun.clone(), go_on.clone());
    manager
        .controller::<ConfigMap>("map")
        .reconcile(move |_, _| {
            let (begun, go_on) = parts.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    begun.notified().await;
    let stopping = tokio::spawn(running.stop());
    // In the time of the test, which jumps.
    sleep(Duration::from_secs(60)).await;
    TcpStream::connect(address).await.expect("it is served");
    go_on.notify_one();
    stopping.await.unwrap().unwrap();
    TcpStream::connect(address).await.expect_err("it has ended");
}
