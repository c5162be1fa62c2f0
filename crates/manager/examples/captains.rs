//! An operator as scaffolded by kbr, in one file: each `Captain` gets a Deployment.
//!
//! `captains crd` prints the `CustomResourceDefinition` as JSON.

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{Container, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector},
};
use kube::{CustomResource, CustomResourceExt, ResourceExt, api::ObjectMeta};
use manager::{Action, Cleanup, Context, Manager, Options, kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state of a captain.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus"
)]
#[serde(rename_all = "camelCase")]
struct CaptainSpec {
    image: String,
    replicas: i32,
    /// Makes the reconcile fail, panic or hang: for tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// The observed state of a captain.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CaptainStatus {
    #[serde(default)]
    available_replicas: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
}

/// Operator of `crew.example.com`
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("crd") {
        println!("{:#}", serde_json::json!(Captain::crd()));
        return ExitCode::SUCCESS;
    }
    let Cli { manager } = Cli::parse();
    manager::exit(run(manager).await)
}

async fn run(options: Options) -> anyhow::Result<()> {
    let mut manager = Manager::new(options, "captains.example.com").await?;
    register(&mut manager);
    manager.run().await
}

fn register(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .owns(kind::<Deployment>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer("crew.example.com/captain", cleanup)
        .reconcile(reconcile);
}

async fn reconcile(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    match captain.spec.fault.as_deref() {
        Some("fail") => anyhow::bail!("told to fail"),
        Some("panic") => panic!("told to panic"),
        Some("hang") => std::future::pending().await,
        _ => {}
    }
    let deployment = cx.apply(&deployment(&captain)).await?;
    let available = deployment
        .status
        .as_ref()
        .and_then(|status| status.available_replicas);
    cx.status(|status| status.available_replicas = available.unwrap_or_default());
    cx.event("Applied", "the Deployment is up to date");
    cx.ready("Deployed", "the Deployment is up to date");
    Ok(Action::await_change())
}

async fn cleanup(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Cleanup> {
    tracing::info!(name = captain.name_any(), "cleaned up");
    cx.event("CleanedUp", "said goodbye");
    Ok(Cleanup::Done)
}

/// The Deployment of a captain.
fn deployment(captain: &Captain) -> Deployment {
    let labels = std::collections::BTreeMap::from([("captain".to_owned(), captain.name_any())]);
    Deployment {
        metadata: ObjectMeta {
            name: Some(captain.name_any()),
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: Some(captain.spec.replicas),
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
                        name: "captain".to_owned(),
                        image: Some(captain.spec.image.clone()),
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

#[cfg(test)]
mod tests {
    use kbr_testing::{FakeApi, is_ready};

    use super::*;

    #[tokio::test]
    async fn a_captain_becomes_ready() {
        let api = FakeApi::new();
        let spec = CaptainSpec {
            image: "nginx".to_owned(),
            replicas: 2,
            fault: None,
        };
        api.put(&Captain::new("sample", spec));
        api.reconcile(register, "default/sample").await.unwrap();
        let captain: Captain = api.get("default", "sample").unwrap();
        assert!(is_ready(&captain.status.unwrap().conditions));
        assert!(api.get::<Deployment>("default", "sample").is_some());
    }
}
