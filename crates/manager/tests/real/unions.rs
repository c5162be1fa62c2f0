//! Test an operator whose status is a union, on an API server that allows one variant at a time.

use std::time::Duration;

use kbr_testing::{Cluster, eventually};
use kube::{CustomResource, CustomResourceExt as _, api::PostParams};
use manager::{Action, Context, Manager};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::talk;

const SOON: Duration = Duration::from_secs(60);

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Voyage",
    namespaced,
    status = "VoyageStatus"
)]
struct VoyageSpec {
    issuer: Issuer,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Issuer {
    Ca { secret: String },
    SelfSigned {},
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct VoyageStatus {
    state: Option<State>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
enum State {
    Waiting { wind: String },
    Running {},
    Ended {},
}

/// Goes through the states, one reconcile after the other, and ends with another issuer.
async fn reconcile(cx: Context<Voyage>) -> anyhow::Result<Action> {
    let wind = || "north".to_owned();
    let voyage = cx.object();
    let state = voyage.status.clone().unwrap_or_default().state;
    let next = match state {
        None => State::Running {},
        Some(State::Running {}) => State::Waiting { wind: wind() },
        Some(State::Waiting { .. } | State::Ended {}) => State::Ended {},
    };
    if state == Some(State::Ended {}) {
        let change = |voyage: &mut Voyage| voyage.spec.issuer = Issuer::SelfSigned {};
        cx.update(&**voyage, change).await?;
        return Ok(Action::await_change());
    }
    cx.status(|status| status.state = Some(next));
    Ok(Action::requeue(Duration::from_millis(1)))
}

pub async fn each_variant_replaces_the_one_before() {
    let cluster = Cluster::connect().await.unwrap();
    let client = kube::Client::try_default().await.unwrap();
    let crd = serde_json::to_value(Voyage::crd()).unwrap();
    talk::install(&client, &crd).await;
    let options = crate::options(&cluster);
    let mut manager = Manager::new(options, "test.example.com").await.unwrap();
    manager
        .controller::<Voyage>("voyage")
        .reconcile(|_, cx| reconcile(cx));
    let operator = tokio::spawn(async move { manager.run_until(std::future::pending()).await });
    let voyages = cluster.api::<Voyage>();
    let issuer = Issuer::Ca {
        secret: "key".to_owned(),
    };
    let voyage = Voyage::new("north", VoyageSpec { issuer });
    voyages
        .create(&PostParams::default(), &voyage)
        .await
        .unwrap();
    let ended = async || {
        let voyage = voyages.get("north").await?;
        let state = voyage.status.unwrap_or_default().state;
        let is_signed = voyage.spec.issuer == Issuer::SelfSigned {};
        Ok((is_signed && state == Some(State::Ended {})).then_some(()))
    };
    eventually(SOON, "the last variants", ended).await.unwrap();
    assert!(!operator.is_finished());
    operator.abort();
    cluster.close().await.unwrap();
}
