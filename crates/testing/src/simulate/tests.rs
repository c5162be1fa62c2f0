//! What needs a project, or the fields of a simulation.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use manager::{Action, Context, Manager};
use serde_json::{Value, json};

use super::{Simulation, permissions::Permissions, simulate};

fn register(manager: &mut Manager) {
    let greeter = manager.controller::<ConfigMap>("greeter");
    greeter.owns::<ConfigMap>().reconcile(greet);
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
    for missing in ["list", "watch", "create", "patch"] {
        let mut verbs = enough.as_array().unwrap().clone();
        verbs.retain(|verb| verb != missing);
        let story = with_verbs(&json!(verbs)).check().unwrap_err().to_string();
        let expected = format!(
            "the role does not allow the operator `{missing}` on configmaps \
             (+kbr:rbac:groups=core,resources=configmaps,verbs={missing})"
        );
        assert!(story.starts_with(&expected), "{story}");
    }
}

#[test]
fn the_summary_names_the_patterns_and_the_writes_that_were_not_tried() {
    let enough = json!(["get", "list", "watch", "create", "patch"]);
    let notes = with_verbs(&enough).check().unwrap().notes.join("\n");
    let untried =
        "no history has a fault of these patterns: by hand, explored, lagging, late, latency";
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
