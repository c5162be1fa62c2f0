use std::time::Duration;

use k8s_openapi::{
    api::{
        batch::v1::{JobCondition, JobSpec, JobStatus, JobTemplateSpec},
        events::v1::Event,
    },
    jiff::{SignedDuration, tz::TimeZone},
};
use kbr_testing::{FakeApi, Run, Simulation, eventually, is_ready, reason, simulate};
use kube::Resource;

use api::batch::v1::CronJobSpec;

use super::*;

const SOON: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A `CronJob` that is due once an hour, half an hour from now, and was created now.
fn hourly() -> CronJob {
    let now = Timestamp::now();
    let minute = (now.to_zoned(TimeZone::UTC).minute() + 30) % 60;
    let mut cronjob = CronJob::new(
        "sample",
        CronJobSpec {
            schedule: format!("{minute} * * * *"),
            job_template: JobTemplateSpec {
                metadata: None,
                spec: Some(JobSpec::default()),
            },
            ..CronJobSpec::default()
        },
    );
    cronjob.metadata.namespace = Some("default".to_owned());
    cronjob.metadata.creation_timestamp = Some(Time(now));
    cronjob
}

/// One that has been due for `hours` hours.
fn missed(hours: i64) -> CronJob {
    let mut cronjob = hourly();
    let created = Timestamp::now() - SignedDuration::from_hours(hours);
    cronjob.metadata.creation_timestamp = Some(Time(created));
    cronjob
}

fn started(api: &FakeApi) -> Vec<String> {
    let jobs: Vec<Job> = api.all();
    jobs.iter().map(ResourceExt::name_any).collect()
}

fn status(api: &FakeApi) -> api::batch::v1::CronJobStatus {
    let cronjob: CronJob = api.get("default", "sample").unwrap();
    cronjob.status.unwrap()
}

/// Lets the Job end.
fn finish(api: &FakeApi, name: &str, how: &str) {
    let mut job: Job = api.get("default", name).unwrap();
    job.status = Some(JobStatus {
        conditions: Some(vec![JobCondition {
            type_: how.to_owned(),
            status: "True".to_owned(),
            ..JobCondition::default()
        }]),
        ..JobStatus::default()
    });
    api.put(&job);
}

async fn until_started(api: &FakeApi, run: &mut Run, count: usize) {
    let enough = || async { Ok((started(api).len() == count).then_some(())) };
    eventually(SOON, &format!("{count} Jobs"), enough)
        .await
        .unwrap();
    run.idle().await.unwrap();
}

#[tokio::test]
async fn a_job_starts_at_each_time_of_the_schedule() {
    let api = FakeApi::new();
    api.put(&hourly());
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    assert!(started(&api).is_empty());
    for count in 1..=3 {
        api.advance(HOUR);
        until_started(&api, &mut run, count).await;
    }
    assert_eq!(status(&api).active.len(), 3);
    assert!(is_ready(&status(&api).conditions));
}

#[tokio::test]
async fn of_many_missed_times_only_the_last_starts_a_job() {
    let api = FakeApi::new();
    api.put(&missed(200));
    api.reconcile(register, "sample").await.unwrap();
    assert_eq!(started(&api).len(), 1);
    api.reconcile(register, "sample").await.unwrap();
    assert_eq!(started(&api).len(), 1);
}

#[tokio::test]
async fn a_job_that_missed_its_deadline_is_skipped_with_an_event() {
    let api = FakeApi::new();
    let mut cronjob = missed(2);
    cronjob.spec.starting_deadline_seconds = Some(60);
    api.put(&cronjob);
    api.reconcile(register, "sample").await.unwrap();
    assert!(started(&api).is_empty());
    let events: Vec<Event> = api.all();
    assert_eq!(events[0].reason.as_deref(), Some("MissedDeadline"));
    assert!(status(&api).last_schedule_time.is_some());
}

#[tokio::test]
async fn a_suspended_cronjob_starts_nothing() {
    let api = FakeApi::new();
    let mut cronjob = missed(2);
    cronjob.spec.suspend = true;
    api.put(&cronjob);
    let action = api.reconcile(register, "sample").await.unwrap();
    assert_eq!(action, Action::await_change());
    assert!(started(&api).is_empty());
}

