//! The Jobs of a `CronJob`.

use std::sync::Arc;

use api::batch::v1::CronJob;

use k8s_openapi::{
    api::{batch::v1::Job, core::v1::ObjectReference},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
    jiff::Timestamp,
};
use kube::{Resource, ResourceExt};

/// The annotation with the time for which a Job was scheduled.
const SCHEDULED: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

/// How a Job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    Failed,
}

/// How it ended, or `None` while it runs.
pub fn end(job: &Job) -> Option<End> {
    let conditions = job.status.as_ref()?.conditions.iter().flatten();
    let mut types = conditions
        .filter(|condition| condition.status == "True")
        .map(|condition| condition.type_.as_str());
    types.find_map(|kind| match kind {
        "Complete" => Some(End::Complete),
        "Failed" => Some(End::Failed),
        _ => None,
    })
}

/// Those that run. One that is being deleted does not count.
pub fn running(jobs: &[Arc<Job>]) -> impl Iterator<Item = &Arc<Job>> {
    let runs = |job: &&Arc<Job>| end(job).is_none() && job.metadata.deletion_timestamp.is_none();
    jobs.iter().filter(runs)
}

/// Those that ended in this way, except the newest `keep`.
pub fn older(jobs: &[Arc<Job>], how: End, keep: usize) -> Vec<Arc<Job>> {
    let ended = jobs.iter().filter(|job| end(job) == Some(how));
    let mut ended: Vec<_> = ended.cloned().collect();
    ended.sort_by_key(|job| std::cmp::Reverse(scheduled(job)));
    ended.into_iter().skip(keep).collect()
}

/// The time for which a Job was scheduled.
pub fn scheduled(job: &Job) -> Option<Timestamp> {
    job.annotations().get(SCHEDULED)?.parse().ok()
}

/// The Job for the time `due`.
pub fn job(cronjob: &CronJob, due: Timestamp) -> Job {
    let template = cronjob.spec.job_template.clone();
    let given = template.metadata.unwrap_or_default();
    let mut annotations = given.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.to_owned(), due.to_string());
    Job {
        metadata: ObjectMeta {
            // Kubernetes' own controller names them by the minute, too.
            name: Some(format!("{}-{}", cronjob.name_any(), due.as_second() / 60)),
            labels: given.labels,
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

/// A reference for the status.
pub fn reference(job: impl AsRef<Job>) -> ObjectReference {
    job.as_ref().object_ref(&())
}
