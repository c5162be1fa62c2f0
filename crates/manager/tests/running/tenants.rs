//! Test that the objects of one namespace do not delay those of another.

use std::{future::pending, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use kube::ResourceExt;
use manager::{Action, Context, Manager};

use crate::support::{Running, SOON, Said, manager, object};

/// How many objects of namespace `a` hang.
const FLOOD: usize = 1_000;

fn map(namespace: &str, name: &str) -> ConfigMap {
    let mut map = object(name, "");
    map.metadata.namespace = Some(namespace.to_owned());
    map
}

/// Registers a controller whose reconciles of namespace `a` never end.
fn hanging(manager: &mut Manager, workers: usize) -> Said {
    let said = Said::default();
    let saying = said.clone();
    manager
        .controller::<ConfigMap>("map")
        .max_concurrent_reconciles(workers)
        .reconcile(move |map: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            let saying = saying.clone();
            async move {
                saying.say(cx.key().to_string());
                if map.namespace().as_deref() == Some("a") {
                    pending::<()>().await;
                }
                Ok(Action::await_change())
            }
        });
    said
}

/// The number of reconciles in namespace `a`.
fn in_a(said: &Said) -> usize {
    said.all()
        .iter()
        .filter(|key| key.starts_with("a/"))
        .count()
}

#[tokio::test]
async fn hanging_objects_of_one_namespace_delay_no_other_namespace() {
    let api = FakeApi::new();
    for number in 0..FLOOD {
        api.put(&map("a", &number.to_string()));
    }
    for workers in [2, 10] {
        let mut manager = manager(&api);
        let said = hanging(&mut manager, workers);
        let running = Running::start(manager);
        let name = format!("of-{workers}");
        let held = async || Ok((in_a(&said) == workers).then_some(()));
        eventually(SOON, "the workers", held).await.unwrap();
        // Each of these would wait for the time limit of a reconcile, five minutes.
        for again in 1..4 {
            api.put(&map("b", &name));
            said.heard_times(&format!("b/{name}"), again).await;
        }
        assert_eq!(in_a(&said), workers);
        running.stop().await.unwrap_err();
    }
}
