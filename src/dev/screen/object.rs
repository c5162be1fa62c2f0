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
    /// The condition's reason, and its message unless it is true.
    pub reason: String,
    pub created: Option<SystemTime>,
}

/// The conditions that tell whether an object is ready; the first one that it has counts. The last two are those of a Job.
const CONDITIONS: [&str; 4] = ["Ready", "Available", "Complete", "Failed"];

impl Object {
    /// Reads the JSON of an object.
    pub fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let (ready, reason) = if metadata["deletionTimestamp"].is_null() {
            readiness(object)
        } else {
            ("", deletion(metadata))
        };
        Self {
            name: name(&metadata["namespace"], &metadata["name"]),
            ready: ready.to_owned(),
            reason,
            created: time(&metadata["creationTimestamp"]),
        }
    }
}

/// The status and the explanation of the condition that counts.
fn readiness(object: &Value) -> (&str, String) {
    let conditions = object["status"]["conditions"].as_array();
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    let named = |name: &&str| conditions.iter().find(|it| it["type"] == **name);
    let Some(condition) = CONDITIONS.iter().find_map(named) else {
        return ("", String::new());
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
    let (group, _) = owner["apiVersion"].as_str()?.rsplit_once('/')?;
    Some((owner["kind"].as_str()?.to_owned(), group.to_owned()))
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
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
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn with(conditions: &Value) -> (String, String) {
        let object = Object::of(
            &json!({ "metadata": { "name": "a" }, "status": { "conditions": conditions } }),
        );
        (object.ready, object.reason)
    }

    fn pair(ready: &str, reason: &str) -> (String, String) {
        (ready.to_owned(), reason.to_owned())
    }

    #[test]
    fn readiness_is_the_condition_that_the_kind_has() {
        let progressing = json!({ "type": "Progressing", "status": "True" });
        let available =
            json!({ "type": "Available", "status": "False", "reason": "Few", "message": "1 of 3" });
        let ready = json!({ "type": "Ready", "status": "True", "reason": "Reconciled", "message": "all is well" });
        let failed = json!({ "type": "Failed", "status": "True", "reason": "Backoff" });
        assert_eq!(
            with(&json!([progressing, available])),
            pair("False", "Few: 1 of 3")
        );
        assert_eq!(with(&json!([available, ready])), pair("True", "Reconciled"));
        assert_eq!(with(&json!([failed])), pair("False", "Backoff"));
        assert_eq!(with(&json!([progressing])), pair("", ""));
        assert_eq!(with(&json!("no list")), pair("", ""));
    }

    #[test]
    fn an_object_that_is_being_deleted_names_its_finalizers() {
        let metadata = json!({ "name": "a", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["x/y"], "creationTimestamp": "1970-01-01T00:01:00Z" });
        let object = Object::of(&json!({ "metadata": metadata }));
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        assert_eq!(
            object,
            Object {
                name: "n/a".to_owned(),
                ready: String::new(),
                reason: "is being deleted; finalizers: x/y".to_owned(),
                created: Some(created),
            }
        );
    }

    #[test]
    fn an_event_has_the_time_of_its_last_repetition() {
        let event = |times: Value| {
            let mut event = json!({ "type": "Warning", "reason": "R", "note": "N",
                "regarding": { "kind": "Captain", "namespace": "n", "name": "a" } });
            for (name, time) in times.as_object().unwrap() {
                event[name] = time.clone();
            }
            Event::of(&event)
        };
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let once = event(json!({ "eventTime": "1970-01-01T00:00:01.000000Z" }));
        assert_eq!(
            (once.time, once.about.as_str(), once.warning),
            (at(1), "Captain n/a", true)
        );
        let series = json!({ "lastObservedTime": "1970-01-01T00:00:03.000000Z" });
        let repeated = json!({ "eventTime": "1970-01-01T00:00:01.000000Z", "series": series });
        assert_eq!(event(repeated).time, at(3));
        let old = json!({ "eventTime": null, "deprecatedLastTimestamp": "1970-01-01T00:00:02Z" });
        assert_eq!(event(old).time, at(2));
    }

    #[test]
    fn only_an_owner_that_is_the_controller_counts() {
        let owner = |controller| json!({ "apiVersion": "crew.example.com/v1", "kind": "Captain", "controller": controller });
        let object =
            |owners: Value| controller(&json!({ "metadata": { "ownerReferences": owners } }));
        let found = Some(("Captain".to_owned(), "crew.example.com".to_owned()));
        assert_eq!(object(json!([owner(false), owner(true)])), found);
        assert_eq!(object(json!([owner(false)])), None);
        assert_eq!(object(Value::Null), None);
    }
}
