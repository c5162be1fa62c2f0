//! Unit tests of the `at` controller, on a clock that they set.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use api::cnat::v1alpha1::AtStatus;
use k8s_openapi::{api::events::v1::Event, apimachinery::pkg::apis::meta::v1::Condition};
use kbr_testing::{FakeApi, Run, eventually, is_ready, reason, simulate};
use serde_json::{Value, json};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// How long a test waits before it fails.
const SOON: Duration = MINUTE;

/// The schedule of the document's sample.
const PAST: &str = "2019-07-03T02:00:00Z";

const NAME: &str = "example-at";

fn at(schedule: &str) -> At {
    let spec = json!({ "schedule": schedule, "command": "echo YAY" });
    At::new(NAME, serde_json::from_value(spec).unwrap())
}

/// The time in so long, as in a schedule.
fn after(time: Duration) -> String {
    (Timestamp::now() + time).to_string()
}

fn stored(api: &FakeApi) -> At {
    api.get("default", NAME).unwrap()
}

fn status(api: &FakeApi) -> AtStatus {
    stored(api).status.unwrap_or_default()
}

fn phase(api: &FakeApi) -> Phase {
    status(api).phase
}

fn condition(api: &FakeApi, kind: &str) -> Condition {
    let mut conditions = status(api).conditions.into_iter();
    conditions.find(|one| one.type_ == kind).unwrap()
}

fn pod(api: &FakeApi) -> Option<Pod> {
    api.get("default", NAME)
}

/// The writes so far, without events.
fn writes(api: &FakeApi) -> usize {
    let requests = api.requests().into_iter();
    let reads_and_events =
        |request: &String| request.starts_with("GET") || request.contains("/events");
    requests
        .filter(|request| !reads_and_events(request))
        .count()
}

/// Writes the status of the Pod, as a kubelet does.
fn set_pod(api: &FakeApi, status: Value) {
    let mut pod = pod(api).unwrap();
    pod.status = serde_json::from_value(status).unwrap();
    api.put(&pod);
}

/// Waits until the `At` has a phase, and whatever follows from that has been done.
async fn reaches(run: &mut Run, api: &FakeApi, expected: Phase) {
    let reached = async || Ok((phase(api) == expected).then_some(()));
    eventually(SOON, &format!("{expected:?}"), reached)
        .await
        .unwrap();
    api.advance(SECOND);
    run.idle().await.unwrap();
}

/// Changes the schedule, and waits until the operator has seen that.
async fn reschedule(run: &mut Run, api: &FakeApi, schedule: &str) {
    let mut at = stored(api);
    at.spec.schedule = Some(schedule.to_owned());
    at.metadata.generation = None; // The server sets the next one.
    api.put(&at);
    let seen = async || {
        Ok((status(api).observed_generation == stored(api).metadata.generation).then_some(()))
    };
    eventually(SOON, "the new generation is observed", seen)
        .await
        .unwrap();
    run.idle().await.unwrap();
}

#[tokio::test]
async fn a_command_runs_at_its_time_and_not_before() {
    let api = FakeApi::new();
    api.put(&at(&after(HOUR)));
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    assert_eq!((phase(&api), pod(&api)), (Phase::Pending, None));
    assert_eq!(condition(&api, "Ready").reason, "Scheduled");

    api.advance(59 * MINUTE);
    run.idle().await.unwrap();
    assert_eq!((phase(&api), pod(&api)), (Phase::Pending, None));

    api.advance(MINUTE);
    reaches(&mut run, &api, Phase::Running).await;
    let spec = pod(&api).unwrap().spec.unwrap();
    assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
    let command = spec.containers[0].command.as_deref().unwrap();
    assert_eq!(command, ["sh", "-c", "echo YAY"]);
}

#[tokio::test]
async fn a_schedule_in_the_past_runs_at_once() {
    let api = FakeApi::new();
    api.put(&at(PAST));
    let action = api.reconcile(register, NAME).await.unwrap();
    assert_eq!(action, Action::await_change());
    assert_eq!(phase(&api), Phase::Running);
    assert!(is_ready(&status(&api).conditions));
    let owners = pod(&api).unwrap().metadata.owner_references.unwrap();
    assert_eq!((&*owners[0].kind, &*owners[0].name), ("At", NAME));
}

