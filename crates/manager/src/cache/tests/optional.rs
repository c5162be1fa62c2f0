//! Optional kinds, on an API server that begins and ends to serve them.

use crate::kind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;

use super::{ConfigMap as Map, *};
use crate::{controller::context::Context as Cx, key::Key};

fn meta(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

/// A server with one `ConfigMap` and one Secret that it owns, which is in an optional kind.
fn server() -> Server {
    let server = Server::new();
    server.api.put(&Map {
        metadata: meta("owner"),
        ..Map::default()
    });
    let owner = server.api.get::<Map>("default", "owner").unwrap();
    server.api.put(&Secret {
        metadata: ObjectMeta {
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                name: "owner".to_owned(),
                uid: owner.metadata.uid.unwrap(),
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..meta("child")
        },
        ..Secret::default()
    });
    server
}

/// A manager whose reconciles record whether Secrets are installed, and how many there are.
fn manager(server: &Server) -> (Manager, Arc<Mutex<Vec<String>>>) {
    let mut manager = server.empty_manager(Options::default());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let seeing = seen.clone();
    manager
        .controller::<Map>("map")
        .owns(kind::<Secret>().optional())
        .reconcile(move |_, cx: Cx<Map>| {
            let seen = seeing.clone();
            async move {
                let installed = cx.is_installed::<Secret>()?;
                let found = cx.get::<Secret>(Key::from("default/child"))?.is_some();
                let count = cx.list::<Secret>().all()?.len();
                let text = format!("{installed} {found} {count}");
                seen.lock().unwrap().push(text);
                Ok(Action::await_change())
            }
        });
    (manager, seen)
}

fn last(seen: &Mutex<Vec<String>>) -> String {
    seen.lock().unwrap().last().cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_controller_goes_on_while_an_optional_kind_comes_and_goes() {
    let server = server();
    server.reject(&[("secrets", 404)]);
    let (manager, seen) = manager(&server);
    let (health, metrics) = (manager.health.clone(), manager.metrics.clone());
    let running = run(manager);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(last(&seen), "false false 0");
    let remark = "[+]cache-Secret ok: optional, and not installed";
    assert_eq!(remarks_about(&health, "optional").await, [remark]);
    let synced = r#"manager_cache_synced{kind="Secret"} 1"#;
    assert!(metrics.text().unwrap().contains(synced));

    // Longer than the limit for caches that must be filled.
    sleep(Duration::from_secs(600)).await;
    assert!(!running.is_finished());
    assert_eq!(seen.lock().unwrap().len(), 1);

    server.reject(&[]);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(last(&seen), "true true 1");
    assert_eq!(remarks_about(&health, "optional").await, [""; 0]);

    let (maps, before) = (server.asked("configmaps"), seen.lock().unwrap().len());
    server.reject(&[("secrets", 404)]);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(last(&seen), "false false 0");
    let reconciles = seen.lock().unwrap().len() - before;
    assert!(reconciles <= 2, "{reconciles} reconciles");
    // Its watch was cut, too, but it was not listed again.
    let more = server.asked("configmaps").split_off(maps.len());
    assert!(more.iter().all(|what| what == "watch"), "{more:?}");
    assert!(!running.is_finished());
}

#[tokio::test(start_paused = true)]
async fn one_answer_that_a_kind_is_missing_drops_no_object() {
    let server = server();
    let (manager, seen) = manager(&server);
    let _running = run(manager);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(last(&seen), "true true 1");
    let before = seen.lock().unwrap().len();
    server.reject(&[("secrets", 404)]);
    sleep(Duration::from_millis(100)).await;
    server.reject(&[]);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(seen.lock().unwrap().len(), before);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_one_controller_requires_is_not_optional() {
    let server = server();
    server.reject(&[("secrets", 404)]);
    let (mut manager, _) = manager(&server);
    manager
        .controller::<Map>("other")
        .reads(kind::<Secret>())
        .reconcile(async |_, _| Ok(Action::await_change()));
    let error = run(manager).await.unwrap().unwrap_err().to_string();
    assert!(error.contains("Secret: cannot list"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_may_not_be_listed_is_an_error() {
    let server = server();
    server.reject(&[("secrets", 403)]);
    let (manager, _) = manager(&server);
    let error = run(manager).await.unwrap().unwrap_err().to_string();
    assert!(error.contains("verbs=list;watch"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_optional_controller_starts_when_its_own_kind_is_installed() {
    let server = server();
    server.reject(&[("configmaps", 404)]);
    let mut manager = server.empty_manager(Options::default());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let seeing = seen.clone();
    manager
        .controller::<Map>("map")
        .optional()
        .reconcile(move |map: Arc<Map>, _| {
            let name = map.metadata.name.clone().unwrap_or_default();
            seeing.lock().unwrap().push(name);
            async { Ok(Action::await_change()) }
        });
    let running = run(manager);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(last(&seen), "");
    server.reject(&[]);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(last(&seen), "owner");
    assert!(!running.is_finished());
}
