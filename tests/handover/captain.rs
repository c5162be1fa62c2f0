//! Gives each captain a `ConfigMap` and a `Deployment`.

use std::{collections::BTreeMap, sync::Arc};

use api::crew::v1::Captain;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{ConfigMap, Container, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{ResourceExt, api::ObjectMeta};
use manager::{Action, Context, Manager, kind, metadata, Cleanup};

// +kbr:rbac:groups=crew.example.com,resources=captains,verbs=get;list;watch;update;patch
// +kbr:rbac:groups=crew.example.com,resources=captains/status,verbs=patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kbr:rbac:groups=core,resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .owns(metadata::<ConfigMap>())
        .owns(kind::<Deployment>())
        .conditions(|status| {
            let conditions = status.conditions.get_or_insert_default();
            (conditions, &mut status.observed_generation)
        })
        .finalizer("crew.example.com/captain", cleanup)
        .reconcile(reconcile);
}

async fn reconcile(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    cx.apply(&chart(&captain)).await?;
    cx.apply(&ship(&captain)).await?;
    cx.status(|status| status.ship = Some(captain.spec.ship.clone()));
    cx.ready("Sails", "the ship sails");
    Ok(Action::await_change())
}

async fn cleanup(_: Arc<Captain>, _: Context<Captain>) -> anyhow::Result<Cleanup> {
    Ok(Cleanup::Done)
}

fn named(captain: &Captain) -> ObjectMeta {
    ObjectMeta {
        name: Some(captain.name_any()),
        ..ObjectMeta::default()
    }
}

fn crew(captain: &Captain) -> i32 {
    captain.spec.crew.unwrap_or_default()
}

fn chart(captain: &Captain) -> ConfigMap {
    let ship = ("ship".to_owned(), captain.spec.ship.clone());
    let crew = ("crew".to_owned(), crew(captain).to_string());
    ConfigMap {
        metadata: named(captain),
        data: Some([ship, crew].into()),
        ..ConfigMap::default()
    }
}

fn ship(captain: &Captain) -> Deployment {
    let labels = BTreeMap::from([("captain".to_owned(), captain.name_any())]);
    let container = Container {
        name: "ship".to_owned(),
        image: Some(format!("registry.example.com/{}", captain.spec.ship)),
        ..Container::default()
    };
    Deployment {
        metadata: named(captain),
        spec: DeploymentSpec {
            replicas: Some(crew(captain)),
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
                    containers: vec![container],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}