#[tokio::test]
async fn a_schedule_that_changes_before_it_ran_counts() {
    let api = FakeApi::new();
    api.put(&at(&after(HOUR)));
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();

    reschedule(&mut run, &api, &after(3 * HOUR)).await;
    api.advance(2 * HOUR);
    run.idle().await.unwrap();
    assert_eq!((phase(&api), pod(&api)), (Phase::Pending, None));

    // Two hours have passed.
    reschedule(&mut run, &api, &after(HOUR)).await;
    reaches(&mut run, &api, Phase::Running).await;
}

#[tokio::test]
async fn a_command_that_has_run_never_runs_again() {
    let api = FakeApi::new();
    api.put(&at(PAST));
    let mut run = api.run(register).unwrap();
    reaches(&mut run, &api, Phase::Running).await;
    set_pod(&api, json!({ "phase": "Succeeded" }));
    reaches(&mut run, &api, Phase::Done).await;
    assert_eq!(condition(&api, "Succeeded").status, "True");
    assert_eq!(pod(&api).unwrap().finalizers(), [""; 0]);

    api.delete::<Pod>("default", NAME);
    for schedule in [PAST, &after(HOUR)] {
        reschedule(&mut run, &api, schedule).await;
        api.advance(2 * HOUR);
        run.idle().await.unwrap();
        assert_eq!((phase(&api), pod(&api)), (Phase::Done, None));
    }
    // A restart changes nothing.
    drop(run);
    let before = writes(&api);
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    assert_eq!((writes(&api), pod(&api)), (before, None));
}

