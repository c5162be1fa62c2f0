//! Test reviews with random changes: whatever the change, an object that the user's code rejects is never allowed. The
//! changes are the same in each run.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::FakeApi;
use manager::{
    Manager,
    webhook::{Defaulter, Rejection, Request, Validator, Warnings},
};
use serde_json::{Value, json, value::RawValue};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::{
    conversions::{conversion, thing},
    register, review,
    server::Server,
};

/// How many reviews are sent to each webhook: `KBR_FUZZ_ROUNDS`, or 2000.
fn rounds() -> usize {
    let rounds = std::env::var("KBR_FUZZ_ROUNDS").ok();
    rounds.map_or(2000, |rounds| rounds.parse().unwrap())
}

/// Rejects everything.
struct Never;

impl Defaulter<ConfigMap> for Never {
    async fn default(&self, _: &mut ConfigMap, _: &Request<ConfigMap>) -> Result<(), Rejection> {
        Err(Rejection::forbidden("never"))
    }
}

impl Validator<ConfigMap> for Never {
    async fn validate_create(
        &self,
        _: &ConfigMap,
        _: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        Err(Rejection::forbidden("never"))
    }

    async fn validate_update(
        &self,
        _: &ConfigMap,
        _: &ConfigMap,
        _: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        Err(Rejection::forbidden("never"))
    }

    async fn validate_delete(
        &self,
        _: &ConfigMap,
        _: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        Err(Rejection::forbidden("never"))
    }
}

/// Pseudo-random numbers: George Marsaglia's xorshift.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most.max(1) as u64).unwrap()
    }

    /// Changes the value of a review, its encoding, or both.
    fn changed(&mut self, review: &Value) -> Vec<u8> {
        let how = self.below(4);
        let mut text = review.to_string();
        if how > 0 {
            text = self.exchanged(review);
        }
        let mut bytes = text.into_bytes();
        if how < 2 {
            self.spoil(&mut bytes);
        }
        bytes
    }

    /// The review with one value replaced.
    fn exchanged(&mut self, review: &Value) -> String {
        const PLACE: &str = "put it here";
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let others = [
            "null",
            "true",
            "0",
            "-1",
            "1e400",
            "-0.0",
            "18446744073709551616",
            "[]",
            "{}",
            "[null]",
            r#"{"a":1,"a":2}"#,
            r#""""#,
            r#""\u0000""#,
            r#""\ud800""#,
            r#""UPDATE""#,
            r#""DELETE""#,
            r#""a.example.com/v1""#,
            r#""a.example.com/v2""#,
            &deep,
        ];
        let (mut review, mut all) = (review.clone(), Vec::new());
        pointers(&review, "", &mut all);
        if let Some(value) = review.pointer_mut(&all[self.below(all.len())]) {
            *value = json!(PLACE);
        }
        let place = json!(PLACE).to_string();
        review
            .to_string()
            .replace(&place, others[self.below(others.len())])
    }

    /// Changes, removes or repeats bytes.
    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let (at, length) = (self.below(bytes.len()), self.below(40));
        let end = (at + length).min(bytes.len());
        match self.below(4) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            _ => {
                let part = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
}

/// The path of each value as a JSON pointer; no name here needs an escape.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            pointers(value, &format!("{at}/{name}"), all);
        }
    }
    if let Value::Array(items) = value {
        for (place, value) in items.iter().enumerate() {
            pointers(value, &format!("{at}/{place}"), all);
        }
    }
}

/// Posts each body over one connection; calls `check` with each answer.
async fn post_all(
    server: &Server,
    path: &str,
    bodies: impl Iterator<Item = Vec<u8>>,
    check: impl Fn(&[u8], u16, &Value),
) {
    let mut stream = BufReader::new(server.connect().await.unwrap());
    for body in bodies {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let text = [head.as_bytes(), &body].concat();
        stream.write_all(&text).await.unwrap();
        stream.flush().await.unwrap();
        let (mut line, mut length) = (String::new(), 0);
        let read = stream.read_line(&mut line).await;
        // A panic would end the connection, so it shows, too.
        let shown = String::from_utf8_lossy(&body);
        assert!(read.is_ok() && !line.is_empty(), "no answer to {shown}");
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).await.unwrap();
        check(
            &body,
            status,
            &serde_json::from_slice(&answer).unwrap_or_default(),
        );
    }
}

