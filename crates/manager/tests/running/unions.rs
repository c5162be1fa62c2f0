//! Test writes of unions, as Kubernetes has them: one field for each variant, whose value may be an empty object.

use std::sync::Arc;

use kbr_testing::FakeApi;
use kube::CustomResource;
use manager::{Action, Context, Manager};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Issuer {
    Ca { secret: String },
    SelfSigned {},
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct VoyageStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum State {
    Waiting { wind: String },
    Running {},
    Ended {},
}

fn voyage() -> FakeApi {
    let api = FakeApi::new();
    let secret = "key".to_owned();
    let issuer = Issuer::Ca { secret };
    api.put(&Voyage::new("north", VoyageSpec { issuer }));
    api
}

/// A field of the object after a reconcile with this function.
async fn reconciled<R>(
    api: &FakeApi,
    reconcile: impl Fn(Arc<Voyage>, Context<Voyage>) -> R + Send + Sync + 'static,
    field: &str,
) -> Value
where
    R: Future<Output = anyhow::Result<Action>> + Send + 'static,
{
    let register = |manager: &mut Manager| {
        manager.controller::<Voyage>("voyage").reconcile(reconcile);
    };
    api.reconcile(register, "north").await.unwrap();
    api.all_json("voyages")[0][field].clone()
}

#[tokio::test]
async fn each_variant_of_a_status_replaces_the_one_before() {
    let api = voyage();
    let wind = || "north".to_owned();
    for (state, stored) in [
        (State::Running {}, json!({"running": {}})),
        (State::Ended {}, json!({"ended": {}})),
        (
            State::Waiting { wind: wind() },
            json!({"waiting": {"wind": "north"}}),
        ),
        (State::Ended {}, json!({"ended": {}})),
    ] {
        let reconcile = move |_, cx: Context<Voyage>| {
            cx.status(|status| status.state = Some(state.clone()));
            async { Ok(Action::await_change()) }
        };
        let status = reconciled(&api, reconcile, "status").await;
        assert_eq!(status, json!({"state": stored}));
    }
}

#[tokio::test]
async fn a_status_whose_fields_all_go_is_an_empty_one() {
    let api = voyage();
    for state in [Some(State::Running {}), None] {
        let stored = json!(VoyageStatus {
            state: state.clone()
        });
        let reconcile = move |_, cx: Context<Voyage>| {
            cx.status(|status| status.state = state.clone());
            async { Ok(Action::await_change()) }
        };
        assert_eq!(reconciled(&api, reconcile, "status").await, stored);
    }
}

#[tokio::test]
async fn an_update_replaces_a_variant_by_an_empty_one() {
    let api = voyage();
    let reconcile = async |voyage: Arc<Voyage>, cx: Context<Voyage>| {
        let change = |voyage: &mut Voyage| voyage.spec.issuer = Issuer::SelfSigned {};
        cx.update(&*voyage, change).await?;
        Ok(Action::await_change())
    };
    let spec = reconciled(&api, reconcile, "spec").await;
    assert_eq!(spec, json!({"issuer": {"selfSigned": {}}}));
}
