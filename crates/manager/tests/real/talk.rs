//! Sends requests to both servers, and selects the parts of the answers that must be equal.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt;
use hyper::{Method, Request};
use kube::{Client, api::WatchEvent, client::Body};
use serde_json::{Value, json};

/// A sequence of requests.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

/// One request. In its path and body, `{ns}` is replaced with the namespace of the case, `{rv}` and `{uid}` with the
/// values in the last answer, and `{rv1}` and `{uid1}` with those in the first.
#[derive(Clone, Debug)]
pub struct Step {
    pub method: Method,
    pub path: String,
    pub media_type: &'static str,
    pub body: Value,
    /// Whether the real server adds defaults, so that its answer may have more fields.
    pub defaults: bool,
    /// Whether the message of an error, and the causes of what is invalid, must be the same.
    pub message: bool,
    pub watch: bool,
}

impl Step {
    /// Compares only the fields in the answer of the fake server, and the applied ones.
    pub fn with_defaults(mut self) -> Self {
        self.defaults = true;
        self
    }

    /// Compares the message and the causes of an error, too.
    pub fn with_message(mut self) -> Self {
        self.message = true;
        self
    }

    /// Both answers without the parts that must differ; `real` also without defaults.
    pub fn comparable(&self, real: Value, fake: Value) -> (Value, Value) {
        if !self.defaults {
            return (real, fake);
        }
        let only_applies = |mut answer: Value| {
            if let Some(managed) = answer["body"]["metadata"]["managedFields"].as_array_mut() {
                managed.retain(|entry| entry["operation"] == "Apply");
            }
            answer
        };
        let (real, fake) = (only_applies(real), only_applies(fake));
        (masked(&real, &fake), fake)
    }
}

/// The parts of `real` that the other answer has, too.
fn masked(real: &Value, fake: &Value) -> Value {
    match (real, fake) {
        (Value::Object(real), Value::Object(fake)) => real
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), masked(value, fake.get(name)?))))
            .collect(),
        (Value::Array(real), Value::Array(fake)) if real.len() == fake.len() => real
            .iter()
            .zip(fake)
            .map(|(real, fake)| masked(real, fake))
            .collect(),
        _ => real.clone(),
    }
}

/// One of the two servers, in one case.
pub struct Side {
    client: Client,
    known: BTreeMap<String, String>,
}

impl Side {
    /// The real server, with a namespace for this case.
    pub async fn new(client: Client, name: &str) -> Self {
        let namespace: String = name
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .take(60)
            .collect();
        let namespace = namespace.trim_end_matches('-').to_owned();
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let (code, answer, _) = send(
            &client,
            &Method::POST,
            "/api/v1/namespaces",
            "application/json",
            &body,
        )
        .await;
        assert_eq!(code, 201, "{answer}");
        let known = [("ns".to_owned(), namespace)].into();
        Self { client, known }
    }

    /// The fake server beside a real one.
    pub fn fake(client: Client, real: &Self) -> Self {
        let known = real.known.clone();
        Self { client, known }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn namespace(&self) -> &str {
        &self.known["ns"]
    }

    /// Takes a step; returns its answer without the parts that must differ.
    pub async fn take(&mut self, step: &Step) -> Value {
        let fill = |text: &str| {
            let mut text = text.to_owned();
            for (name, value) in &self.known {
                text = text.replace(&format!("{{{name}}}"), value);
            }
            text
        };
        let path = fill(&step.path);
        let body: Value = serde_json::from_str(&fill(&step.body.to_string())).unwrap();
        if step.watch {
            return watch(&self.client, &path).await;
        }
        let (code, answer, warnings) =
            send(&self.client, &step.method, &path, step.media_type, &body).await;
        let before = self.known.get("rv").cloned();
        self.learn(&answer);
        // The version of a list changes with every write of any client, such as the API server itself.
        let is_list = answer["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"));
        let changed = !is_list && before != self.known.get("rv").cloned();
        let body = if answer["kind"] == "Status" {
            status(&answer, step.message)
        } else {
            object(answer)
        };
        json!({
            "code": code, "version": if changed { "changed" } else { "same" }, "body": body, "warnings": warnings,
        })
    }

    fn learn(&mut self, answer: &Value) {
        let meta = &answer["metadata"];
        let token = meta["continue"].as_str();
        for (name, value) in [
            ("uid", meta["uid"].as_str()),
            ("rv", meta["resourceVersion"].as_str()),
            ("continue", token),
        ] {
            if let Some(value) = value {
                self.known.insert(name.to_owned(), value.to_owned());
                self.known
                    .entry(format!("{name}1"))
                    .or_insert(value.to_owned());
            }
        }
    }
}

/// Sends a request; returns the code, the body and the warnings of the answer.
pub async fn send(
    client: &Client,
    method: &Method,
    path: &str,
    media_type: &str,
    body: &Value,
) -> (u16, Value, Vec<String>) {
    let bytes = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type)
        .header(
            "accept",
            if *method == Method::GET {
                media_type
            } else {
                "application/json"
            },
        )
        .header("user-agent", "compare/1.0 (both)")
        .body(Body::from(bytes))
        .unwrap();
    let answer = client.send(request).await.unwrap();
    let code = answer.status().as_u16();
    let warnings = answer.headers().get_all(hyper::header::WARNING).iter();
    let warnings = warnings.filter_map(|warning| warning.to_str().ok());
    // The fake server does not say so.
    let warnings = warnings.filter(|warning| !warning.contains("unknown field"));
    let warnings = warnings.map(str::to_owned).collect();
    let bytes = answer.into_body().collect_bytes().await.unwrap();
    (
        code,
        serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))),
        warnings,
    )
}

