//! What needs a project, or the fields of a simulation.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use manager::{Action, Context, Manager, metadata};
use serde_json::{Value, json};

use super::{
    Simulation,
    faults::Refusal,
    permissions::Permissions,
    plan::{Fault, What},
    simulate,
};

fn register(manager: &mut Manager) {
    let greeter = manager.controller::<ConfigMap>("greeter");
    greeter.owns(metadata::<ConfigMap>()).reconcile(greet);
}

async fn greet(map: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
    if cx.name() == "captain" {
        let mut greeting = ConfigMap::default();
        greeting.metadata.name = Some("greeting".to_owned());
        greeting.data.clone_from(&map.data);
        cx.apply(&greeting).await?;
    }
    Ok(Action::await_change())
}

fn with_verbs(verbs: &Value) -> Simulation {
    let mut captain = ConfigMap::default();
    captain.metadata.name = Some("captain".to_owned());
    let mut simulation = simulate(register).object(&captain).histories(5);
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
    let role = json!({ "kind": "ClusterRole", "rules": rules });
    simulation.scenario.permissions = Some(Permissions::of(&[role]));
    simulation
}

#[test]
fn a_request_that_the_role_does_not_allow_is_a_failure_that_names_the_permission() {
    let enough = json!(["get", "list", "watch", "create", "patch"]);
    with_verbs(&enough).check().unwrap();
    let writes = "creates configmaps default/greeting";
    for (missing, request) in [
        ("list", "lists configmaps"),
        ("watch", "watches configmaps"),
        ("create", writes),
        ("patch", writes),
    ] {
        let mut verbs = enough.as_array().unwrap().clone();
        verbs.retain(|verb| verb != missing);
        let story = with_verbs(&json!(verbs)).check().unwrap_err().to_string();
        let expected = format!(
            "the role does not allow the operator `{missing}` on configmaps \
             (+kbr:rbac:groups=core,resources=configmaps,verbs={missing})"
        );
        assert!(story.starts_with(&expected), "{story}");
        let request = format!("s  the operator {request}: 403 Forbidden\n");
        assert!(story.contains(&request), "{story}");
    }
}

#[test]
fn the_summary_names_the_patterns_and_the_writes_that_were_not_tried() {
    let enough = json!(["get", "list", "watch", "create", "patch"]);
    let notes = with_verbs(&enough).check().unwrap().notes.join("\n");
    let untried = "no history has a fault of these patterns: by hand, gone, late, latency";
    assert!(notes.contains(untried), "{notes}");
    let notes = with_verbs(&enough).histories(0).check().unwrap().notes;
    let writes = "no process ended at these writes:\n    1: the operator creates configmaps default/greeting";
    assert_eq!(notes.last().map(String::as_str), Some(writes));
    let all = with_verbs(&enough).histories(100).check().unwrap().notes;
    assert!(
        !all.iter().any(|note| note.starts_with("no process")),
        "{all:?}"
    );
}

/// Greets, and says whether that has failed. Once it has, the greeting of a `BUGGY` one tells the time.
fn report<const BUGGY: bool>(manager: &mut Manager) {
    let has_failed = Arc::new(AtomicBool::new(false));
    let greeter = manager.controller::<ConfigMap>("greeter");
    greeter.reconcile(move |_: Arc<ConfigMap>, cx: Context<ConfigMap>| {
        let has_failed = has_failed.clone();
        async move {
            if cx.name() != "captain" {
                return Ok(Action::await_change());
            }
            let text = if BUGGY && has_failed.load(Ordering::SeqCst) {
                cx.now().to_string()
            } else {
                "ahoy".to_owned()
            };
            let answer = cx.apply(&named("greeting", &text)).await;
            if answer.is_err() {
                has_failed.store(true, Ordering::SeqCst);
            }
            let trouble = answer.map_or("trouble", |_| "none");
            cx.apply(&named("report", trouble)).await?;
            if trouble == "none" {
                return Ok(Action::await_change());
            }
            Ok(Action::requeue(Duration::from_secs(1)))
        }
    });
}

fn named(name: &str, text: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some([("text".to_owned(), text.to_owned())].into());
    map
}

fn reports(register: fn(&mut Manager)) -> Simulation {
    simulate(register).object(&named("captain", "ahoy"))
}

/// The writes 3 and 4 are those of the reconcile at rest.
#[test]
fn what_is_written_because_of_a_fault_at_rest_is_no_instability() {
    let faults = Refusal::ALL.map(|refusal| {
        let what = What::Refused(refusal);
        Fault { what, at: 3 }.to_string()
    });
    for plan in faults.iter().map(String::as_str).chain(["crash-after@3"]) {
        reports(report::<false>).replay(plan).check().unwrap();
    }
}

#[test]
fn a_state_at_rest_is_stable_after_the_last_fault_at_rest() {
    let simulation = reports(report::<true>).ignore("/data");
    let story = simulation.replay("503@3").check().unwrap_err().to_string();
    let expected = "at rest, reconciling again changes something\n    write 7: the operator changes configmaps default/greeting";
    assert!(story.starts_with(expected), "{story}");
}
