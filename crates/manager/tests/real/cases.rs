//! The requests that are sent to both servers.

mod apply;
mod delete;
mod fixed;
mod read;
mod refused;
mod reviewed;
mod rules;
mod schema;
mod status;
mod versions;
mod write;

use hyper::Method;
use serde_json::{Value, json};

use crate::talk::{Case, Step};

/// All cases.
pub fn all() -> Vec<Case> {
    [
        write::cases(),
        read::cases(),
        delete::cases(),
        fixed::cases(),
        apply::cases(),
        schema::cases(),
        versions::cases(),
        rules::cases(),
    ]
    .concat()
}

/// The cases in which webhooks review writes.
pub fn reviewed() -> Vec<Case> {
    reviewed::cases()
}

fn case(name: &'static str, steps: impl Into<Vec<Step>>) -> Case {
    let steps = steps.into();
    Case { name, steps }
}

/// Custom kinds: one with a status subresource and all types of lists, one without a status subresource, one with defaults and
/// restrictions, one with two versions, and one with rules.
pub fn definitions() -> Vec<Value> {
    let string = json!({"type": "string"});
    let ports = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "required": ["port", "protocol"], "properties": {
            "port": {"type": "integer"}, "protocol": string, "name": string, "note": string,
        }},
    });
    let conditions = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "required": ["type"], "properties": {"type": string, "status": string}},
    });
    let spec = json!({"type": "object", "properties": {
        "order": string, "size": {"type": "integer"},
        "nested": {"type": "object", "properties": {"a": string, "b": string}},
        "list": {"type": "array", "items": string},
        "tags": {"type": "array", "items": string, "x-kubernetes-list-type": "set"},
        "ports": ports,
        "settings": {"type": "object", "additionalProperties": string},
        "berths": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": string, "b": string}}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": string, "b": string}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let state = json!({
        "type": "object", "oneOf": [{"required": ["waiting"]}, {"required": ["running"]}],
        "properties": {
            "waiting": {"type": "object", "properties": {"since": {"type": "integer"}}},
            "running": {"type": "object"},
        },
    });
    let status = json!({
        "type": "object", "properties": {"phase": string, "conditions": conditions, "state": state},
    });
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}});
    let crd = |kind: &str, schema: &Value, subresources: Value| {
        let singular = kind.to_lowercase();
        let plural = format!("{singular}s");
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.crew.example.com")},
            "spec": {
                "group": "crew.example.com", "scope": "Namespaced",
                "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": subresources,
                }],
            },
        })
    };
    vec![
        crd("Captain", &schema, json!({"status": {}})),
        crd("Mate", &schema, json!({})),
        crd("Boat", &schema::restricted(), json!({"status": {}})),
        versions::raft(crd("Raft", &Value::Null, json!({"status": {}}))),
        rules::barge(crd("Barge", &Value::Null, json!({"status": {}}))),
    ]
}

/// The path of a collection, an object or a subresource: `captains/hook/status`.
fn path(short: &str) -> String {
    let plural = short.split(['/', '?']).next().unwrap_or_default();
    let root = match plural {
        "barges" | "boats" | "captains" | "mates" | "rafts" => "/apis/crew.example.com/v1",
        "daemonsets" | "deployments" | "replicasets" | "statefulsets" => "/apis/apps/v1",
        "jobs" => "/apis/batch/v1",
        "leases" => "/apis/coordination.k8s.io/v1",
        "rolebindings" => "/apis/rbac.authorization.k8s.io/v1",
        "poddisruptionbudgets" => "/apis/policy/v1",
        _ => "/api/v1",
    };
    format!("{root}/namespaces/{{ns}}/{short}")
}

fn step(method: Method, short: &str, media_type: &'static str, body: Value) -> Step {
    Step {
        method,
        path: path(short),
        media_type,
        body,
        defaults: false,
        message: false,
        watch: false,
    }
}

const JSON: &str = "application/json";

fn post(short: &str, body: Value) -> Step {
    step(Method::POST, short, JSON, body)
}

fn put(short: &str, body: Value) -> Step {
    step(Method::PUT, short, JSON, body)
}

fn get(short: &str) -> Step {
    step(Method::GET, short, JSON, Value::Null)
}

fn watch(short: &str) -> Step {
    let watch = true;
    Step {
        watch,
        ..get(short)
    }
}

fn merge(short: &str, body: Value) -> Step {
    step(Method::PATCH, short, "application/merge-patch+json", body)
}

fn json_patch(short: &str, body: Value) -> Step {
    step(Method::PATCH, short, "application/json-patch+json", body)
}

fn delete(short: &str, body: Value) -> Step {
    step(Method::DELETE, short, JSON, body)
}

fn apply(short: &str, manager: &str, body: Value) -> Step {
    let short = format!("{short}?fieldManager={manager}");
    step(Method::PATCH, &short, "application/apply-patch+yaml", body)
}

fn force(short: &str, manager: &str, body: Value) -> Step {
    apply(short, &format!("{manager}&force=true"), body)
}

/// A `ConfigMap` with this data.
fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A captain with this spec.
fn captain(spec: Value) -> Value {
    json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": "hook"}, "spec": spec,
    })
}

/// A captain with this status.
fn captain_status(status: Value) -> Value {
    json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": "hook"}, "status": status,
    })
}

/// An object with more metadata.
fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["metadata"][field] = value;
    object
}