#[tokio::test]
async fn with_forbid_a_job_waits_until_the_one_before_has_ended() {
    let api = FakeApi::new();
    let mut cronjob = hourly();
    cronjob.spec.concurrency_policy = ConcurrencyPolicy::Forbid;
    api.put(&cronjob);
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    api.advance(HOUR);
    until_started(&api, &mut run, 1).await;
    api.advance(HOUR);
    run.idle().await.unwrap();
    assert_eq!(started(&api).len(), 1);

    finish(&api, &started(&api)[0], "Complete");
    until_started(&api, &mut run, 2).await;
}

#[tokio::test]
async fn with_replace_a_job_replaces_the_one_that_runs() {
    let api = FakeApi::new();
    let mut cronjob = hourly();
    cronjob.spec.concurrency_policy = ConcurrencyPolicy::Replace;
    api.put(&cronjob);
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    api.advance(HOUR);
    until_started(&api, &mut run, 1).await;
    let first = started(&api);

    api.advance(HOUR);
    let replaced = || async { Ok((started(&api) != first).then_some(())) };
    eventually(SOON, "another Job", replaced).await.unwrap();
    until_started(&api, &mut run, 1).await;
    assert_eq!(status(&api).active.len(), 1);
}

/// The operator was killed after it had created the Job, and before it wrote the status.
#[tokio::test]
async fn a_job_that_the_status_does_not_know_is_not_started_again() {
    let api = FakeApi::new();
    api.put(&missed(2));
    let cronjob: CronJob = api.get("default", "sample").unwrap();
    let schedule = Schedule::parse(&cronjob.spec.schedule).unwrap();
    let due = schedule.last(Timestamp::now()).unwrap();
    let mut job = jobs::job(&cronjob, due);
    job.metadata.namespace = Some("default".to_owned());
    job.metadata.owner_references = Some(cronjob.controller_owner_ref(&()).into_iter().collect());
    api.put(&job);
    finish(&api, &job.name_any(), "Complete");

    api.reconcile(register, "sample").await.unwrap();

    assert_eq!(started(&api), [job.name_any()]);
    assert!(status(&api).active.is_empty());
}

#[tokio::test]
async fn the_newest_jobs_that_ended_are_kept() {
    let api = FakeApi::new();
    let mut cronjob = hourly();
    cronjob.spec.successful_jobs_history_limit = Some(1);
    cronjob.spec.failed_jobs_history_limit = Some(0);
    api.put(&cronjob);
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    for how in ["Complete", "Failed", "Complete"] {
        let before = started(&api);
        api.advance(HOUR);
        let new = || async {
            Ok(started(&api)
                .into_iter()
                .find(|name| !before.contains(name)))
        };
        let new = eventually(SOON, "a Job", new).await.unwrap();
        finish(&api, &new, how);
        run.idle().await.unwrap();
    }
    until_started(&api, &mut run, 1).await;
}

#[tokio::test]
async fn an_invalid_schedule_is_reported_and_not_retried() {
    let api = FakeApi::new();
    let mut cronjob = hourly();
    cronjob.spec.schedule = "every day".to_owned();
    api.put(&cronjob);
    let action = api.reconcile(register, "sample").await.unwrap();
    assert_eq!(action, Action::await_change());
    let conditions = status(&api).conditions;
    assert_eq!(reason(&conditions, "Ready"), Some("InvalidSchedule"));
}

/// One that is due each minute, and keeps no Jobs that succeeded.
fn each_minute() -> Simulation {
    let mut cronjob = hourly();
    cronjob.spec.schedule = "* * * * *".to_owned();
    cronjob.spec.successful_jobs_history_limit = Some(0);
    cronjob.metadata.creation_timestamp = None;
    let simulation = simulate(register).object(&cronjob).kubelet();
    simulation.every(Duration::from_secs(60))
}

#[test]
fn a_cronjob_survives_faults() {
    each_minute().histories(60).run();
}

/// The operator was killed after it had created the Job, and before it wrote the status. Then the Job ends, and is removed.
#[test]
fn a_job_that_is_gone_is_not_started_again() {
    each_minute().replay("crash-after@2").run();
}
