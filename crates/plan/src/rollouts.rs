//! Workloads of a clone that are rolled out, by the controllers of a cluster, so that an operator goes on which waits for them.
//!
//! The controllers stand still until the operator is idle without them. What it changes then is what a rollout made it do.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::start::{self, Cluster};
use kbr_envtest::{nodes, progress};
use serde_json::Value;

use super::activity::Activity;
use super::cloned::Cloned;
use super::compare::{Change, Changes};
use super::discovery::text;

/// How long nothing may change until the controllers are idle.
const QUIET: Duration = Duration::from_secs(3);

/// What the controllers of workloads make.
const MADE: [&str; 3] = ["Pod", "ReplicaSet", "ControllerRevision"];

/// Who publishes events about workloads, by the names of their components.
pub const PUBLISHERS: [&str; 9] = [
    "deployment-controller",
    "replicaset-controller",
    "replication-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "controllermanager",
    "default-scheduler",
    "kwok",
];

/// Whose status they write.
const WORKLOADS: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "Job"];

/// The kinds that the controllers read of a cluster besides what an operator reads: without the Pods of a workload, they create them.
pub const READ: [&str; 4] = [
    "pods",
    "replicasets.apps",
    "controllerrevisions.apps",
    "nodes",
];

/// The rest of a cluster: a fake node if the clone has none.
#[must_use]
pub fn cluster(cloned: &Cloned) -> Cluster {
    let has_none = missing_nodes(cloned).is_empty() && of_kind(cloned, "Node").next().is_none();
    Cluster {
        nodes: u16::from(has_none),
        ..Cluster::default()
    }
}

/// Starts the controllers, waits until they have found everything as it is, and lets them stand still.
pub fn start(
    plane: &mut ControlPlane,
    cloned: &Cloned,
    cluster: &Cluster,
    activity: &Activity,
    limit: Duration,
) -> anyhow::Result<()> {
    activity.restart();
    start_controllers(plane, cloned, cluster)?;
    let started = Instant::now();
    while activity.is_within(QUIET) && started.elapsed() < limit {
        thread::sleep(Duration::from_millis(100));
    }
    progress("rolled out", "what the cluster has");
    plane.pause_controllers(true)
}

/// Starts the controllers of a clone that is served, and the nodes of its Pods.
pub fn start_controllers(
    plane: &mut ControlPlane,
    cloned: &Cloned,
    cluster: &Cluster,
) -> anyhow::Result<()> {
    let client = plane.client()?;
    for (number, name) in (0..).zip(missing_nodes(cloned)) {
        client.apply(&format!("/api/v1/nodes/{name}"), &nodes::node(name, number))?;
    }
    start::start_controllers(plane, cluster)
}

/// The nodes on which Pods run, and which were not read: kwok runs Pods on nodes that it knows.
fn missing_nodes(cloned: &Cloned) -> BTreeSet<&str> {
    let known: BTreeSet<&str> = of_kind(cloned, "Node")
        .map(|it| text(&it["metadata"]["name"]))
        .collect();
    let named = of_kind(cloned, "Pod").map(|it| text(&it["spec"]["nodeName"]));
    named
        .filter(|it| !it.is_empty() && !known.contains(it))
        .collect()
}

fn of_kind<'a>(cloned: &'a Cloned, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let kinds = cloned.kinds.iter();
    kinds
        .filter(move |it| it.group.is_empty() && it.kind == kind)
        .flat_map(|it| &it.objects)
}

/// Removes what is a consequence of the other changes: the Pods, revisions and status of workloads.
pub fn leave_out(changes: &mut Changes) {
    let is_made = |it: &Change| MADE.contains(&it.id.kind.as_str()) && it.owner.is_some();
    changes.objects.retain(|it| !is_made(it));
    let by_controllers = |kind: &str| MADE.iter().chain(&WORKLOADS).any(|it| *it == kind);
    changes.status.retain(|it| !by_controllers(&it.kind));
}
