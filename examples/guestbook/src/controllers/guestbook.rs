//! The `guestbook` controller for `Guestbook`: manages a `ConfigMap`, a Deployment that reads it, and a Service.

mod children;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::webapp::v1::Guestbook;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
};
use manager::{Action, Context, Manager, kind, metadata, with};

use crate::images::Images;

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks,verbs=get;list;watch
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks/status,verbs=patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kbr:rbac:groups=core,resources=configmaps;services,verbs=get;list;watch;create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager, images: &Arc<Images>) {
    manager
        .controller::<Guestbook>("guestbook")
        // Whole, because each reconcile reads its status.
        .owns(kind::<Deployment>())
        // Metadata only: a cluster has many of them.
        .owns(metadata::<ConfigMap>())
        .owns(kind::<Service>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(with(images, reconcile));
}

/// Reconciles one `Guestbook`. Runs whenever the object or one of its children changes, and again after an error.
async fn reconcile(
    guestbook: Arc<Guestbook>,
    cx: Context<Guestbook>,
    images: Arc<Images>,
) -> anyhow::Result<Action> {
    // Objects that are older than the webhook have no image.
    let image = guestbook.spec.image.as_deref().unwrap_or(&images.default);
    report_image(&cx, image, &images);

    let settings = children::config_map(&guestbook)?;
    cx.apply(&settings).await?;
    cx.apply(&children::service(&guestbook)?).await?;
    let deployment = children::deployment(&guestbook, image, &settings)?;
    let deployment = cx.apply(&deployment).await?;
    report_pods(&cx, &guestbook, &deployment);
    Ok(Action::await_change())
}

/// Reports an image that is not allowed. It goes on running: the list may have become shorter since the webhook admitted it.
fn report_image(cx: &Context<Guestbook>, image: &str, images: &Images) {
    if images.allow(image) {
        let message = format!("`{image}` is on the operator's list");
        cx.condition("ImageAllowed", true, "Listed", message);
    } else {
        let message = format!("`{image}` is not on the operator's list");
        cx.condition("ImageAllowed", false, "NotListed", message);
    }
}

/// Reports the Pods: to the scale subresource, and as the condition `Ready`.
fn report_pods(cx: &Context<Guestbook>, guestbook: &Guestbook, deployment: &Deployment) {
    let status = deployment.status.clone().unwrap_or_default();
    cx.status(|own| {
        own.replicas = status.replicas.unwrap_or_default();
        own.selector = children::selector(guestbook);
    });

    // As `kubectl rollout status` decides.
    let desired = guestbook.spec.replicas;
    let observed = status.observed_generation >= deployment.metadata.generation;
    let pods = [
        status.replicas,
        status.updated_replicas,
        status.available_replicas,
    ];
    let [all, updated, available] = pods.map(Option::unwrap_or_default);
    let done = observed && [all, updated, available] == [desired; 3];
    let reason = if done { "RolledOut" } else { "RollingOut" };
    let message = format!("{updated} of {desired} Pods are up to date, {available} available");
    cx.condition("Ready", done, reason, message);
}
