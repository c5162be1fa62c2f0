//! Compare the fake API server with a real one, and test helpers for tests on a real one.
//!
//! Each test here runs this program again under `kbr envtest run`, which provides an API server.

#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "tables of cases"
)]

#[path = "../../../rules/tests/verdicts/agree.rs"]
mod agree;
mod cases;
mod compare;
mod dynamic;
mod judged;
#[path = "../support/kbr.rs"]
mod kbr;
mod kinds;
mod kubelet;
mod pods;
#[allow(dead_code, reason = "kbr-testing uses the rest")]
#[path = "../../../testing/src/random.rs"]
mod random;
mod talk;
mod unions;
mod webhooks;

use std::process::{Command, Stdio};

use kbr_testing::{Cluster, FakeApi};
use manager::Options;

use crate::{
    compare::Comparison,
    talk::{Case, Side},
};

/// The options of an operator that watches the namespace of a test.
fn options(cluster: &Cluster) -> Options {
    let mut options = Options::default();
    options.health_probe_bind_address = "0".parse().unwrap();
    options.watch_namespace = vec![cluster.namespace().to_owned()];
    options
}

#[test]
fn the_fake_api_server_behaves_like_a_real_one() {
    let output = Command::new(kbr::kbr())
        .args(["envtest", "run", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--test-threads", "1", "--nocapture"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    for test in [
        "every_case",
        "every_reviewed_case",
        "the_table",
        "random_values",
        "every_kind",
        "every_list",
        "deployments",
        "jobs_end",
        "dynamic",
        "all_writers",
        "each_variant",
    ] {
        assert!(out.contains(test), "{test} did not run:\n{out}\n{err}");
    }
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn every_case_ends_the_same_on_both_servers() {
    let real = kube::Client::try_default().await.unwrap();
    let fake = FakeApi::new();
    for crd in cases::definitions() {
        talk::install(&real, &crd).await;
        fake.define(&crd);
    }
    let (cases, mut comparison) = (cases::all(), Comparison::default());
    assert!(cases.len() >= 40, "{} cases", cases.len());
    for Case { name, steps } in cases {
        let mut real = Side::new(real.clone(), name).await;
        let mut fake = Side::fake(fake.client(), &real);
        for (at, step) in steps.iter().enumerate() {
            let (real, fake) = (real.take(step).await, fake.take(step).await);
            let (mut real, mut fake) = step.comparable(real, fake);
            // The fake server does not warn of what it tolerates.
            for answer in [&mut real, &mut fake] {
                answer
                    .as_object_mut()
                    .map(|answer| answer.remove("warnings"));
            }
            if !comparison.of_step(name, at, &real, &fake) {
                break;
            }
        }
    }
    comparison.assert_equal();
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn every_reviewed_case_ends_the_same_on_both_servers() {
    Box::pin(webhooks::all_cases_end_the_same()).await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn the_table_of_values_is_judged_the_same() {
    judged::table_is_judged_the_same().await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn random_values_are_judged_the_same() {
    judged::random_values_are_judged_the_same().await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn every_kind_is_known() {
    kinds::compare_traits(&kube::Client::try_default().await.unwrap()).await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn every_list_merges_as_in_the_openapi_document() {
    kinds::compare_fields(&kube::Client::try_default().await.unwrap()).await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn deployments_become_available_and_pods_run() {
    kubelet::deployments_become_available().await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn jobs_end_with_the_requested_result() {
    Box::pin(kubelet::jobs_end_as_requested()).await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn a_controller_of_dynamic_kinds_reconciles() {
    Box::pin(dynamic::reconciles_children_status_and_finalizer()).await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn conditions_of_all_writers_of_a_pod_are_kept() {
    Box::pin(pods::conditions_of_all_writers_are_kept()).await;
}

#[tokio::test]
#[ignore = "runs below `kbr envtest run`, started by the test above"]
async fn each_variant_of_a_union_replaces_the_one_before() {
    Box::pin(unions::each_variant_replaces_the_one_before()).await;
}
