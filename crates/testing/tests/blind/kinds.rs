//! The kinds of the operators on trial, and what they share.

use std::{
    collections::BTreeSet,
    fmt::{self, Debug},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::Job,
        core::v1::{ConfigMap, Secret, Service},
    },
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kbr_testing::{FakeApi, Simulation, simulate};
use kube::{
    Api, CustomResource, CustomResourceExt as _, Resource, ResourceExt as _,
    core::NamespaceResourceScope,
};
use manager::{Action, Cleanup, Context, Key, Manager, Object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

/// The finalizer of the operators that have one.
pub const FINALIZER: &str = "shop.example.com/app";
/// Names the app that an object in another namespace belongs to.
pub const APP: &str = "shop.example.com/app";
/// Where the objects in another namespace are.
pub const REGISTRY: &str = "registry";

pub type Reconciled = anyhow::Result<Action>;

/// The result of a clean-up.
pub type CleanedUp = anyhow::Result<Cleanup>;

/// The error of a reconcile of kube's runtime, which wants a type of its own.
#[derive(Debug)]
pub struct Failure(pub anyhow::Error);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Failure {}

/// An application of a shop.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "shop.example.com",
    version = "v1",
    kind = "App",
    namespaced,
    status = "AppStatus"
)]
#[kube(derive = "Default")]
#[serde(rename_all = "camelCase", default)]
pub struct AppSpec {
    pub image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    pub tier: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The name of a Secret in the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The name of a bucket outside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// Whether the rest of the spec must not change.
    pub locked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// A role that someone has in an app.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "shop.example.com",
    version = "v1",
    kind = "Grant",
    namespaced,
    status = "GrantStatus"
)]
#[kube(derive = "Default")]
#[serde(rename_all = "camelCase", default)]
pub struct GrantSpec {
    /// The name of an app in the same namespace.
    pub app: String,
    pub role: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GrantStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The uid of the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_to: Option<String>,
}

/// An app as a user writes it.
pub fn app(name: &str) -> App {
    let mut app = App::default();
    app.metadata.name = Some(name.to_owned());
    app.spec.image = "web:1".into();
    app.spec.replicas = Some(2);
    app.spec.port = Some(8080);
    app.spec.tier = "gold".into();
    app
}

/// The same, with these parts.
pub fn app_of(name: &str, parts: &[&str]) -> App {
    let mut app = app(name);
    app.spec.parts = parts.iter().map(|&part| part.to_owned()).collect();
    app
}

/// A simulation of an operator, in a cluster that has the definition of its kind.
pub fn trial(register: impl Fn(&mut Manager) + Send + Sync + 'static) -> Simulation {
    simulate(register).define(&App::crd())
}

/// The user changes the spec of the app `web`.
pub fn edit(api: &FakeApi, change: impl FnOnce(&mut AppSpec)) {
    api.edit::<App>("default", "web", |app| change(&mut app.spec));
}

/// A map with one entry.
pub fn map(name: &str, key: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some([(key.to_owned(), value.to_owned())].into());
    map
}

/// The maps of the parts of an app.
pub fn part_maps(app: &App) -> Vec<ConfigMap> {
    let maps = app.spec.parts.iter();
    maps.map(|part| map(&format!("{}-{part}", app.name_any()), "part", part))
        .collect()
}

/// A Secret with one value.
pub fn secret(name: &str, key: &str, value: &str) -> Secret {
    manager::from_json(json!({
        "metadata": { "name": name },
        "data": { key: k8s_openapi::ByteString(value.into()) },
    }))
    .unwrap_or_default()
}

/// The Deployment of an app.
pub fn deployment(app: &App) -> anyhow::Result<Deployment> {
    let labels = json!({ "app": app.name_any() });
    manager::from_json(json!({
        "metadata": { "name": app.name_any(), "labels": labels },
        "spec": {
            "replicas": app.spec.replicas.unwrap_or(1),
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": app.spec.image }] },
            },
        },
    }))
}

/// The Service of an app.
pub fn service(app: &App) -> anyhow::Result<Service> {
    manager::from_json(json!({
        "metadata": { "name": app.name_any() },
        "spec": {
            "selector": { "app": app.name_any() },
            "ports": [{ "name": "http", "port": app.spec.port.unwrap_or(80) }],
        },
    }))
}

/// A Job with this image.
pub fn job(name: &str, image: &str) -> anyhow::Result<Job> {
    manager::from_json(json!({
        "metadata": { "name": name },
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{ "name": "main", "image": image }],
                },
            },
        },
    }))
}

pub fn has_ended(job: &Job) -> bool {
    let status = job.status.as_ref();
    status.is_some_and(|status| status.completion_time.is_some())
}

pub fn available(deployment: &Deployment) -> i32 {
    let status = deployment.status.as_ref();
    status
        .and_then(|status| status.available_replicas)
        .unwrap_or_default()
}

/// The map of an app in the registry, a namespace of its own.
pub fn entry(name: &str, app: &App) -> ConfigMap {
    let mut entry = map(name, "image", &app.spec.image);
    entry.metadata.namespace = Some(REGISTRY.to_owned());
    entry.metadata.annotations = Some([(APP.to_owned(), Key::of(app).to_string())].into());
    entry
}

/// The app that a map in the registry names.
pub fn app_of_entry(map: &ConfigMap) -> Option<Key> {
    let annotations = map.metadata.annotations.as_ref()?;
    annotations.get(APP).map(Key::from)
}

/// Deletes the children of a kind that are not wanted.
pub async fn prune<K: Object, C>(cx: &Context<K>, wanted: &[C]) -> anyhow::Result<()>
where
    C: Object + Resource<DynamicType = ()>,
{
    let names: BTreeSet<_> = wanted.iter().map(|child| &child.meta().name).collect();
    for child in cx.children::<C>()? {
        if !names.contains(&child.meta().name) {
            cx.delete(&*child).await?;
        }
    }
    Ok(())
}

/// Kube's own API of a kind, in the namespace of the object.
pub fn raw<C, K: Object>(cx: &Context<K>) -> Api<C>
where
    C: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned,
{
    Api::namespaced(cx.client(), cx.namespace().unwrap_or_default())
}

/// A short text that differs if these values do. It is the same in each process.
pub fn checksum<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = DefaultHasher::new();
    for value in values {
        value.hash(&mut hasher);
    }
    format!("{:x}", hasher.finish())
}

pub fn uid(app: &App) -> String {
    app.uid().unwrap_or_default()
}

pub fn status(app: &App) -> AppStatus {
    app.status.clone().unwrap_or_default()
}

/// What the operator knew when this reconcile began.
pub fn phase(app: &App) -> Option<&str> {
    app.status.as_ref()?.phase.as_deref()
}

#[expect(clippy::unnecessary_wraps, reason = "it is the end of reconciles")]
pub fn done() -> Reconciled {
    Ok(Action::await_change())
}

#[expect(clippy::unnecessary_wraps, reason = "it is the end of clean-ups")]
pub fn gone() -> CleanedUp {
    Ok(Cleanup::Done)
}
