//! Test lists whose order has a meaning, although their elements have types, as conditions do.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kbr_testing::{FakeApi, is_ready, reason};
use kube::CustomResource;
use manager::{Action, Context, Manager};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Pipeline",
    namespaced,
    status = "PipelineStatus"
)]
struct PipelineSpec {
    filters: Vec<Filter>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Filter {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct PipelineStatus {
    #[serde(default)]
    conditions: Vec<Filter>,
    #[serde(default)]
    health: Health,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct Health {
    #[serde(default)]
    all: Vec<Condition>,
}

fn filters(types: &[&str]) -> Vec<Filter> {
    let filter = |kind: &&str| Filter {
        type_: (*kind).to_owned(),
        status: "on".to_owned(),
    };
    types.iter().map(filter).collect()
}

fn pipeline(types: &[&str]) -> Pipeline {
    let filters = filters(types);
    let mut pipeline = Pipeline::new(
        "a",
        PipelineSpec {
            filters: filters.clone(),
        },
    );
    pipeline.status = Some(PipelineStatus {
        conditions: filters,
        health: Health::default(),
    });
    pipeline
}

/// A list before a change, and after it.
const CHANGES: [(&[&str], &[&str]); 4] = [
    (&["strip", "parse"], &["parse", "strip"]),
    (&["parse"], &["strip", "parse"]),
    (&["strip", "parse"], &["parse", "new", "strip"]),
    (&["strip", "parse", "send"], &["send", "parse"]),
];

async fn stored(before: &[&str], register: impl FnOnce(&mut Manager)) -> Pipeline {
    let api = FakeApi::new();
    api.put(&pipeline(before));
    api.reconcile(register, "a").await.unwrap();
    api.get("default", "a").unwrap()
}

#[tokio::test]
async fn a_list_in_the_status_is_stored_as_it_was_set() {
    for (before, after) in CHANGES {
        let register = |manager: &mut Manager| {
            let controller = manager
                .controller::<Pipeline>("pipeline")
                .conditions_only(|status| &mut status.health.all);
            controller.reconcile(move |_: Arc<Pipeline>, cx: Context<Pipeline>| async move {
                cx.status(|status| status.conditions = filters(after));
                cx.ready("Done", "all is well");
                Ok(Action::await_change())
            });
        };
        let status = stored(before, register).await.status.unwrap();
        assert_eq!(status.conditions, filters(after));
        assert!(is_ready(&status.health.all));
    }
}

#[tokio::test]
async fn a_list_in_the_spec_is_stored_as_it_was_set() {
    for (before, after) in CHANGES {
        let register = |manager: &mut Manager| {
            let controller = manager.controller::<Pipeline>("pipeline");
            controller.reconcile(
                move |pipeline: Arc<Pipeline>, cx: Context<Pipeline>| async move {
                    let set = |pipeline: &mut Pipeline| pipeline.spec.filters = filters(after);
                    cx.update(&*pipeline, set).await?;
                    Ok(Action::await_change())
                },
            );
        };
        assert_eq!(stored(before, register).await.spec.filters, filters(after));
    }
}

#[tokio::test]
async fn conditions_anywhere_in_the_status_keep_those_of_other_writers() {
    let api = FakeApi::new();
    api.put(&pipeline(&[]));
    let others = api.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager
            .controller::<Pipeline>("pipeline")
            .conditions_only(|status| &mut status.health.all);
        controller.reconcile(move |pipeline: Arc<Pipeline>, cx: Context<Pipeline>| {
            let mut theirs = (*pipeline).clone();
            let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(cx.now());
            theirs
                .status
                .get_or_insert_default()
                .health
                .all
                .push(Condition {
                    type_: "Theirs".to_owned(),
                    status: "True".to_owned(),
                    reason: "Meanwhile".to_owned(),
                    message: String::new(),
                    observed_generation: None,
                    last_transition_time: now,
                });
            others.put(&theirs);
            cx.ready("Done", "all is well");
            async { Ok(Action::await_change()) }
        });
    };
    api.reconcile(register, "a").await.unwrap();
    let status = api.get::<Pipeline>("default", "a").unwrap().status.unwrap();
    assert!(is_ready(&status.health.all));
    assert_eq!(reason(&status.health.all, "Theirs"), Some("Meanwhile"));
}