#[tokio::test]
async fn a_rejecting_webhook_rejects_every_mutated_review() {
    let server = Server::start(|manager: &mut Manager| {
        manager.defaulter::<ConfigMap>(Never);
        manager.validator::<ConfigMap>(Never);
    });
    let mut random = Random(0x5eed);
    let mut create = review("a");
    create["request"]["userInfo"] = json!({ "username": "b", "groups": ["c"] });
    create["request"]["object"]["data"] = json!({ "d": "e" });
    let mut update = create.clone();
    update["request"]["operation"] = json!("UPDATE");
    update["request"]["oldObject"] = update["request"]["object"].clone();
    let mut delete = update.clone();
    delete["request"]["operation"] = json!("DELETE");
    delete["request"]["object"] = Value::Null;
    let reviews = [create, update, delete];
    for path in [super::MUTATE, super::VALIDATE] {
        let bodies = (0..rounds()).map(|round| random.changed(&reviews[round % 3]));
        post_all(&server, path, bodies, |body, status, answer| {
            let shown = String::from_utf8_lossy(body);
            let response = &answer["response"];
            if status != 200 {
                assert_eq!(status, 400, "{shown}");
                return;
            }
            assert!(
                response["uid"].as_str().is_some_and(|uid| !uid.is_empty()),
                "{shown}"
            );
            // A defaulter is not called for a deletion, and a validator not for an object that it cannot read.
            let deleted = || {
                // Not all JSON of this form can be parsed into a value.
                let review: BTreeMap<String, &RawValue> = serde_json::from_slice(body).unwrap();
                let request: BTreeMap<String, &RawValue> =
                    serde_json::from_str(review["request"].get()).unwrap();
                let unreadable =
                    |old: &RawValue| serde_json::from_str::<ConfigMap>(old.get()).is_err();
                request["operation"].get() == "\"DELETE\""
                    && (path == super::MUTATE || unreadable(request["oldObject"]))
            };
            assert!(
                response["allowed"] == false || deleted(),
                "{shown}: {answer}"
            );
        })
        .await;
    }
}

#[tokio::test]
async fn a_mutated_conversion_review_converts_all_objects_or_none() {
    let server = Server::start(register);
    let mut random = Random(0x5eed);
    let things = json!([
        thing(1, "v1", &json!({ "old": "x", "more": [{ "a": 1 }] })),
        thing(2, "v2", &json!({ "new": "x" })),
    ]);
    let review = serde_json::from_slice(&conversion("a.example.com/v2", &things)).unwrap();
    let bodies = (0..rounds()).map(|_| random.changed(&review));
    post_all(&server, "/convert", bodies, |body, status, answer| {
        let shown = String::from_utf8_lossy(body);
        if status != 200 {
            assert_eq!(status, 400, "{shown}");
            return;
        }
        // Not all JSON of this form can be parsed into a value. What no one reads is passed on.
        let Ok(question) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let response = &answer["response"];
        assert_eq!(response["uid"], question["request"]["uid"], "{shown}");
        let Some(converted) = response["convertedObjects"].as_array() else {
            assert_eq!(response["result"]["status"], "Failure", "{shown}");
            return;
        };
        let objects = question["request"]["objects"].as_array();
        let objects = objects.map(Vec::as_slice).unwrap_or_default();
        assert_eq!(converted.len(), objects.len(), "{shown}");
        for (converted, object) in converted.iter().zip(objects) {
            let wanted = &question["request"]["desiredAPIVersion"];
            assert_eq!(converted["apiVersion"], *wanted, "{shown}");
            assert_eq!(converted["metadata"], object["metadata"], "{shown}");
        }
    })
    .await;
}

/// Changes a little of everything.
struct Everywhere;

impl Defaulter<ConfigMap> for Everywhere {
    async fn default(&self, map: &mut ConfigMap, _: &Request<ConfigMap>) -> Result<(), Rejection> {
        map.immutable.get_or_insert(false);
        let labels = map.metadata.labels.get_or_insert_default();
        labels.insert("a/~b".to_owned(), "c".to_owned());
        if let Some(data) = &mut map.data {
            data.remove("gone");
        }
        if let Some(owners) = &mut map.metadata.owner_references {
            owners.reverse();
        }
        Ok(())
    }
}

#[tokio::test]
async fn patches_apply_to_every_mutated_object() {
    let (mut random, mut allowed) = (Random(0x5eed), 0);
    let owner = |name: &str| json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "new": { "a": 1 } });
    let mut object = review("a")["request"]["object"].clone();
    object["data"] = json!({ "gone": "x", "stays": "y" });
    object["new"] = json!({ "unknown": [1, { "a": null }] });
    object["metadata"]["ownerReferences"] = json!([owner("a"), owner("b")]);
    for _ in 0..rounds() {
        // Not all JSON of this form can be parsed into a value.
        let Ok(object) = serde_json::from_str::<Value>(&random.exchanged(&object)) else {
            continue;
        };
        let mut review = review("a");
        review["request"]["object"] = object.clone();
        let register = |manager: &mut Manager| manager.defaulter::<ConfigMap>(Everywhere);
        // This panics if the patch does not apply.
        let admitted = FakeApi::new().admit(register, &review).await;
        if admitted.allowed {
            allowed += 1;
            let new = &admitted.object;
            assert_eq!(new["new"], object["new"], "{object}");
            assert_eq!(new["metadata"]["labels"]["a/~b"], "c", "{object}");
            let gone = new["data"].get("gone");
            assert!(gone.is_none(), "{object}: {new}");
        }
    }
    assert!(allowed > rounds() / 10, "only {allowed} were no nonsense");
}
