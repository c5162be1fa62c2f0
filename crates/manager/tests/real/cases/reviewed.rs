//! Writes that webhooks review. The annotations of an object have their answers.

mod asked;
mod defaults;
mod rejections;

use super::*;

fn answered_with(object: Value, answers: Value) -> Value {
    with(object, "annotations", answers)
}

fn set(path: &str, value: impl Into<Value>) -> Value {
    json!({"op": "add", "path": path, "value": value.into()})
}

fn patch(steps: impl Into<Vec<Value>>) -> String {
    Value::from(steps.into()).to_string()
}

fn boat(spec: Value) -> Value {
    json!({"apiVersion": "crew.example.com/v1", "kind": "Boat", "metadata": {"name": "jolly"}, "spec": spec})
}

fn mate(spec: Value) -> Value {
    json!({"apiVersion": "crew.example.com/v1", "kind": "Mate", "metadata": {"name": "smee"}, "spec": spec})
}

fn raft(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("crew.example.com/{version}"), "kind": "Raft", "metadata": {"name": "kon-tiki"}, "spec": spec,
    })
}

/// The same step in version 2.
fn v2(mut step: Step) -> Step {
    step.path = step.path.replace("/v1/", "/v2/");
    step
}

fn annotate(answers: Value) -> Value {
    json!({"metadata": {"annotations": answers}})
}

pub fn cases() -> Vec<Case> {
    [asked::cases(), defaults::cases(), rejections::cases()].concat()
}