#[tokio::test]
async fn a_failed_command_is_done_and_its_exit_code_is_reported() {
    let api = FakeApi::new();
    api.put(&at(PAST));
    api.reconcile(register, NAME).await.unwrap();
    let exit = json!({ "terminated": { "exitCode": 3 } });
    let container = json!({ "name": "command", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": exit });
    set_pod(
        &api,
        json!({ "phase": "Failed", "containerStatuses": [container] }),
    );

    api.reconcile(register, NAME).await.unwrap();

    assert_eq!(phase(&api), Phase::Done);
    let succeeded = condition(&api, "Succeeded");
    assert_eq!(succeeded.status, "False");
    assert_eq!(succeeded.message, "the command exited with code 3");
    let events: Vec<Event> = api.all();
    let reasons: Vec<_> = events
        .iter()
        .filter_map(|event| event.reason.as_deref())
        .collect();
    assert_eq!(reasons, ["Started", "Failed"]);
}

#[tokio::test]
async fn a_spec_that_cannot_run_is_reported_and_not_retried() {
    for (spec, reason) in [
        (json!({}), "NoSchedule"),
        (json!({ "command": "true" }), "NoSchedule"),
        (json!({ "schedule": PAST }), "NoCommand"),
        (
            json!({ "command": "true", "schedule": "tomorrow" }),
            "InvalidSchedule",
        ),
        (
            json!({ "command": "true", "schedule": "2019-07-03T02:00:00" }),
            "InvalidSchedule",
        ),
        (
            json!({ "command": "true", "schedule": "2019-07-03T02:00:00+99:00" }),
            "InvalidSchedule",
        ),
    ] {
        let api = FakeApi::new();
        api.put(&At::new(NAME, serde_json::from_value(spec).unwrap()));
        let mut run = api.run(register).unwrap();
        run.idle().await.unwrap();
        let ready = condition(&api, "Ready");
        assert_eq!(
            (&*ready.status, &*ready.reason),
            ("False", reason),
            "{}",
            ready.message
        );
        assert_eq!((phase(&api), pod(&api)), (Phase::Pending, None));

        let before = api.requests();
        api.advance(24 * HOUR);
        run.idle().await.unwrap();
        assert_eq!(api.requests(), before);

        // It runs once it can.
        let mut at = at(PAST);
        at.metadata.uid = stored(&api).metadata.uid;
        api.put(&at);
        reaches(&mut run, &api, Phase::Running).await;
    }
}

/// At each point at which the operator may be killed: what the status said, and what the Pod did. Before the operator
/// runs again, a user deletes the Pod.
#[tokio::test]
async fn a_command_runs_once_wherever_the_operator_is_killed() {
    for (stored_phase, pod_phase, succeeded) in [
        (Phase::Pending, "Running", "Unknown"), // right after it had created the Pod
        (Phase::Pending, "Succeeded", "True"),
        (Phase::Running, "Running", "Unknown"),
        (Phase::Running, "Failed", "False"),
        (Phase::Done, "Succeeded", "True"), // before it released the Pod
    ] {
        let api = FakeApi::new();
        api.put(&at(PAST));
        api.reconcile(register, NAME).await.unwrap();
        set_pod(&api, json!({ "phase": pod_phase }));
        if stored_phase == Phase::Done {
            api.reconcile(register, NAME).await.unwrap();
        } else {
            let mut at = stored(&api);
            at.status.as_mut().unwrap().phase = stored_phase;
            api.put(&at);
        }
        api.delete::<Pod>("default", NAME);
        assert!(pod(&api).is_some(), "its finalizer keeps it");

        let mut run = api.run(register).unwrap();
        reaches(&mut run, &api, Phase::Done).await;

        assert_eq!(pod(&api), None, "{stored_phase:?}, {pod_phase}");
        assert_eq!(condition(&api, "Succeeded").status, succeeded);
    }
}

#[tokio::test]
async fn a_pod_that_was_removed_by_force_is_not_created_again() {
    let api = FakeApi::new();
    api.put(&at(PAST));
    let mut run = api.run(register).unwrap();
    reaches(&mut run, &api, Phase::Running).await;
    let mut forced = pod(&api).unwrap();
    forced.finalizers_mut().clear();
    api.put(&forced);
    api.delete::<Pod>("default", NAME);

    reaches(&mut run, &api, Phase::Done).await;
    let succeeded = condition(&api, "Succeeded");
    assert_eq!(
        (&*succeeded.status, &*succeeded.reason),
        ("Unknown", "PodDeleted")
    );
    assert_eq!(pod(&api), None);
}

#[tokio::test]
async fn a_deleted_at_goes_with_its_pod() {
    let api = FakeApi::new();
    api.put(&at(PAST));
    api.reconcile(register, NAME).await.unwrap();
    api.delete::<At>("default", NAME);
    assert!(pod(&api).is_some());

    api.reconcile(register, NAME).await.unwrap();

    assert_eq!(api.get::<At>("default", NAME), None);
    assert_eq!(pod(&api), None);
}

#[tokio::test]
async fn a_pod_of_that_name_that_is_not_ours_is_reported_and_left_alone() {
    let api = FakeApi::new();
    api.put(&at(PAST));
    let mut foreign = pod::running(&at(PAST), "sleep 1").unwrap();
    foreign.metadata.finalizers = None;
    api.put(&foreign);

    let error = api.reconcile(register, NAME).await.unwrap_err();

    assert!(format!("{error:#}").contains("has no owner"), "{error:#}");
    assert!(!is_ready(&status(&api).conditions));
    assert_eq!(phase(&api), Phase::Pending);
    assert_eq!(pod(&api).unwrap().spec, foreign.spec);
}

/// Whether the command has succeeded, as far as its Pod says so.
fn has_succeeded(api: &FakeApi) -> bool {
    let status = pod(api).and_then(|pod| pod.status);
    status.is_some_and(|status| status.phase.as_deref() == Some("Succeeded"))
}

/// Someone deletes the Pod, in some histories while it runs: only then its outcome may be unknown.
#[test]
fn an_at_survives_faults() {
    let is_known = AtomicBool::new(false);
    simulate(register)
        .kubelet()
        .user("deletes the Pod", |api| api.delete::<Pod>("default", NAME))
        .ignore(&format!("Pod default/{NAME}"))
        .ignore(&format!("At default/{NAME} /status/conditions/1"))
        .skip("explored", "a command that has run does not run again")
        .always("a command that has run does not run again", |api| {
            let at: Option<At> = api.get("default", NAME);
            let status = at.and_then(|at| at.status).unwrap_or_default();
            let runs = pod(api).is_some_and(|pod| pod::outcome(&pod).is_none());
            status.phase != Phase::Done || !runs
        })
        .always("the outcome of a command is not lost", move |api| {
            let at: Option<At> = api.get("default", NAME);
            let status = at.and_then(|at| at.status).unwrap_or_default();
            if status.phase == Phase::Pending {
                is_known.store(false, Ordering::Relaxed);
            } else if has_succeeded(api) {
                is_known.store(true, Ordering::Relaxed);
            }
            let is_lost = reason(&status.conditions, "Succeeded") == Some("PodDeleted");
            !is_lost || !is_known.load(Ordering::Relaxed)
        })
        .run();
}
