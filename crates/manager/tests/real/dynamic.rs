//! Test kinds that have no Rust type, and whose names the operator learns from the API server.

use std::{sync::OnceLock, time::Duration};

use k8s_openapi::{NamespaceResourceScope, api::core::v1::ConfigMap};
use kbr_testing::{Cluster, eventually};
use kube::{
    Api, Client, ResourceExt as _,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
    },
    core::discovery::Scope,
    discovery,
};
use manager::{Action, Cleanup, Context, Dynamic, DynamicKind, Manager, metadata};
use serde_json::{Value, json};

use crate::talk;

const SOON: Duration = Duration::from_secs(60);
const GROUP: &str = "farm.example.com";
const FINALIZER: &str = "farm.example.com/ox";

static OX: OnceLock<ApiResource> = OnceLock::new();
static PLOUGH: OnceLock<ApiResource> = OnceLock::new();

enum Ox {}

impl DynamicKind for Ox {
    type Scope = NamespaceResourceScope;

    fn resource() -> &'static ApiResource {
        OX.get().unwrap()
    }
}

enum Plough {}

impl DynamicKind for Plough {
    type Scope = NamespaceResourceScope;

    fn resource() -> &'static ApiResource {
        PLOUGH.get().unwrap()
    }
}

/// Installs a kind with a plural that cannot be guessed, and asks the API server for it.
async fn install(client: &Client, kind: &str, plural: &str, into: &OnceLock<ApiResource>) {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": anything, "status": anything}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
            }],
        },
    });
    talk::install(client, &crd).await;
    let kind = GroupVersionKind::gvk(GROUP, "v1", kind);
    let found = async || Ok(discovery::pinned_kind(client, &kind).await.ok());
    let (resource, _) = eventually(SOON, "the kind", found).await.unwrap();
    assert_eq!(resource.plural, plural);
    assert!(into.set(resource).is_ok());
}

/// What a template renders for an ox.
fn rendered(ox: &str) -> (ApiResource, DynamicObject) {
    let resource = ApiResource::erase::<ConfigMap>(&());
    let data = json!({"data": {"ox": ox}});
    let object = DynamicObject::new(&format!("{ox}-papers"), &resource).data(data);
    (resource, object)
}

async fn reconcile(cx: Context<Dynamic<Ox>>) -> anyhow::Result<Action> {
    let weight = cx.object().data["spec"]["weight"].as_i64();
    let plough = json!({"spec": {"depth": weight.unwrap_or_default() / 100}});
    let plough = cx.apply(&Dynamic::<Plough>::new(cx.name(), plough)).await?;
    let (resource, papers) = rendered(cx.name());
    cx.apply_object(&resource, &Scope::Namespaced, &papers)
        .await?;
    cx.status(|status| status["plough"] = json!(plough.uid()));
    Ok(Action::await_change())
}

/// An API server alone has no garbage collector.
async fn cleanup(cx: Context<Dynamic<Ox>>) -> anyhow::Result<Cleanup> {
    cx.delete(&Dynamic::<Plough>::new(cx.name(), Value::Null))
        .await?;
    let (resource, papers) = rendered(cx.name());
    cx.delete_object(&resource, &Scope::Namespaced, &papers)
        .await?;
    Ok(Cleanup::Done)
}

/// Waits until the child has been applied, and the status names it.
async fn converged(cluster: &Cluster, depth: i64) {
    let (oxen, ploughs) = (
        cluster.api::<Dynamic<Ox>>(),
        cluster.api::<Dynamic<Plough>>(),
    );
    let look = async || {
        let plough = ploughs.get_opt("a").await?;
        let Some(plough) = plough.filter(|plough| plough.data["spec"]["depth"] == depth) else {
            return Ok(None);
        };
        let ox = oxen.get("a").await?;
        assert_eq!(plough.owner_references()[0].uid, ox.uid().unwrap());
        assert_eq!(ox.finalizers(), [FINALIZER]);
        let named = ox
            .status
            .is_some_and(|status| status["plough"] == json!(plough.uid()));
        Ok(named.then_some(()))
    };
    eventually(SOON, "the plough", look).await.unwrap();
}

pub async fn reconciles_children_status_and_finalizer() {
    let cluster = Cluster::connect().await.unwrap();
    install(&cluster.client(), "Ox", "oxen", &OX).await;
    install(&cluster.client(), "Plough", "ploughing-tools", &PLOUGH).await;
    let options = crate::options(&cluster);
    let mut manager = Manager::new(options, "test.example.com").await.unwrap();
    manager
        .controller::<Dynamic<Ox>>("ox")
        .owns(metadata::<Dynamic<Plough>>())
        .finalizer(FINALIZER, |_, cx| cleanup(cx))
        .reconcile(|_, cx| reconcile(cx));
    let operator = tokio::spawn(async move { manager.run_until(std::future::pending()).await });

    let oxen: Api<Dynamic<Ox>> = cluster.api();
    let ox = Dynamic::new("a", json!({"spec": {"weight": 500}}));
    oxen.create(&PostParams::default(), &ox).await.unwrap();
    converged(&cluster, 5).await;
    let ploughs: Api<Dynamic<Plough>> = cluster.api();
    let edit = Patch::Merge(json!({"spec": {"depth": 99}}));
    let edited = ploughs.patch("a", &PatchParams::default(), &edit).await;
    edited.unwrap();
    converged(&cluster, 5).await;
    let maps: Api<ConfigMap> = cluster.api();
    let papers = maps.get("a-papers").await.unwrap();
    assert_eq!(papers.owner_references()[0].kind, "Ox");

    oxen.delete("a", &DeleteParams::default()).await.unwrap();
    let gone = async || Ok(oxen.get_opt("a").await?.is_none().then_some(()));
    eventually(SOON, "the deletion", gone).await.unwrap();
    assert!(ploughs.get_opt("a").await.unwrap().is_none());
    assert!(maps.get_opt("a-papers").await.unwrap().is_none());
    assert!(!operator.is_finished());
    operator.abort();
    cluster.close().await.unwrap();
}
