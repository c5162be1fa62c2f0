//! Test kinds that have no Rust type.

use std::sync::{Arc, LazyLock, OnceLock};

use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::Condition};
use kbr_testing::{FakeApi, eventually, is_ready, reason, review};
use kube::{
    ResourceExt as _,
    api::{ApiResource, GroupVersionKind, PartialObjectMeta},
};
use manager::{
    Action, Context, Dynamic, DynamicKind, Manager, kind, metadata,
    webhook::{Rejection, Request, Validator, Warnings},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{SOON, Said};

fn farm(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("farm.example.com", "v1", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

/// A kind whose names are known when the operator is compiled.
enum Ox {}

impl DynamicKind for Ox {
    type Scope = NamespaceResourceScope;

    fn resource() -> &'static ApiResource {
        static OXEN: LazyLock<ApiResource> = LazyLock::new(|| farm("Ox", "oxen"));
        &OXEN
    }
}

/// A kind whose names are set when the operator starts.
enum Tool {}

static TOOL: OnceLock<ApiResource> = OnceLock::new();

impl DynamicKind for Tool {
    type Scope = NamespaceResourceScope;

    fn resource() -> &'static ApiResource {
        TOOL.get().unwrap()
    }
}

fn farm_with(names: &[&str]) -> FakeApi {
    TOOL.get_or_init(|| farm("Plough", "ploughs-of-oxen"));
    let api = FakeApi::new();
    for name in names {
        api.put(&Dynamic::<Ox>::new(name, json!({"spec": {"weight": 500}})));
    }
    api
}

fn sent(api: &FakeApi, method: &str) -> usize {
    let requests = api.requests();
    let sent = requests
        .iter()
        .filter(|request| request.starts_with(method));
    sent.count()
}

/// Gives each ox a plough of its weight.
async fn plough(ox: Arc<Dynamic<Ox>>, cx: Context<Dynamic<Ox>>) -> anyhow::Result<Action> {
    let depth = ox.data["spec"]["weight"].as_i64().unwrap_or_default() / 100;
    let tool = Dynamic::<Tool>::new(cx.name(), json!({"spec": {"depth": depth}}));
    let applied = cx.apply(&tool).await?;
    anyhow::ensure!(
        applied.data["spec"] == tool.data["spec"],
        "not returned whole"
    );
    let cached = cx.get::<PartialObjectMeta<Dynamic<Tool>>>(cx.name())?;
    let version = cached.and_then(|cached| cached.metadata.resource_version.clone());
    anyhow::ensure!(
        version == applied.metadata.resource_version,
        "a write is not seen"
    );
    cx.status(|status| status["plough"] = json!(applied.name_any()));
    Ok(Action::await_change())
}

#[tokio::test]
async fn a_controller_of_a_dynamic_kind_applies_children_and_sets_the_status() {
    let api = farm_with(&["a"]);
    let mut run = api
        .run(|manager| {
            let controller = manager.controller::<Dynamic<Ox>>("ox");
            controller
                .owns(metadata::<Dynamic<Tool>>())
                .reconcile(plough);
        })
        .unwrap();
    run.idle().await.unwrap();
    let ox: Dynamic<Ox> = api.get("default", "a").unwrap();
    assert_eq!(ox.status, Some(json!({"plough": "a"})));
    let tool: Dynamic<Tool> = api.get("default", "a").unwrap();
    assert_eq!(tool.data, json!({"spec": {"depth": 5}}));
    assert_eq!(tool.owner_references()[0].uid, ox.uid().unwrap());
    let patches = sent(&api, "PATCH");
    assert_eq!(patches, 2, "{:?}", api.requests());

    // The owner is enqueued and applies the child again.
    api.delete::<Dynamic<Tool>>("default", "a");
    let again = async || Ok(api.get::<Dynamic<Tool>>("default", "a"));
    eventually(SOON, "the plough", again).await.unwrap();
    run.idle().await.unwrap();
    assert_eq!(sent(&api, "PATCH"), patches + 1);
}

#[tokio::test]
async fn two_dynamic_kinds_are_kept_apart() {
    let api = farm_with(&["a", "b"]);
    api.put(&Dynamic::<Tool>::new("a", json!({})));
    let said = Said::default();
    let (oxen, tools) = (said.clone(), said.clone());
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<Dynamic<Ox>>("ox");
        controller
            .reads(kind::<Dynamic<Tool>>())
            .reconcile(move |_, cx| {
                let tool = cx.get::<Dynamic<Tool>>(cx.name()).unwrap().is_some();
                oxen.say(format!("ox {}, with a tool: {tool}", cx.name()));
                async { Ok(Action::await_change()) }
            });
        let controller = manager.controller::<Dynamic<Tool>>("tool");
        controller.reconcile(move |_, cx| {
            tools.say(format!("tool {}", cx.name()));
            async { Ok(Action::await_change()) }
        });
    };
    api.run(register).unwrap().idle().await.unwrap();
    let mut all = said.all();
    all.sort();
    assert_eq!(
        all,
        [
            "ox a, with a tool: true",
            "ox b, with a tool: false",
            "tool a"
        ]
    );
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Health {
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
}

#[tokio::test]
async fn a_dynamic_kind_with_a_typed_status_has_conditions() {
    let api = farm_with(&["a"]);
    let register = |fails: bool| {
        move |manager: &mut Manager| {
            manager
                .controller::<Dynamic<Ox, Health>>("ox")
                .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
                .reconcile(move |_, cx| async move {
                    anyhow::ensure!(!fails, "it is ill");
                    cx.ready("Fed", "it has hay");
                    Ok(Action::await_change())
                });
        }
    };
    let health = || {
        let ox: Dynamic<Ox, Health> = api.get("default", "a").unwrap();
        ox.status.unwrap()
    };
    api.reconcile(register(false), "a").await.unwrap();
    assert!(is_ready(&health().conditions));
    assert_eq!(health().observed_generation, Some(1));
    api.reconcile(register(true), "a").await.unwrap_err();
    assert_eq!(
        reason(&health().conditions, "Ready"),
        Some("ReconcileFailed")
    );
}

struct Heavy;

impl Validator<Dynamic<Ox>> for Heavy {
    async fn validate_create(
        &self,
        ox: &Dynamic<Ox>,
        _: &Request<Dynamic<Ox>>,
    ) -> Result<Warnings, Rejection> {
        match ox.data["spec"]["weight"].as_i64() {
            Some(400..) => Ok(Warnings::new()),
            _ => Err(Rejection::forbidden("it is too light")),
        }
    }
}

#[tokio::test]
async fn a_dynamic_kind_has_webhooks() {
    let api = FakeApi::new();
    for (weight, allowed) in [(500, true), (300, false)] {
        let ox = Dynamic::<Ox>::new("a", json!({"spec": {"weight": weight}}));
        let register = |manager: &mut Manager| manager.validator::<Dynamic<Ox>>(Heavy);
        let admitted = api.admit(register, &review(None, Some(&ox))).await;
        assert_eq!(admitted.allowed, allowed, "{}", admitted.message);
    }
}
