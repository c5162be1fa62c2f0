//! The controller `foo` of `Foo`: each gets a Deployment, as in Kubernetes' sample-controller.

use std::{collections::BTreeMap, sync::Arc};

use api::samplecontroller::v1alpha1::Foo;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{Container, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use manager::{Action, Context, Manager, kind, metadata};

// +kbr:rbac:groups=samplecontroller.example.com,resources=foos,verbs=get;list;watch
// +kbr:rbac:groups=samplecontroller.example.com,resources=foos/status,verbs=get;patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
/// Registers the controller with its watches and its reconcile function.
pub fn register(manager: &mut Manager) {
    let controller = manager
        .controller::<Foo>("foo")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation));
    if std::env::var_os("FOO_WHOLE").is_some() {
        controller.owns(kind::<Deployment>()).reconcile(reconcile);
    } else {
        controller.owns(metadata::<Deployment>()).reconcile(reconcile);
    }
}

async fn reconcile(foo: Arc<Foo>, cx: Context<Foo>) -> anyhow::Result<Action> {
    if cx.name().starts_with("hang-") {
        std::future::pending::<()>().await;
    }
    let deployment = cx.apply(&deployment(&foo)).await?;
    let status = deployment.status.as_ref();
    let available = status.and_then(|status| status.available_replicas);
    cx.status(|status| status.available_replicas = available.unwrap_or_default());
    cx.event("Synced", "Foo synced successfully");
    cx.ready("Synced", "the Deployment matches the Foo");
    Ok(Action::await_change())
}

/// The desired Deployment of a `Foo`.
fn deployment(foo: &Foo) -> Deployment {
    let name = foo.metadata.name.clone().unwrap_or_default();
    let labels: BTreeMap<_, _> = [("app", "nginx"), ("controller", &name)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    Deployment {
        metadata: ObjectMeta {
            name: Some(foo.spec.deployment_name.clone()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: Some(foo.spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "nginx".to_owned(),
                        image: Some("nginx:latest".to_owned()),
                        ..Container::default()
                    }],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}
