//! Test how much memory an operator takes for lists of structs that are much larger than their text.

use std::collections::BTreeMap;

use anyhow::ensure;
use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    caller::Caller,
    hostile::{conversion, review},
    memory::{MOST, STORED},
    site::{Guests, Site, guest},
};
use crate::world::World;

const MUTATE: &str = "/mutate-hotel-example-com-v2-guest";
const VALIDATE: &str = "/validate-hotel-example-com-v2-guest";

/// How many clients send reviews at the same time.
const CLIENTS: usize = 32;

/// The most memory in kB that their reviews take together: more than a Pod of 128 MiB has.
const TOGETHER: u64 = 192 * 1024;

/// A struct of several hundred bytes, whose text may be `{}`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Room {
    pub name: String,
    pub floor: Option<i32>,
    beds: Vec<String>,
    view: Option<String>,
    notes: BTreeMap<String, String>,
    ports: Vec<u16>,
    enabled: bool,
    value: Option<String>,
    key_holder: Option<String>,
    key_safe: Option<String>,
    wing: Option<String>,
    building: Option<String>,
    cleaned_by: Option<String>,
    cleaned_at: Option<String>,
    corners: Vec<Corner>,
    suite: Option<Box<Corner>>,
}

/// A part of a room.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(default)]
struct Corner {
    name: String,
    height: Option<f64>,
    color: Option<String>,
    table: Option<String>,
    chair: Option<String>,
    lamp: Option<String>,
}

/// What is in a list of rooms, and whether so large a list must be answered.
const ROOMS: [(&str, &str, bool); 5] = [
    ("empty rooms", "{}", false),
    (
        "rooms with corners",
        r#"{"floor":1,"corners":[{}],"suite":{}}"#,
        false,
    ),
    ("rooms with notes", r#"{"notes":{"<":""}}"#, false),
    (
        "ordinary rooms",
        r#"{"name":"some-name","value":"a value","enabled":true,"ports":[80,443],"view":"of the sea","wing":"north",
            "building":"the old one","notes":{"towels":"changed on Mondays, Wednesdays and Fridays","minibar":"is empty"},
            "beds":["a double bed, two metres wide","a single bed"],"keyHolder":"Ada Lovelace","cleanedBy":"Grace"}"#,
        true,
    ),
    (
        "long texts",
        r#"{"name":"a room whose guests always come back","view":"of the sea, of the mountains, and of the old town with its
            many bridges, of which the oldest was built more than a thousand years ago, in the time before the flood"}"#,
        true,
    ),
];

/// A guest of this version with rooms of about so many bytes.
fn guest_with(version: &str, room: &str, bytes: usize) -> String {
    let mut object = guest("a", &json!({ "rooms": null }));
    object["apiVersion"] = json!(format!("hotel.example.com/{version}"));
    let room: String = room.lines().map(str::trim).collect();
    let count = bytes / (room.len() + 1);
    let named = |at: usize| room.replace("some-name", &format!("room-{at:04}"));
    let rooms: Vec<_> = (0..count).map(named).collect();
    object
        .to_string()
        .replace("null", &format!("[{}]", rooms.join(",")))
}

/// A review of an update of `old` to `new`.
fn update(new: &str, old: &str) -> String {
    let mut review = review(&json!("NEW"));
    review["request"]["operation"] = json!("UPDATE");
    review["request"]["oldObject"] = json!("OLD");
    let text = review.to_string().replace("\"NEW\"", new);
    text.replace("\"OLD\"", old)
}

fn convert(wanted: &str, object: &str) -> String {
    let review = conversion(&format!("hotel.example.com/{wanted}"), &Value::Null);
    let objects = format!("\"objects\":[{object}]");
    review.to_string().replace("\"objects\":null", &objects)
}

/// Reviews of such guests, each with its path.
fn reviews(room: &str, bytes: usize) -> Vec<(&'static str, String)> {
    let object = guest_with("v2", room, bytes);
    let body = update(&object, &object);
    let mut all: Vec<_> = [MUTATE, VALIDATE, "/review"]
        .map(|path| (path, body.clone()))
        .into();
    for (from, wanted) in [("v2", "v1"), ("v1", "v2"), ("v1", "v3")] {
        all.push(("/convert", convert(wanted, &guest_with(from, room, bytes))));
    }
    all
}

/// Whether the objects were admitted or converted. Fails unless the answer says that they are too large.
fn accepted(path: &str, (status, answer): &(u16, Value)) -> anyhow::Result<bool> {
    let response = &answer["response"];
    ensure!(
        *status == 200 && response["uid"] == "u",
        "{status}: {answer}"
    );
    if path == "/convert" && response["result"]["status"] == "Success" {
        return Ok(true);
    }
    if response["allowed"] == true {
        return Ok(true);
    }
    let result = &response["status"];
    let result = if path == "/convert" {
        &response["result"]
    } else {
        result
    };
    let message = result["message"].as_str().unwrap_or_default();
    ensure!(message.contains("MiB of memory"), "{answer}");
    ensure!(path == "/convert" || result["code"] == 413, "{answer}");
    Ok(false)
}

pub async fn the_largest_lists_of_structs_are_answered_or_rejected_within_the_memory_of_a_pod(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    let mut most = (0, String::new());
    for (what, room, answered) in ROOMS {
        for (path, body) in reviews(room, STORED) {
            site.replicas.clear();
            site.start(1).await?;
            let replica = &site.replicas[0];
            let (caller, before) = (Caller::new(&site, replica).await?, replica.peak()?);
            let answer = caller.post(path, body.as_bytes()).await;
            let growth = replica.peak()?.saturating_sub(before);
            let name = format!("{what} to {path}");
            let accepted = accepted(path, &answer?)?;
            println!("{name}: accepted {accepted}, {growth} kB");
            ensure!(accepted || !answered, "{name}: rejected");
            most = most.max((growth, name));
        }
    }
    let (growth, what) = most;
    ensure!(growth <= MOST, "{what}: grown by {growth} kB");
    let mut together = 0;
    // The allocator keeps freed memory for each thread, so this peak varies by a fifth with their timing.
    let kinds = world.either(0, ROOMS.len());
    for (what, room, _) in ROOMS.into_iter().take(kinds) {
        // How many are answered in time depends on the machine.
        for bytes in [STORED, STORED / 3] {
            site.replicas.clear();
            site.start(1).await?;
            let replica = &site.replicas[0];
            let (growth, busy) = at_once(&site, replica, &reviews(room, bytes)).await?;
            let name = format!("{CLIENTS} times {what} of {bytes} bytes");
            println!("{name}: {busy} not answered, {growth} kB");
            ensure!(growth <= TOGETHER, "{name}: grown by {growth} kB");
            together = together.max(growth);
        }
    }
    Ok(format!(
        "grown by {growth} kB at most, by {what}; by {together} kB for many at once"
    ))
}

/// Sends the reviews, by as many clients at once. Returns by how many kB the replica has grown, and how many were not
/// answered because there was no room.
async fn at_once(
    site: &Site,
    replica: &Guests,
    reviews: &[(&str, String)],
) -> anyhow::Result<(u64, usize)> {
    let (caller, before) = (Caller::new(site, replica).await?, replica.peak()?);
    let calls = reviews.iter().cycle().take(CLIENTS);
    let answers = try_join_all(calls.map(|(path, body)| caller.post(path, body.as_bytes())));
    let mut busy = 0;
    for (status, answer) in answers.await? {
        ensure!(matches!(status, 200 | 503 | 504), "{status}: {answer}");
        busy += usize::from(status != 200);
    }
    Ok((replica.peak()?.saturating_sub(before), busy))
}
