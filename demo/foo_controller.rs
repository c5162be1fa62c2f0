//! The controller `foo` of `Foo`: for each Foo a Deployment of `spec.replicas` Pods that run `spec.image`.

use std::sync::Arc;

use api::samplecontroller::v1alpha1::Foo;

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use manager::{Action, Context, Manager};
use serde_json::json;

// +kbr:rbac:groups=samplecontroller.c9g.io,resources=foos,verbs=get;list;watch
// +kbr:rbac:groups=samplecontroller.c9g.io,resources=foos/status,verbs=get;patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
/// Tells the manager what this controller watches and what it does.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Foo>("foo")
        .owns_cached::<Deployment>()
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Brings the world in line with one `Foo`: called after each change of it or of its Deployment, and again after an error.
async fn reconcile(foo: Arc<Foo>, cx: Context<Foo>) -> anyhow::Result<Action> {
    let deployment = cx.apply(&deployment(&foo)?).await?;
    let status = deployment.status.unwrap_or_default();
    let available = status.available_replicas.unwrap_or_default();
    cx.status(|status| status.available_replicas = available);
    cx.ready("Deployed", "the Deployment is as the spec wants it");
    Ok(Action::await_change())
}

/// The Deployment that `foo` stands for, with nothing in it that others decide.
fn deployment(foo: &Foo) -> serde_json::Result<Deployment> {
    let labels = json!({ "app.kubernetes.io/instance": foo.name_any() });
    serde_json::from_value(json!({
        "metadata": { "name": foo.name_any(), "namespace": foo.namespace(), "labels": labels },
        "spec": {
            "replicas": foo.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": foo.spec.image }] },
            },
        },
    }))
}
