//! Test reads from the caches in a reconcile.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_testing::FakeApi;
use kube::{
    ResourceExt,
    api::PartialObjectMeta,
    core::{Expression, Selector},
};
use manager::{Action, Context, Manager, kind, metadata};

use crate::support::{Captain, Running, Said, captain, manager, object};

fn map(namespace: &str, name: &str, color: &str) -> ConfigMap {
    let mut map = object(name, color);
    map.metadata.namespace = Some(namespace.to_owned());
    map.labels_mut()
        .insert("color".to_owned(), color.to_owned());
    map
}

/// Three `ConfigMap`s in `default` and one in `other`.
fn maps(api: &FakeApi) {
    for (namespace, name, color) in [
        ("default", "a", "red"),
        ("default", "b", "green"),
        ("default", "c", "red"),
        ("other", "a", "red"),
    ] {
        api.put(&map(namespace, name, color));
    }
}

/// Reconciles a captain once with this function.
async fn once(register: impl FnOnce(&mut Manager)) -> anyhow::Result<Action> {
    let api = FakeApi::new();
    maps(&api);
    api.put(&captain("hook", ""));
    api.reconcile(register, "hook").await
}

fn colors(map: &ConfigMap) -> Vec<String> {
    map.labels().get("color").cloned().into_iter().collect()
}

fn keys(maps: &[Arc<ConfigMap>]) -> Vec<String> {
    let keys = maps.iter().map(|map| manager::Key::of(&**map));
    keys.map(|key| key.to_string()).collect()
}

async fn look(_: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    assert!(
        cx.get::<ConfigMap>("a")?
            .is_some_and(|map| map.namespace().as_deref() == Some("default"))
    );
    assert!(cx.get::<ConfigMap>("other/a")?.is_some());
    assert!(cx.get::<ConfigMap>("other/b")?.is_none());
    assert!(cx.get::<Captain>("hook")?.is_some());

    let all = cx.list::<ConfigMap>().all()?;
    assert_eq!(
        keys(&all),
        ["default/a", "default/b", "default/c", "other/a"]
    );
    let here = cx.list::<ConfigMap>().in_namespace("default");
    assert_eq!(
        keys(&here.with_label("color", "red").all()?),
        ["default/a", "default/c"]
    );
    let red: Selector = [("color", "red")].into_iter().collect();
    assert_eq!(cx.list::<ConfigMap>().matching(red).all()?.len(), 3);
    let not_red = Expression::NotEqual("color".to_owned(), "red".to_owned());
    assert_eq!(
        keys(&cx.list::<ConfigMap>().matching(not_red).all()?),
        ["default/b"]
    );
    for _ in 0..2 {
        let red = cx.list::<ConfigMap>().by(colors, "red");
        assert_eq!(
            keys(&red.in_namespace("default").all()?),
            ["default/a", "default/c"]
        );
        assert!(cx.list::<ConfigMap>().by(colors, "re").keys()?.is_empty());
    }
    Ok(Action::await_change())
}

#[tokio::test]
async fn declared_kinds_can_be_read_and_listed_in_the_first_reconcile() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reads(kind::<ConfigMap>())
            .reconcile(look);
    };
    once(register).await.unwrap();
}

#[tokio::test]
async fn reading_an_undeclared_kind_is_an_error_with_the_line_to_add() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .owns(metadata::<Secret>())
            .reconcile(async |_, cx: Context<Captain>| {
                assert!(cx.get::<PartialObjectMeta<Secret>>("a")?.is_none());
                let error = cx.get::<Secret>("a").unwrap_err().to_string();
                anyhow::ensure!(error.contains("caches the metadata only"), error);
                cx.list::<ConfigMap>().all()?;
                Ok(Action::await_change())
            });
    };
    let error = once(register).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "controller `captain` reads ConfigMap, which it does not cache\n\
         help: add `.reads(kind::<ConfigMap>())` where it is registered, and above that\n    \
         // +kbr:rbac:groups=core,resources=configmaps,verbs=list;watch"
    );
}

#[tokio::test]
async fn a_live_read_needs_no_cache_and_finds_the_object_in_the_namespace_of_its_reader() {
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<Captain>("captain");
        controller.reconcile(async |_, cx: Context<Captain>| {
            assert!(cx.get::<ConfigMap>("a").is_err(), "it is not cached");
            let here = cx.get_live::<ConfigMap>("a").await?.expect("a ConfigMap");
            assert_eq!(here.namespace().as_deref(), Some("default"));
            let there = cx
                .get_live::<ConfigMap>("other/a")
                .await?
                .expect("a ConfigMap");
            assert_eq!(there.namespace().as_deref(), Some("other"));
            assert!(cx.get_live::<ConfigMap>("none").await?.is_none());
            Ok(Action::await_change())
        });
    };
    once(register).await.unwrap();
}

#[tokio::test]
async fn an_index_follows_changes() {
    let api = FakeApi::new();
    maps(&api);
    api.put(&captain("hook", ""));
    let (mut manager, said) = (manager(&api), Said::default());
    let saying = said.clone();
    manager
        .controller::<Captain>("captain")
        .watches(kind::<ConfigMap>(), |_, cached| {
            cached.list::<Captain>().keys()
        })
        .reconcile(move |_, cx: Context<Captain>| {
            let saying = saying.clone();
            async move {
                let red = cx.list::<ConfigMap>().by(colors, "red").all()?;
                saying.say(keys(&red).join(" "));
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    said.heard("default/a default/c other/a").await;
    api.put(&map("default", "a", "blue"));
    said.heard("default/c other/a").await;
    api.delete::<ConfigMap>("other", "a");
    said.heard("default/c").await;
    api.put(&map("default", "b", "red"));
    said.heard("default/b default/c").await;
    running.stop().await.unwrap();
}
