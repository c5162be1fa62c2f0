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
    /// Whether the condition that counts says that it is ready.
    pub ready: bool,
    /// The status of the condition that is shown: `True`, `False`, `Unknown`, or empty without one.
    pub status: &'static str,
    /// That condition's reason, followed by its message unless it is true.
    pub reason: String,
    pub created: Option<SystemTime>,
}

/// The conditions that show whether an object is ready; the first one that it has counts. The last two are those of a Job.
const CONDITIONS: [&str; 4] = ["Ready", "Available", "Complete", "Failed"];

/// Kubernetes' own groups, beside the core and those below `k8s.io`.
const KUBERNETES: [&str; 4] = ["apps", "autoscaling", "batch", "policy"];

/// How many of its Pods are ready, and how many it wants: a `StatefulSet`, and a `DaemonSet`.
const COUNTS: [[&str; 2]; 2] = [
    ["/status/readyReplicas", "/spec/replicas"],
    ["/status/numberReady", "/status/desiredNumberScheduled"],
];

impl Object {
    /// Reads the JSON of an object.
    pub fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let (counts, reason) = if metadata["deletionTimestamp"].is_null() {
            readiness(object)
        } else {
            ("Unknown", deletion(metadata))
        };
        let ready = counts == "True";
        let bad = bad(object).filter(|_| ready || counts.is_empty());
        let (status, reason) = bad.unwrap_or((counts, reason));
        Self {
            name: name(&metadata["namespace"], &metadata["name"]),
            ready,
            status: ["True", "False", ""]
                .into_iter()
                .find(|known| *known == status)
                .unwrap_or("Unknown"),
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
    (status, explanation(status, condition))
}

fn explanation(status: &str, condition: &Value) -> String {
    let field = |name: &str| condition[name].as_str().unwrap_or_default();
    match (status, field("message")) {
        ("True", _) | (_, "") => field("reason").to_owned(),
        (_, message) => format!("{}: {message}", field("reason")),
    }
}

/// The first other condition that is not as it should be: of kinds that Kubernetes does not have, where conditions are positive by
/// convention, but for these.
fn bad(object: &Value) -> Option<(&str, String)> {
    let negative = |name: &str| ["Degraded", "Failed", "Stalled"].contains(&name);
    let neutral = |name: &str| ["Progressing", "Reconciling", "Suspended"].contains(&name);
    let group = object["apiVersion"].as_str()?.split_once('/')?.0;
    let mut conditions = object["status"]["conditions"].as_array()?.iter();
    let is_bad = |condition: &&Value| {
        let name = condition["type"].as_str().unwrap_or_default();
        (condition["status"] == "True") == negative(name) && !neutral(name)
    };
    if group.ends_with(".k8s.io") || KUBERNETES.contains(&group) {
        return None;
    }
    let condition = conditions.find(is_bad)?;
    let name = condition["type"].as_str().unwrap_or_default();
    let status = match condition["status"].as_str() {
        Some("True") => "False",
        status => status.unwrap_or_default(),
    };
    Some((
        status,
        format!("{name}: {}", explanation(status, condition)),
    ))
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
