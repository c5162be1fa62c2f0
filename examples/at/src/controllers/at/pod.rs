//! The Pod of an `At`.

use api::cnat::v1alpha1::At;

use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod, PodStatus};
use kube::ResourceExt;
use manager::ConditionStatus;
use serde_json::json;

use super::FINALIZER;

/// The image that has a shell to run the command.
const IMAGE: &str = "busybox:1.37";

/// How a command ended, as a condition.
pub struct Outcome {
    pub succeeded: ConditionStatus,
    pub reason: &'static str,
    pub message: String,
}

impl Outcome {
    /// The Pod is gone, and what became of the command is not known.
    pub fn lost() -> Self {
        Self {
            succeeded: ConditionStatus::Unknown,
            reason: "PodDeleted",
            message: "the Pod was deleted before the command had ended".to_owned(),
        }
    }
}

/// The Pod that runs `command` once. It has the name of the `At`, so there cannot be two.
pub fn running(at: &At, command: &str) -> anyhow::Result<Pod> {
    manager::from_json(json!({
        "metadata": { "name": at.name_any(), "finalizers": [FINALIZER] },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "containers": [{ "name": "command", "image": IMAGE, "command": ["sh", "-c", command] }],
        },
    }))
}

/// How the command ended; `None` while it may run.
pub fn outcome(pod: &Pod) -> Option<Outcome> {
    let status = pod.status.as_ref();
    match status.and_then(|status| status.phase.as_deref()) {
        Some("Succeeded") => Some(Outcome {
            succeeded: ConditionStatus::True,
            reason: "Completed",
            message: "the command succeeded".to_owned(),
        }),
        Some("Failed") => Some(Outcome {
            succeeded: ConditionStatus::False,
            reason: "Failed",
            message: status.map(failure).unwrap_or_default(),
        }),
        // Its grace period is over, so no kubelet runs it. Only the finalizer keeps it.
        _ if pod.metadata.deletion_grace_period_seconds == Some(0) => Some(Outcome::lost()),
        _ => None,
    }
}

/// Why a Pod failed: the exit code of the command, or the reason why the kubelet ended it.
fn failure(status: &PodStatus) -> String {
    let mut containers = status.container_statuses.iter().flatten();
    let exit = containers.find_map(|container| container.state.as_ref()?.terminated.as_ref());
    let code = |exit: &ContainerStateTerminated| {
        format!("the command exited with code {}", exit.exit_code)
    };
    let mut why = vec![exit.map_or_else(|| "the Pod failed".to_owned(), code)];
    why.extend(status.reason.clone());
    why.extend(status.message.clone());
    why.join(": ")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check(pod: Value, expected: Option<(&str, &str)>) {
        let outcome = outcome(&serde_json::from_value(pod).unwrap());
        let outcome = outcome.as_ref();
        let found = outcome.map(|outcome| (outcome.reason, &*outcome.message));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_pod_that_the_kubelet_ended_failed_for_its_reason() {
        let status = json!({ "phase": "Failed", "reason": "Evicted", "message": "out of memory" });
        let expected = ("Failed", "the Pod failed: Evicted: out of memory");
        check(json!({ "status": status }), Some(expected));
    }

    #[test]
    fn a_deleted_pod_runs_until_its_grace_period_is_over() {
        let deleted = |seconds| {
            let meta = json!({ "deletionGracePeriodSeconds": seconds });
            json!({ "metadata": meta, "status": { "phase": "Running" } })
        };
        check(deleted(30), None);
        let lost = Outcome::lost();
        check(deleted(0), Some((lost.reason, &lost.message)));
    }
}
