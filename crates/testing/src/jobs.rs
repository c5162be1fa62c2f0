//! Starts and finishes Jobs, like the Job controller.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use k8s_openapi::{
    api::batch::v1::{Job, JobCondition, JobSpec, JobStatus},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use serde_json::{Value, json};

/// How a Job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// With the condition `Complete`: the wanted number of Pods has succeeded.
    Succeeded,
    /// With the condition `Failed`: more Pods than its `backoffLimit` have failed.
    Failed,
}

type Decide = dyn Fn(&Job) -> Option<JobEnd> + Send + Sync;

/// Decides which Jobs end, and how; initially none.
#[derive(Clone, Default)]
pub(super) struct JobEnds(Arc<Mutex<Option<Arc<Decide>>>>);

impl fmt::Debug for JobEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobEnds").finish_non_exhaustive()
    }
}

impl JobEnds {
    pub(super) fn set(&self, decide: impl Fn(&Job) -> Option<JobEnd> + Send + Sync + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(decide));
    }

    /// The next status of a Job, as a merge patch; `None` if it has ended or keeps running.
    ///
    /// Like with the real controller, a Job starts, meets its criteria for success or failure, and is finished. These
    /// are three writes, and a client may see each.
    pub(super) fn next(&self, job: &Job) -> Option<Value> {
        let (spec, status) = (job.spec.as_ref()?, job.status.clone().unwrap_or_default());
        if has(&status, "Complete") || has(&status, "Failed") || !is_ours(job, spec) {
            return None;
        }
        if status.start_time.is_none() {
            return Some(started(spec));
        }
        if has(&status, "SuccessCriteriaMet") {
            let mut finished = with(&status, "Complete", REACHED);
            finished["completionTime"] = json!(Time(Timestamp::now()));
            return Some(finished);
        }
        if has(&status, "FailureTarget") {
            return Some(with(&status, "Failed", EXCEEDED));
        }
        let decide = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (mut ended, counter, count) = match decide?(job)? {
            JobEnd::Succeeded => (
                with(&status, "SuccessCriteriaMet", REACHED),
                "succeeded",
                wanted(spec),
            ),
            JobEnd::Failed => {
                let limit = spec.backoff_limit.unwrap_or(6);
                let count = limit.saturating_add(1);
                (with(&status, "FailureTarget", EXCEEDED), "failed", count)
            }
        };
        ended[counter] = json!(count);
        if counter == "succeeded" && spec.completion_mode.as_deref() == Some("Indexed") {
            ended["completedIndexes"] = json!(indexes(count));
        }
        // In a merge patch, null removes the field.
        ended["active"] = Value::Null;
        ended["ready"] = json!(0);
        Some(ended)
    }
}

/// Reasons and messages of the real controller.
const REACHED: [&str; 2] = [
    "CompletionsReached",
    "Reached expected number of succeeded pods",
];
const EXCEEDED: [&str; 2] = [
    "BackoffLimitExceeded",
    "Job has reached the specified backoff limit",
];

/// Whether the real Job controller would manage it now.
fn is_ours(job: &Job, spec: &JobSpec) -> bool {
    let managed_by = spec
        .managed_by
        .as_deref()
        .unwrap_or("kubernetes.io/job-controller");
    job.metadata.deletion_timestamp.is_none()
        && spec.suspend != Some(true)
        && managed_by == "kubernetes.io/job-controller"
}

fn has(status: &JobStatus, kind: &str) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|one| one.type_ == kind && one.status == "True")
}

/// The number of Pods that must succeed.
fn wanted(spec: &JobSpec) -> i32 {
    spec.completions.or(spec.parallelism).unwrap_or(1)
}

fn started(spec: &JobSpec) -> Value {
    let active = spec
        .parallelism
        .unwrap_or(1)
        .min(spec.completions.unwrap_or(i32::MAX));
    json!({
        "startTime": Time(Timestamp::now()),
        "active": active,
        "ready": active,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    })
}

/// Appends a condition to those of the Job, as a merge patch.
fn with(status: &JobStatus, kind: &str, [reason, message]: [&str; 2]) -> Value {
    let now = Time(Timestamp::now());
    let mut conditions = status.conditions.clone().unwrap_or_default();
    conditions.push(JobCondition {
        type_: kind.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: Some(now.clone()),
        last_transition_time: Some(now),
    });
    json!({ "conditions": conditions })
}

/// All indexes below `count`, in the format of a Job's status.
fn indexes(count: i32) -> String {
    match count {
        ..=0 => String::new(),
        1 => "0".to_owned(),
        2 => "0,1".to_owned(),
        _ => format!("0-{}", count - 1),
    }
}