/// The events of a watch until it is quiet.
async fn watch(client: &Client, path: &str) -> Value {
    let request = Request::get(path).body(Vec::new()).unwrap();
    let events = match client.request_events::<Value>(request).await {
        Ok(events) => events,
        Err(kube::Error::Api(error)) => return json!({"code": error.code, "reason": error.reason}),
        Err(error) => panic!("{error}"),
    };
    let (mut events, mut told) = (Box::pin(events), Vec::new());
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(2), events.next()).await {
        told.push(match event.unwrap() {
            WatchEvent::Added(it) => json!({"added": object(it)}),
            WatchEvent::Modified(it) => json!({"modified": object(it)}),
            WatchEvent::Deleted(it) => json!({"deleted": object(it)}),
            WatchEvent::Bookmark(it) if it.metadata.annotations.is_empty() => continue,
            WatchEvent::Bookmark(it) => json!({"bookmark": it.metadata.annotations}),
            WatchEvent::Error(error) => json!({"code": error.code, "reason": error.reason}),
        });
    }
    told.into()
}

/// The reason and details of a `Status`; the wording of its message may differ, unless it is compared.
fn status(answer: &Value, with_message: bool) -> Value {
    let details = &answer["details"];
    let cause = |cause: &Value| {
        if with_message {
            json!([cause["reason"], cause["field"], cause["message"]])
        } else {
            json!([cause["reason"], cause["field"]])
        }
    };
    let mut causes: Vec<_> = details["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(cause)
        .collect();
    causes.sort_by_key(Value::to_string);
    // For a custom resource, two validations may find the same.
    causes.dedup();
    let conflict = answer["message"]
        .as_str()
        .unwrap_or_default()
        .starts_with("Apply failed");
    // The library tells by this field that an object is another one.
    let is_another = causes.iter().any(|cause| cause[1] == "metadata.uid");
    let shows_causes = conflict || is_another || with_message;
    json!({
        "status": answer["status"], "reason": answer["reason"],
        "message": if with_message { message(answer) } else { Value::Null },
        "causes": if shows_causes { Value::from(causes) } else { Value::Null },
        "kind": details["kind"], "name": details["name"],
    })
}

/// The message of a `Status`, with the problems of an object in one order: the API server goes through maps at random.
fn message(answer: &Value) -> Value {
    let message = answer["message"].as_str().unwrap_or_default();
    let list = message.split_once("is invalid: [");
    let Some((head, list)) = list else {
        return json!(message);
    };
    let mut list: Vec<_> = list.trim_end_matches(']').split(", ").collect();
    list.sort_unstable();
    json!([head, list])
}

/// An object or a list without the parts that differ between servers.
pub fn object(mut object: Value) -> Value {
    if let Some(items) = object["items"].as_array_mut() {
        *items = items.drain(..).map(self::object).collect();
    }
    if object["items"].is_null() {
        object.as_object_mut().map(|object| object.remove("items"));
    }
    let Some(meta) = object["metadata"].as_object_mut() else {
        return object;
    };
    meta.retain(|_, value| value != "");
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "continue",
        "selfLink",
    ] {
        if let Some(value) = meta.get_mut(field).filter(|value| !value.is_null()) {
            *value = json!("set");
        }
    }
    if let Some(prefix) = meta.get("generateName").and_then(Value::as_str) {
        let name = meta.get("name").and_then(Value::as_str).unwrap_or_default();
        let made = name.strip_prefix(prefix).map(str::len);
        meta.insert("name".to_owned(), json!(format!("{made:?} letters")));
    }
    let owners = meta
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut);
    owners
        .into_iter()
        .flatten()
        .for_each(|owner| owner["uid"] = json!("set"));
    if let Some(managed) = meta.get_mut("managedFields").and_then(Value::as_array_mut) {
        for entry in managed.iter_mut() {
            entry["time"] = json!("set");
            *entry = serde_json::from_str(&uids(&entry.to_string())).unwrap();
        }
        // Uids are random, and would decide about the order.
        managed.sort_by_key(Value::to_string);
    }
    object
}

/// Text in which all uids, which are in the keys of owner references, are the same.
fn uids(text: &str) -> String {
    let mut parts = text.split(r#"k:{\"uid\":\""#);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.split_once('\\').map_or("", |(_, rest)| rest);
        out = format!(r#"{out}k:{{\"uid\":\"set\{rest}"#);
    }
    out
}

/// Installs a definition, unless another test has, and waits until its objects are served.
pub async fn install(client: &Client, crd: &Value) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer, _) = send(client, &Method::POST, path, "application/json", crd).await;
    assert!(code == 201 || code == 409, "{answer}");
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let path = format!("/apis/{group}/v1/{plural}");
    let look = async || {
        let (code, ..) = send(
            client,
            &Method::GET,
            &path,
            "application/json",
            &Value::Null,
        )
        .await;
        Ok((code == 200).then_some(()))
    };
    kbr_testing::eventually(Duration::from_secs(60), "the kind is served", look)
        .await
        .unwrap();
}

/// The answer to a GET.
pub async fn get(client: &Client, path: &str) -> Value {
    send(client, &Method::GET, path, "application/json", &Value::Null)
        .await
        .1
}

/// The code and the answer of a request with a body.
pub async fn write(
    client: &Client,
    method: &Method,
    path: &str,
    media_type: &str,
    body: &Value,
) -> (u16, Value) {
    let (code, answer, _) = send(client, method, path, media_type, body).await;
    (code, answer)
}
