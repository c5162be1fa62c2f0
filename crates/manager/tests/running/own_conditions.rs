//! Test conditions whose type is the author's own: they convert from and into Kubernetes'.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kbr_testing::FakeApi;
use kube::{CustomResource, api::ObjectMeta};
use manager::{Action, Context, Manager, waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "rabbitmq.com",
    version = "v1beta1",
    kind = "Exchange",
    status = "ExchangeStatus",
    namespaced
)]
struct ExchangeSpec {
    order: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExchangeStatus {
    conditions: Option<Vec<Own>>,
    #[serde(default)]
    lights: Vec<Light>,
}

/// As in operators that are older than Kubernetes' own type, and with a field that it lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Own {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_transition_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
}

impl From<Condition> for Own {
    fn from(condition: Condition) -> Self {
        Self {
            type_: condition.type_,
            status: condition.status,
            last_transition_time: Some(condition.last_transition_time.0.to_string()),
            reason: Some(condition.reason),
            message: Some(condition.message),
            severity: None,
        }
    }
}

impl From<Own> for Condition {
    fn from(own: Own) -> Self {
        let time = own
            .last_transition_time
            .and_then(|it| it.parse().ok())
            .unwrap_or(Timestamp::UNIX_EPOCH);
        Self {
            type_: own.type_,
            status: own.status,
            last_transition_time: Time(time),
            reason: own.reason.unwrap_or_default(),
            message: own.message.unwrap_or_default(),
            observed_generation: None,
        }
    }
}

/// Neither a time nor a reason, and a status that is a boolean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Light {
    #[serde(rename = "type")]
    type_: String,
    status: bool,
}

impl From<Condition> for Light {
    fn from(Condition { type_, status, .. }: Condition) -> Self {
        let status = status == "True";
        Self { type_, status }
    }
}

impl From<Light> for Condition {
    fn from(light: Light) -> Self {
        Self {
            type_: light.type_,
            status: if light.status { "True" } else { "False" }.to_owned(),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            reason: String::new(),
            message: String::new(),
            observed_generation: None,
        }
    }
}

fn reconcile(order: &str, cx: &Context<Exchange>) -> anyhow::Result<Action> {
    match order {
        "fail" => anyhow::bail!("no wind"),
        "wait" => return Err(waiting("NoCluster", "the cluster is missing")),
        "silence" => {}
        other => cx.ready("Sailing", other),
    }
    Ok(Action::await_change())
}

fn register(manager: &mut Manager) {
    manager
        .controller::<Exchange>("exchange")
        .conditions_only(|status| status.conditions.get_or_insert_default())
        .reconcile(async |exchange, cx| reconcile(&exchange.spec.order, &cx));
}

/// The status after a reconcile with this order, from `status`.
async fn after(register: fn(&mut Manager), order: &str, status: ExchangeStatus) -> ExchangeStatus {
    let api = FakeApi::new();
    api.put(&Exchange {
        metadata: ObjectMeta {
            name: Some("hook".to_owned()),
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        spec: ExchangeSpec {
            order: order.to_owned(),
        },
        status: Some(status),
    });
    let _ = api.reconcile(register, "default/hook").await;
    api.get::<Exchange>("default", "hook")
        .unwrap()
        .status
        .unwrap()
}

fn own(kind: &str, status: &str, reason: &str, message: &str) -> Own {
    Own {
        type_: kind.to_owned(),
        status: status.to_owned(),
        last_transition_time: Some("2020-01-01T00:00:00Z".to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        severity: Some("high".to_owned()),
    }
}

fn with(conditions: &[Own]) -> ExchangeStatus {
    ExchangeStatus {
        conditions: Some(conditions.to_vec()),
        lights: Vec::new(),
    }
}

#[tokio::test]
async fn conditions_of_an_own_type_are_set_and_others_are_left_as_they_are() {
    let other = own("NoWarnings", "True", "None", "");
    let before = with(&[other.clone(), own("Ready", "True", "Old", "old")]);
    let status = after(register, "all is well", before.clone()).await;
    let ready = Own {
        severity: None,
        ..own("Ready", "True", "Sailing", "all is well")
    };
    // The status is that of before, so its time is, too.
    assert_eq!(status, with(&[other.clone(), ready.clone()]));
    assert_eq!(after(register, "all is well", status.clone()).await, status);

    let status = after(register, "wait", before).await.conditions.unwrap();
    assert_eq!(status[0], other);
    let Own {
        status,
        reason,
        message,
        last_transition_time,
        ..
    } = &status[1];
    assert_eq!(
        (&**status, reason.as_deref(), message.as_deref()),
        ("False", Some("NoCluster"), Some("the cluster is missing"))
    );
    assert_ne!(*last_transition_time, ready.last_transition_time);
}

#[tokio::test]
async fn a_success_withdraws_the_failure_from_conditions_of_an_own_type() {
    let failed = after(register, "fail", ExchangeStatus::default()).await;
    let ready = &failed.conditions.as_ref().unwrap()[0];
    assert_eq!(ready.reason.as_deref(), Some("ReconcileFailed"));
    assert_eq!(after(register, "silence", failed).await, with(&[]));
}

#[tokio::test]
async fn a_condition_without_a_time_gets_one_with_its_next_change() {
    let mut timeless = own("Ready", "True", "Old", "");
    timeless.last_transition_time = None;
    let status = after(register, "all is well", with(&[timeless])).await;
    let time = status.conditions.unwrap()[0].last_transition_time.clone();
    assert!(time.is_some_and(|it| !it.starts_with("1970")));
}

fn register_lights(manager: &mut Manager) {
    manager
        .controller::<Exchange>("exchange")
        .conditions_only(|status| &mut status.lights)
        .without_automatic_ready()
        .reconcile(async |exchange, cx| reconcile(&exchange.spec.order, &cx));
}

#[tokio::test]
async fn a_condition_may_have_a_boolean_and_neither_time_nor_reason() {
    let lights = |status| ExchangeStatus {
        lights: vec![Light {
            type_: "Ready".to_owned(),
            status,
        }],
        ..ExchangeStatus::default()
    };
    assert_eq!(
        after(register_lights, "go", ExchangeStatus::default()).await,
        lights(true)
    );
    assert_eq!(
        after(register_lights, "go", lights(false)).await,
        lights(true)
    );
    assert_eq!(
        after(register_lights, "fail", lights(true)).await,
        lights(true)
    );
}

#[tokio::test]
async fn conditions_that_lose_a_failure_are_a_mistake_with_an_automatic_ready() {
    let wrong = |manager: &mut Manager| {
        manager
            .controller::<Exchange>("exchange")
            .conditions_only(|status| &mut status.lights)
            .reconcile(async |_, _| Ok(Action::await_change()));
    };
    let error = FakeApi::new().run(wrong).unwrap_err().to_string();
    assert!(
        error.contains("help: convert all three from and into `Condition`"),
        "{error}"
    );
}
