//! What the tests of `At` have in common.

use std::time::Duration;

use api::cnat::v1alpha1::{At, AtSpec};
use k8s_openapi::jiff::Timestamp;
use kbr_testing::{Cluster, Operator};
use kube::api::PostParams;
use serde_json::json;

/// The `At` of all tests, each in a namespace of its own; its Pod has the same name.
pub const AT: &str = "at/example-at";
pub const POD: &str = "pod/example-at";

/// A time in the past, as in the document's sample.
pub const PAST: &str = "2019-07-03T02:00:00Z";

pub fn operator(cluster: &Cluster) -> anyhow::Result<Operator> {
    cluster.operator(env!("CARGO_BIN_EXE_cnat"))
}

/// The time in so long, in whole seconds.
pub fn after(time: Duration) -> String {
    format!("{:.0}", Timestamp::now() + time)
}

pub async fn create(cluster: &Cluster, schedule: &str) -> anyhow::Result<()> {
    let (schedule, command) = (Some(schedule.to_owned()), Some("echo YAY".to_owned()));
    let at = At::new("example-at", AtSpec { schedule, command });
    cluster.api().create(&PostParams::default(), &at).await?;
    Ok(())
}

pub fn wait(cluster: &Cluster, condition: &str, object: &str) -> anyhow::Result<()> {
    let until = format!("--for={condition}");
    cluster.kubectl(&["wait", &until, "--timeout=3m", object])?;
    Ok(())
}

pub fn reaches(cluster: &Cluster, phase: &str) -> anyhow::Result<()> {
    wait(cluster, &format!("jsonpath={{.status.phase}}={phase}"), AT)
}

pub fn read(cluster: &Cluster, object: &str, path: &str) -> anyhow::Result<String> {
    let path = format!("jsonpath={{{path}}}");
    cluster.kubectl(&["get", object, "-o", &path])
}

/// Ends the command, as a kubelet does. An API server alone has none, and that of a cluster does what an annotation says.
pub fn end_command(cluster: &Cluster, phase: &str) -> anyhow::Result<()> {
    if cfg!(feature = "cluster") {
        let annotation = format!("kbr/pod-phase={phase}");
        cluster.kubectl(&["annotate", POD, &annotation])?;
    } else {
        let exit = json!({ "terminated": { "exitCode": i32::from(phase == "Failed") } });
        let container = json!({
            "name": "command", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": exit,
        });
        let status = json!({ "status": { "phase": phase, "containerStatuses": [container] } });
        let patch = status.to_string();
        cluster.kubectl(&[
            "patch",
            POD,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ])?;
    }
    wait(cluster, &format!("jsonpath={{.status.phase}}={phase}"), POD)
}

/// Changes the schedule, and waits until the operator has seen that.
pub fn reschedule(cluster: &Cluster, schedule: &str) -> anyhow::Result<()> {
    let patch = json!({ "spec": { "schedule": schedule } }).to_string();
    cluster.kubectl(&["patch", AT, "--type=merge", "-p", &patch])?;
    let generation = read(cluster, AT, ".metadata.generation")?;
    wait(
        cluster,
        &format!("jsonpath={{.status.observedGeneration}}={generation}"),
        AT,
    )
}
