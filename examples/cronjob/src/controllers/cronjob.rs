//! The `cronjob` controller for `CronJob`: starts Jobs by a schedule, and removes those that ended long ago.

use std::sync::Arc;

use api::batch::v1::{ConcurrencyPolicy, CronJob};

use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use kube::ResourceExt;
use manager::{Action, Context, Manager, kind};

use super::jobs::{self, End};
use crate::schedule::Schedule;

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=get;list;watch
// +kbr:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/status,verbs=patch
// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<CronJob>("cronjob")
        .owns(kind::<Job>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Reconciles one `CronJob`: at each time of its schedule, and whenever it or one of its Jobs changes.
async fn reconcile(cronjob: Arc<CronJob>, cx: Context<CronJob>) -> anyhow::Result<Action> {
    let jobs = cx.children::<Job>()?;
    cx.status(|status| status.active = jobs::running(&jobs).map(jobs::reference).collect());
    let scheduled = scheduled(&cronjob);
    let started = jobs.iter().filter_map(|job| jobs::scheduled(job)).max();
    if let Some(started) = started.filter(|time| *time > scheduled) {
        // The operator ended before it wrote this. It is stored first, because the Job that tells it may be removed now.
        cx.status(|status| status.last_schedule_time = Some(Time(started)));
        return Ok(Action::again());
    }
    remove_old(&cronjob, &cx, &jobs).await?;

    if cronjob.spec.suspend {
        cx.ready("Suspended", "no Jobs start");
        return Ok(Action::await_change());
    }
    let schedule = match Schedule::parse(&cronjob.spec.schedule) {
        Ok(schedule) => schedule,
        Err(error) => {
            // The webhook rejects it. Without the webhook, a retry would not help either.
            cx.not_ready("InvalidSchedule", error);
            return Ok(Action::await_change());
        }
    };
    let now = cx.now();
    if let Some(due) = schedule.last(now).filter(|due| *due > scheduled) {
        start(&cronjob, &cx, &jobs, due, now).await?;
    }
    let Some(next) = schedule.next(now) else {
        cx.ready("NeverDue", "the schedule names no time in the future");
        return Ok(Action::await_change());
    };
    cx.ready("Scheduled", "Jobs start by the schedule");
    Ok(Action::requeue_at(next))
}

/// The time up to which Jobs have been scheduled.
fn scheduled(cronjob: &CronJob) -> Timestamp {
    let status = cronjob.status.as_ref();
    let written = status.and_then(|status| status.last_schedule_time.as_ref());
    let created = cronjob.metadata.creation_timestamp.as_ref();
    let known = written.into_iter().chain(created).map(|time| time.0);
    known.max().unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Starts the Job for the time `due`, unless it is too late or another one forbids it. Of several missed times only the last counts.
async fn start(
    cronjob: &CronJob,
    cx: &Context<CronJob>,
    jobs: &[Arc<Job>],
    due: Timestamp,
    now: Timestamp,
) -> anyhow::Result<()> {
    let late = now.as_second() - due.as_second();
    if cronjob
        .spec
        .starting_deadline_seconds
        .is_some_and(|most| late > most)
    {
        cx.warning(
            "MissedDeadline",
            format!("the Job for {due} is {late} s late"),
        );
    } else {
        match cronjob.spec.concurrency_policy {
            ConcurrencyPolicy::Forbid if jobs::running(jobs).next().is_some() => {
                // When the Job ends, this runs again. The time is still due then, until its deadline.
                return Ok(());
            }
            ConcurrencyPolicy::Replace => {
                for job in jobs::running(jobs) {
                    cx.delete(&**job).await?;
                }
                cx.status(|status| status.active.clear());
            }
            ConcurrencyPolicy::Allow | ConcurrencyPolicy::Forbid => {}
        }
        // The name is derived from the time, so a second try finds the same Job.
        let job = cx.apply(&jobs::job(cronjob, due)).await?;
        cx.event("Started", format!("Job {}", job.name_any()));
        cx.status(|status| status.active.push(jobs::reference(&job)));
    }
    cx.status(|status| status.last_schedule_time = Some(Time(due)));
    Ok(())
}

/// Deletes the oldest Jobs that ended, except as many as the limits keep.
async fn remove_old(
    cronjob: &CronJob,
    cx: &Context<CronJob>,
    jobs: &[Arc<Job>],
) -> anyhow::Result<()> {
    let limits = [
        (End::Complete, cronjob.spec.successful_jobs_history_limit),
        (End::Failed, cronjob.spec.failed_jobs_history_limit),
    ];
    for (end, limit) in limits {
        let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
            continue;
        };
        for job in jobs::older(jobs, end, limit) {
            cx.delete(&*job).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
