//! What the screen shows of objects and events of the API server.

use std::time::SystemTime;

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// `<namespace>/<name>`, or the name alone.
    pub name: String,
    /// The status of its condition: `True`, `False`, `Unknown`, or empty without one.
    pub ready: String,
    /// The condition's reason, followed by its message unless it is true.
    pub reason: String,
    pub created: Option<SystemTime>,
}

/// The conditions that show whether an object is ready; the first one that it has counts. The last two are those of a Job.
const CONDITIONS: [&str; 4] = ["Ready", "Available", "Complete", "Failed"];

/// How many of its Pods are ready, and how many it wants: a `StatefulSet`, and a `DaemonSet`.
const COUNTS: [[&str; 2]; 2] = [
    ["/status/readyReplicas", "/spec/replicas"],
    ["/status/numberReady", "/status/desiredNumberScheduled"],
];

impl Object {
    /// Reads the JSON of an object.
    pub fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let (ready, reason) = if metadata["deletionTimestamp"].is_null() {
            readiness(object)
        } else {
            ("Unknown", deletion(metadata))
        };
        Self {
            name: name(&metadata["namespace"], &metadata["name"]),
            ready: ready.to_owned(),
            reason,
            created: time(&metadata["creationTimestamp"]),
        }
    }
}

/// The status and the explanation of the condition that counts, or of the number of Pods.
fn readiness(object: &Value) -> (&str, String) {
    let conditions = object["status"]["conditions"].as_array();
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    let named = |name: &&str| conditions.iter().find(|it| it["type"] == **name);
    let Some(condition) = CONDITIONS.iter().find_map(named) else {
        return counted(object);
    };
    let field = |name: &str| condition[name].as_str().unwrap_or_default();
    let status = match (field("type"), field("status")) {
        ("Failed", "True") => "False",
        (_, status) => status,
    };
    let reason = match (status, field("message")) {
        ("True", _) | (_, "") => field("reason").to_owned(),
        (_, message) => format!("{}: {message}", field("reason")),
    };
    (status, reason)
}

/// Only built-in kinds are known to mean these fields.
fn counted(object: &Value) -> (&'static str, String) {
    if object["apiVersion"] != "apps/v1" {
        return ("", String::new());
    }
    let count = |path: &str| object.pointer(path).and_then(Value::as_u64);
    let counts = COUNTS.iter().find_map(|[ready, wanted]| {
        let wanted = count(wanted)?;
        // The API leaves out a zero.
        let ready = count(ready).unwrap_or_default();
        object["status"].is_object().then_some((ready, wanted))
    });
    match counts {
        None => ("", String::new()),
        Some((ready, wanted)) if ready >= wanted => ("True", String::new()),
        Some((ready, wanted)) => ("False", format!("{ready} of {wanted} Pods are ready")),
    }
}

/// Why an object that is being deleted still exists.
fn deletion(metadata: &Value) -> String {
    let finalizers = metadata["finalizers"].as_array();
    let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
    match finalizers.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "is being deleted".to_owned(),
        names => format!("is being deleted; finalizers: {names}"),
    }
}

/// The kind and the API group of its controller.
pub fn controller(object: &Value) -> Option<(String, String)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    // The core group has no name.
    let (group, _) = owner["apiVersion"]
        .as_str()?
        .rsplit_once('/')
        .unwrap_or_default();
    Some((owner["kind"].as_str()?.to_owned(), group.to_owned()))
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub uid: String,
    pub time: Option<SystemTime>,
    pub warning: bool,
    /// `<Kind> <namespace>/<name>`.
    pub about: String,
    pub reason: String,
    pub note: String,
}

impl Event {
    /// Reads the JSON of an `Event` of `events.k8s.io/v1`.
    pub fn of(event: &Value) -> Self {
        let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let about = &event["regarding"];
        let times = [
            &event["series"]["lastObservedTime"],
            &event["eventTime"],
            // Controllers that use the older API.
            &event["deprecatedLastTimestamp"],
        ];
        Self {
            uid: field(&event["metadata"]["uid"]),
            time: times.into_iter().find_map(time),
            warning: event["type"] == "Warning",
            about: format!(
                "{} {}",
                field(&about["kind"]),
                name(&about["namespace"], &about["name"])
            ),
            reason: field(&event["reason"]),
            note: field(&event["note"]),
        }
    }
}

fn name(namespace: &Value, name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    match namespace.as_str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

fn time(text: &Value) -> Option<SystemTime> {
    let time = OffsetDateTime::parse(text.as_str()?, &Rfc3339).ok()?;
    Some(time.into())
}

#[cfg(test)]
mod tests;
