//! Test how much memory an operator takes for the largest reviews.

use anyhow::ensure;
use serde_json::{Value, json};

use super::{
    caller::Caller,
    hostile::{conversion, review},
    site::{Site, guest},
};
use crate::world::World;

const MUTATE: &str = "/mutate-hotel-example-com-v2-guest";
const VALIDATE: &str = "/validate-hotel-example-com-v2-guest";

/// The bytes of the largest object that etcd stores, minus room for other fields; and of the largest that the API server
/// sends to a webhook.
pub const STORED: usize = 1_450_000;
const SENT: usize = 3_000_000;

/// The memory in kB that a Pod of 128 MiB has for reviews: the rest is for the operator itself.
pub const MOST: u64 = 100 * 1024;

/// Lists of about this many bytes, each of another kind of item.
fn lists(bytes: usize) -> Vec<(&'static str, String)> {
    let items = [
        ("small numbers", "0"),
        ("short texts", r#""a""#),
        ("empty objects", "{}"),
        ("small objects", r#"{"":0}"#),
        ("lists", "[[]]"),
        (
            "ordinary objects",
            r#"{"name":"some-name","value":"a value","enabled":true,"ports":[80,443]}"#,
        ),
        ("long texts", &"x".repeat(1000)),
    ]
    .map(|(what, item)| {
        let item = match what {
            "long texts" => format!("\"{item}\""),
            _ => item.to_owned(),
        };
        let count = bytes / (item.len() + 1);
        (what, format!("[{}]", vec![item; count].join(",")))
    });
    items.to_vec()
}

/// A guest with this list in a field that no type knows, or in one that `v3` knows.
fn with(list: &str, known: bool) -> String {
    let mut object = guest("a", &json!({ "first": "a", "unknown": null }));
    if known {
        object = guest("a", &json!({ "names": null }));
        object["apiVersion"] = json!("hotel.example.com/v3");
    }
    object.to_string().replace("null", list)
}

/// The reviews, each with its path.
fn reviews() -> Vec<(String, &'static str, String)> {
    let mut all = Vec::new();
    let convert = |wanted: &str, objects: &str| {
        let review = conversion(&format!("hotel.example.com/{wanted}"), &Value::Null);
        review
            .to_string()
            .replace("\"objects\":null", &format!("\"objects\":[{objects}]"))
    };
    for (what, list) in lists(STORED) {
        let object = with(&list, false);
        all.push((
            format!("to convert, {what}"),
            "/convert",
            convert("v1", &object),
        ));
        let many = vec![object; 5].join(",");
        all.push((
            format!("to convert, 5 times {what}"),
            "/convert",
            convert("v3", &many),
        ));
    }
    let names = &lists(STORED)[1].1;
    let known = with(names, true);
    all.push((
        "to convert, known texts".to_owned(),
        "/convert",
        convert("v2", &known),
    ));
    let small = guest(
        "a",
        &json!({ "first": "Ada", "last": "Lovelace", "nights": 2 }),
    )
    .to_string();
    let many = vec![small.clone(); (7 << 20) / small.len()].join(",");
    all.push((
        "to convert, 7 MiB of guests".to_owned(),
        "/convert",
        convert("v1", &many),
    ));
    for (what, list) in lists(SENT) {
        let object = with(&list, false);
        let mut review = review(&Value::Null);
        review["request"]["operation"] = json!("UPDATE");
        review["request"]["oldObject"] = json!("the old one");
        let body = review
            .to_string()
            .replace("\"object\":null", &format!("\"object\":{object}"));
        let body = body.replace("\"the old one\"", &object);
        for path in [MUTATE, VALIDATE, "/review"] {
            all.push((format!("{what} to {path}"), path, body.clone()));
        }
    }
    all
}

/// Asks again while the answer is 504, that it took longer than 30 s: on a busy machine it may, and this is about memory.
async fn patient(caller: &Caller, path: &str, body: &str) -> anyhow::Result<(u16, Value)> {
    let mut answered = caller.post(path, body.as_bytes()).await?;
    for _ in 0..10 {
        if answered.0 != 504 {
            break;
        }
        answered = caller.post(path, body.as_bytes()).await?;
    }
    Ok(answered)
}

pub async fn the_largest_reviews_are_answered_within_the_memory_of_a_pod(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    let mut most = (0, String::new());
    for (what, path, body) in reviews() {
        site.replicas.clear();
        site.start(1).await?;
        let replica = &site.replicas[0];
        let (caller, before) = (Caller::new(&site, replica).await?, replica.peak()?);
        let (status, answer) = patient(&caller, path, &body).await?;
        let response = &answer["response"];
        let growth = replica.peak()?.saturating_sub(before);
        println!(
            "{what}: {status}, {} kB, {}",
            growth, response["result"]["message"]
        );
        ensure!(status == 200 && response["uid"] == "u", "{what}: {status}");
        if path == "/convert" {
            ensure!(
                response["result"]["status"] == "Success",
                "{what}: {}",
                response["result"]
            );
        }
        most = most.max((growth, what));
    }
    let (growth, what) = most;
    ensure!(growth <= MOST, "{what}: grown by {growth} kB");
    Ok(format!("grown by {growth} kB at most, by {what}"))
}
