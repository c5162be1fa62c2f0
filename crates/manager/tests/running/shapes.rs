//! Test caches that hold only selected objects, or parts of objects.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Namespace, Secret},
};
use kbr_testing::{FakeApi, Run, eventually};
use kube::{
    ResourceExt,
    api::{ObjectMeta, PartialObjectMeta},
    core::Expression,
};
use manager::{Action, Context, Manager, kind, metadata};

use crate::support::{Captain, Running, SOON, Said, captain, object, options};

const HOUR: Duration = Duration::from_secs(3600);

fn secret(namespace: &str, name: &str, crew: Option<&str>) -> Secret {
    Secret {
        metadata: ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            labels: crew.map(|crew| [("crew".to_owned(), crew.to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some([("chart".to_owned(), ByteString(vec![0; 100]))].into()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// Reconciles one captain, which reports the Secrets that it sees, and is reconciled again when one of them changes.
fn sees(manager: &mut Manager, said: &Said) {
    let said = said.clone();
    manager
        .controller::<Captain>("captain")
        .watches(kind::<Secret>(), |_, _| Ok(vec!["default/ahab".into()]))
        .reconcile(move |_, cx: Context<Captain>| {
            let said = said.clone();
            async move {
                let secrets = cx.list::<Secret>().all()?;
                let sizes = secrets.iter().map(|secret| {
                    let bytes = secret.data.iter().flatten().map(|(_, value)| value.0.len());
                    format!("{}:{}", secret.name_any(), bytes.sum::<usize>())
                });
                said.say(sizes.collect::<Vec<_>>().join(" "));
                Ok(Action::await_change())
            }
        });
}

/// A captain and four Secrets: two with the label `crew=whaler`, one with another value, one without it.
fn secrets() -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("ahab", ""));
    api.put(&secret("default", "a", Some("whaler")));
    api.put(&secret("default", "b", Some("other")));
    api.put(&secret("default", "c", None));
    api.put(&secret("far", "d", Some("whaler")));
    api
}

/// What the controller sees at first.
async fn seen(configure: impl FnOnce(&mut Manager)) -> Option<String> {
    let (api, said) = (secrets(), Said::default());
    let register = |manager: &mut Manager| {
        configure(manager);
        sees(manager, &said);
    };
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    said.last()
}

#[tokio::test]
async fn a_cache_holds_what_its_selectors_and_namespaces_select() {
    let all = seen(|_| ()).await;
    assert_eq!(all.as_deref(), Some("a:100 b:100 c:100 d:100"));
    let labelled = seen(|manager| {
        manager.cache::<Secret>().with_label("crew", "whaler");
    });
    assert_eq!(labelled.await.as_deref(), Some("a:100 d:100"));
    let without = Expression::DoesNotExist("crew".to_owned());
    let without = seen(|manager| {
        manager.cache::<Secret>().matching(without);
    });
    assert_eq!(without.await.as_deref(), Some("c:100"));
    let named = seen(|manager| {
        let mut cache = manager.cache::<Secret>();
        cache.fields("type=Opaque").fields("metadata.name!=b");
    });
    assert_eq!(named.await.as_deref(), Some("a:100 c:100 d:100"));
    let far = seen(|manager| {
        manager
            .cache::<Secret>()
            .in_namespaces(["far"])
            .page_size(1);
    });
    assert_eq!(far.await.as_deref(), Some("d:100"));
}

#[tokio::test]
async fn an_object_that_leaves_the_selection_looks_deleted_and_one_that_enters_it_new() {
    let (api, said) = (secrets(), Said::default());
    let register = |manager: &mut Manager| {
        manager
            .cache::<Secret>()
            .with_label("crew", "whaler")
            .page_size(1);
        sees(manager, &said);
    };
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    api.put(&secret("default", "a", Some("other")));
    said.heard("d:100").await;
    api.put(&secret("default", "c", Some("whaler")));
    said.heard("c:100 d:100").await;
    // The watch starts again with the same selection.
    api.cut_off(true);
    api.put(&secret("default", "b", Some("whaler")));
    api.put(&secret("default", "e", None));
    api.cut_off(false);
    said.heard("b:100 c:100 d:100").await;
    run.idle().await.unwrap();
}

#[tokio::test]
async fn a_transform_runs_before_an_object_is_cached() {
    let dropped = seen(|manager| {
        manager.cache::<Secret>().transform(|secret| {
            assert_ne!(secret.name_any(), "b");
            secret.data = None;
        });
    });
    // The one for which it panics is skipped, like one that cannot be read.
    assert_eq!(dropped.await.as_deref(), Some("a:0 c:0 d:0"));
}

#[tokio::test]
async fn the_namespaces_of_a_cache_replace_those_of_the_manager() {
    let (api, said) = (secrets(), Said::default());
    let mut options = options();
    options.watch_namespace = vec!["default".to_owned()];
    let mut manager = api.manager_with(options);
    manager.cache::<Secret>().in_namespaces(["far"]);
    sees(&mut manager, &said);
    let running = Running::start(manager);
    said.heard("d:100").await;
    running.stop().await.unwrap();
    let of = |plural: &str| {
        let requests = api.requests();
        let mut lists = requests.iter().filter(|request| request.contains(plural));
        lists.next().cloned().unwrap()
    };
    assert!(
        of("secrets").contains("/namespaces/far/"),
        "{:?}",
        api.requests()
    );
    assert!(of("captains").contains("/namespaces/default/"));
}

/// Runs a controller that applies one `ConfigMap` with the label `crew`, in a cache with the label `crew=whaler`.
fn applying(api: &FakeApi, crew: &'static str, said: &Said) -> Run {
    api.put(&captain("ahab", ""));
    let said = said.clone();
    let register = move |manager: &mut Manager| {
        let mut cache = manager.cache::<PartialObjectMeta<ConfigMap>>();
        cache.with_label("crew", "whaler");
        manager
            .controller::<Captain>("captain")
            .owns(metadata::<ConfigMap>())
            .reconcile(move |_: Arc<Captain>, cx: Context<Captain>| {
                let said = said.clone();
                async move {
                    let mut map = object("chart", "");
                    map.labels_mut().insert("crew".to_owned(), crew.to_owned());
                    let result = cx.apply(&map).await;
                    said.say(
                        result
                            .as_ref()
                            .map_or_else(ToString::to_string, |_| "applied".to_owned()),
                    );
                    Ok(Action::await_change())
                }
            });
    };
    api.run(register).unwrap()
}

/// How often a `ConfigMap` of this name is written by a controller that applies it in each of five reconciles, to a
/// cache without `chart`.
async fn written(name: &'static str) -> usize {
    let api = FakeApi::new();
    api.put(&captain("ahab", ""));
    let register = move |manager: &mut Manager| {
        let mut cache = manager.cache::<PartialObjectMeta<ConfigMap>>();
        cache.fields("metadata.name!=chart");
        manager
            .controller::<Captain>("captain")
            .owns(metadata::<ConfigMap>())
            .reconcile(move |_: Arc<Captain>, cx: Context<Captain>| async move {
                cx.apply(&object(name, "")).await?;
                Ok(Action::requeue(HOUR))
            });
    };
    let mut run = api.run(register).unwrap();
    for _ in 0..5 {
        run.idle().await.unwrap();
        api.advance(HOUR);
    }
    run.idle().await.unwrap();
    patches(&api)
}

#[tokio::test]
async fn a_child_whose_fields_are_not_selected_is_applied_in_each_reconcile() {
    assert!(written("log").await <= 2);
    assert!(written("chart").await >= 5);
}

fn patches(api: &FakeApi) -> usize {
    let requests = api.requests();
    let patches = requests
        .iter()
        .filter(|request| request.starts_with("PATCH") && request.contains("configmaps"));
    patches.count()
}

#[tokio::test]
async fn a_selected_child_is_applied_once_and_again_when_it_has_lost_its_label() {
    let (api, said) = (FakeApi::new(), Said::default());
    let mut run = applying(&api, "whaler", &said);
    // Once when it is created, and once because of that.
    said.heard_times("applied", 2).await;
    run.idle().await.unwrap();
    assert_eq!(patches(&api), 1);

    let mut map: ConfigMap = api.get("default", "chart").unwrap();
    map.labels_mut().clear();
    api.put(&map);
    let look = async || {
        let map: ConfigMap = api.get("default", "chart").unwrap();
        Ok(map.labels().contains_key("crew").then_some(()))
    };
    eventually(SOON, "the label", look).await.unwrap();
    run.idle().await.unwrap();
    assert_eq!(patches(&api), 2);
}

#[tokio::test]
async fn a_child_outside_the_selection_is_not_written() {
    let (api, said) = (FakeApi::new(), Said::default());
    let mut run = applying(&api, "other", &said);
    run.idle().await.unwrap();
    let error = said.last().unwrap();
    assert!(
        error.contains("ConfigMap `default/chart` would not be in the cache"),
        "{error}"
    );
    assert!(error.contains("the labels `crew=whaler`"), "{error}");
    assert!(
        error.contains("manager.cache::<PartialObjectMeta<ConfigMap>>()"),
        "{error}"
    );
    assert_eq!(patches(&api), 0);
}

/// It could not be read again. The cache of a kind may also be that of `reads` or `watches`.
#[tokio::test]
async fn a_child_of_a_kind_that_is_only_read_is_not_written_outside_the_selection() {
    let api = FakeApi::new();
    api.put(&captain("ahab", ""));
    let register = |manager: &mut Manager| {
        manager.cache::<Secret>().with_label("crew", "whaler");
        manager.cache::<ConfigMap>().with_label("crew", "whaler");
        manager
            .controller::<Captain>("captain")
            .reads(kind::<Secret>())
            .watches(kind::<ConfigMap>(), |_, _| Ok(Vec::new()))
            .reconcile(async |_: Arc<Captain>, cx: Context<Captain>| {
                let errors = [
                    cx.apply(&secret("default", "a", None)).await.map(drop),
                    cx.create(&secret("default", "a", None)).await.map(drop),
                    cx.apply(&object("chart", "")).await.map(drop),
                    cx.create(&object("chart", "")).await.map(drop),
                ];
                for error in errors {
                    let error = error.unwrap_err().to_string();
                    assert!(error.contains("would not be in the cache"), "{error}");
                    assert!(error.contains("the labels `crew=whaler`"), "{error}");
                }
                cx.apply(&secret("default", "a", Some("whaler"))).await?;
                assert!(cx.get::<Secret>("a")?.is_some());
                Ok(Action::await_change())
            });
    };
    api.reconcile(register, "ahab").await.unwrap();
    assert_eq!(api.all_json("configmaps").len(), 0);
}

#[tokio::test]
async fn an_object_of_others_outside_the_selection_is_not_taken_over() {
    let (api, said) = (FakeApi::new(), Said::default());
    api.put(&object("chart", "of others"));
    let mut run = applying(&api, "whaler", &said);
    run.idle().await.unwrap();
    let error = said.last().unwrap();
    assert!(error.contains("exists and has no owner"), "{error}");
    assert_eq!(patches(&api), 0);
}

#[tokio::test]
async fn mistakes_in_the_configuration_of_a_cache_are_reported_together() {
    let wrong = |manager: &mut Manager| {
        manager.cache::<Secret>().page_size(0).in_namespaces([""]);
        manager
            .cache::<Secret>()
            .transform(|_| ())
            .transform(|_| ());
        manager.cache::<Namespace>().in_namespaces(["a"]);
        manager.cache::<ConfigMap>();
        manager
            .controller::<Captain>("captain")
            .owns(metadata::<ConfigMap>())
            .reads(kind::<Secret>())
            .reads(kind::<Namespace>())
            .reconcile(async |_, _| Ok(Action::await_change()));
    };
    let error = FakeApi::new().run(wrong).unwrap_err().to_string();
    for part in [
        "`page_size` is 0",
        "names no namespace",
        "`manager.cache::<Secret>()` is called twice",
        "`manager.cache::<Secret>()` has two transforms",
        "the kind is cluster-scoped",
        "`manager.cache::<ConfigMap>()` has no effect",
        "configured by `cache::<PartialObjectMeta<ConfigMap>>()`",
    ] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
}
