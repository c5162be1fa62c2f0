//! Test malicious requests to the operator as a process: directly over TLS, and through the API server.

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use hyper::Method;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::{
    caller::{Caller, JSON},
    guests::{HUGE, configuration, crd},
    site::{CRD, GUESTS, Site, VALIDATING, guest},
    tests::refused,
};
use crate::{replica::LONG, world::World};

const MUTATE: &str = "/mutate-hotel-example-com-v2-guest";
const VALIDATE: &str = "/validate-hotel-example-com-v2-guest";
const CONVERT: &str = "/convert";

/// The largest object that the API server accepts, in bytes.
const LARGE: usize = 3 << 20;

/// The largest object that etcd accepts, in bytes, minus room for other fields.
const STORED: usize = 1_400_000;

/// The depth of an unknown field: below the limit of this test's own parser, which is 128 levels.
const DEEP: usize = 100;

/// The maximum growth of an operator in kB while many clients send it large objects: its room for bodies, and several
/// times that for processing them. The objects that are sent are larger than all of it.
const GROWTH: u64 = 110 * 1024;

/// A review of a guest that the validator would admit, so that a rejection always has another cause.
pub fn review(object: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "name": "a", "namespace": "default", "operation": "CREATE",
            "kind": { "group": "hotel.example.com", "version": "v2", "kind": "Guest" },
            "object": object,
        },
    })
}

pub fn conversion(wanted: &str, objects: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "u", "desiredAPIVersion": wanted, "objects": objects },
    })
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

/// Bodies that are not a review of a guest, to send to defaulter and validator.
fn nonsense() -> Vec<(&'static str, Vec<u8>)> {
    let good = review(&guest("a", &json!({ "first": "a" })));
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut review = good.clone();
        change(&mut review["request"]);
        review.to_string().into_bytes()
    };
    let user = |value: String| {
        let with = format!("\"userInfo\":{value},\"uid\":");
        good.to_string().replace("\"uid\":", &with).into_bytes()
    };
    vec![
        ("nothing", Vec::new()),
        ("not JSON", b"<hello/>".to_vec()),
        ("not text", vec![0xff; 1 << 20]),
        ("no request", b"{}".to_vec()),
        ("no uid", changed(&|it| it["uid"] = json!(""))),
        (
            "another kind",
            changed(&|it| it["kind"]["kind"] = json!("Ghost")),
        ),
        (
            "another version",
            changed(&|it| it["kind"]["version"] = json!("v1")),
        ),
        (
            "an unknown operation",
            changed(&|it| it["operation"] = json!("STEAL")),
        ),
        ("no object", changed(&|it| it["object"] = Value::Null)),
        (
            "a text for an object",
            changed(&|it| it["object"] = json!("a")),
        ),
        ("nesting beside the object", user(nested(100_000))),
        ("nesting without an end", user("[".repeat(1 << 20))),
        (
            "more than 7 MiB",
            changed(&|it| it["new"] = json!("x".repeat(8 << 20))),
        ),
    ]
}

pub async fn a_request_that_is_not_a_review_is_rejected_and_the_server_keeps_running(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(1).await?;
    site.admitting().await?;
    let (caller, mut sent) = (Caller::new(&site, &site.replicas[0]).await?, 0);
    for path in [MUTATE, VALIDATE] {
        for (what, body) in nonsense() {
            let (status, answer) = caller.post(path, &body).await.context(what)?;
            let response = &answer["response"];
            let refused = status == 200 && response["allowed"] == false && response["uid"] == "u";
            ensure!(
                refused || (400..500).contains(&status),
                "{what} at {path}: {status} {answer}"
            );
            sent += 1;
        }
        for object in [large(LARGE), deep(10_000)] {
            let body = review(&Value::Null).to_string();
            let body = body.replace("\"object\":null", &format!("\"object\":{object}"));
            let (status, answer) = caller.post(path, body.as_bytes()).await?;
            let response = &answer["response"];
            ensure!(
                status == 200 && response["uid"] == "u",
                "{path}: {status} {answer}"
            );
            sent += 1;
        }
    }
    let good = guest("a", &json!({ "first": "a" }));
    let unspeakable = guest("b", &json!({ "first": "unspeakable" }));
    for (what, body) in [
        (
            "an unknown version",
            conversion("hotel.example.com/v9", &json!([good])),
        ),
        (
            "another group",
            conversion("motel.example.com/v1", &json!([good])),
        ),
        ("no version", conversion("", &json!([good]))),
        (
            "one that fails",
            conversion("hotel.example.com/v1", &json!([good, unspeakable])),
        ),
        (
            "no object",
            conversion("hotel.example.com/v1", &json!([good, [], 1])),
        ),
    ] {
        let (status, answer) = caller.post(CONVERT, body.to_string().as_bytes()).await?;
        let response = &answer["response"];
        ensure!(
            status == 200 && response["uid"] == "u",
            "{what}: {status} {answer}"
        );
        ensure!(
            response["result"]["status"] == "Failure",
            "{what}: {answer}"
        );
        sent += 1;
    }
    let body = conversion("hotel.example.com/v1", &json!([null])).to_string();
    let body = body.replace("null", &deep(10_000));
    // What no type reads may be of any depth. We cannot parse it either.
    let (status, _) = caller.post(CONVERT, body.as_bytes()).await?;
    ensure!(status == 200, "a deep object to convert: {status}");
    let body = conversion("hotel.example.com/v1", &json!([null])).to_string();
    let (_, answer) = caller
        .post(CONVERT, body.replace("null", &large(LARGE)).as_bytes())
        .await?;
    let name = &answer["response"]["convertedObjects"][0]["spec"]["name"];
    ensure!(
        name.as_str().is_some_and(|name| name.len() > LARGE),
        "a large object to convert"
    );

    let body = review(&good).to_string();
    let (_, answer) = caller.post(VALIDATE, body.as_bytes()).await?;
    ensure!(
        answer["response"]["allowed"] == true,
        "afterwards: {answer}"
    );
    quiet(&site)?;
    Ok(format!("{} requests, each answered; no panic", sent + 3))
}

/// A guest of this many bytes.
fn large(bytes: usize) -> String {
    guest("a", &json!({ "first": "a", "last": "x".repeat(bytes) })).to_string()
}

/// A guest with a deeply nested value in an unknown field.
fn deep(depth: usize) -> String {
    let object = guest("a", &json!({ "first": "a", "unknown": null })).to_string();
    object.replace("null", &nested(depth))
}

/// Checks that nothing has panicked in any replica, except on purpose.
fn quiet(site: &Site) -> anyhow::Result<()> {
    for replica in &site.replicas {
        let log = replica.log();
        ensure!(!log.contains("panicked at"), "{log}");
    }
    Ok(())
}

pub async fn unusual_objects_from_an_api_server_are_answered(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(1).await?;
    site.admitting().await?;
    large_and_deep(&site).await?;
    another_kind(&site).await?;
    an_unknown_version(&site).await?;
    site.admitting().await?;
    quiet(&site)?;
    Ok(format!(
        "objects of {LARGE} and {STORED} bytes, {DEEP} and 5000 deep; a patch of {HUGE} bytes"
    ))
}

/// Sends a request to the API server without checks on our side.
async fn raw(site: &Site, method: Method, path: &str, body: String) -> kube::Result<Value> {
    let request = hyper::Request::builder().method(method).uri(path);
    let request = request.header("content-type", JSON).body(body.into_bytes());
    let request = request.map_err(kube::Error::HttpError)?;
    site.client.request(request).await
}

async fn large_and_deep(site: &Site) -> anyhow::Result<()> {
    let dry = format!("{GUESTS}?dryRun=All");
    // Large: the largest object that the API server accepts; and the largest that etcd stores, read in another version.
    let made = raw(site, Method::POST, &dry, large(LARGE - 2000)).await?;
    ensure!(made["spec"]["nights"] == 1, "a large guest has no default");
    raw(site, Method::POST, GUESTS, large(STORED)).await?;
    let path = GUESTS.replace("/v2/", "/v1/") + "/a";
    let read = site.get(&path).await?;
    let name = read["spec"]["name"].as_str().unwrap_or_default();
    ensure!(
        name.len() > STORED,
        "a large guest was cut in the other version"
    );
    raw(site, Method::DELETE, &format!("{GUESTS}/a"), String::new()).await?;

    // A large patch.
    let huge = guest("huge", &json!({ "first": "huge" })).to_string();
    let made = raw(site, Method::POST, &dry, huge).await?;
    let last = made["spec"]["last"].as_str().unwrap_or_default();
    ensure!(last.len() == HUGE, "a large patch was not made");

    // Deep: what no type reads may be of any depth, but our own client reads only so deep.
    raw(site, Method::POST, GUESTS, deep(DEEP)).await?;
    let read = site.get(&path).await?;
    let unknown = read["spec"]["unknown"].to_string();
    ensure!(
        unknown == nested(DEEP),
        "what is deep was lost in the other version"
    );
    raw(site, Method::DELETE, &format!("{GUESTS}/a"), String::new()).await?;
    let request = hyper::Request::post(&dry).header("content-type", JSON);
    let request = request.body(deep(5000).into_bytes())?;
    let made = site.client.request_text(request).await?;
    ensure!(made.contains(&nested(5000)), "what is deeper was lost");
    Ok(())
}

/// A wrong configuration makes the API server send another version.
async fn another_kind(site: &Site) -> anyhow::Result<()> {
    let mut wrong = configuration(false, site.spread.port);
    wrong["metadata"]["name"] = json!("guests-wrong");
    wrong["webhooks"][0]["rules"] = json!([{
        "apiGroups": ["hotel.example.com"], "apiVersions": ["v3"],
        "resources": ["guests"], "operations": ["CREATE"],
    }]);
    wrong["webhooks"][0]["matchPolicy"] = json!("Exact");
    let authority = site.get(VALIDATING).await?;
    let authority = &authority["webhooks"][0]["clientConfig"]["caBundle"];
    wrong["webhooks"][0]["clientConfig"]["caBundle"] = authority.clone();
    let at = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/guests-wrong";
    site.apply(at, &wrong).await?;
    let mut third = guest("c", &json!({ "names": ["a", "b"] }));
    third["apiVersion"] = json!("hotel.example.com/v3");
    let path = GUESTS.replace("/v2/", "/v3/") + "?dryRun=All";
    let expected = "this webhook is for `Guest` of `hotel.example.com/v2`, not for";
    let status = eventually(LONG, "the wrong webhook refuses", async || {
        let call = raw(site, Method::POST, &path, third.to_string());
        let Ok(status) = refused(call).await else {
            return Ok(None);
        };
        Ok(Some(status))
    })
    .await;
    raw(site, Method::DELETE, at, String::new()).await?;
    let status = status?;
    let message = status["message"].as_str().unwrap_or_default();
    ensure!(message.contains(expected), "{status}");
    Ok(())
}

/// A version that the CRD has and the operator does not.
async fn an_unknown_version(site: &Site) -> anyhow::Result<()> {
    raw(
        site,
        Method::POST,
        GUESTS,
        guest("d", &json!({ "first": "d" })).to_string(),
    )
    .await?;
    let mut newer = crd("v2", site.spread.port)?;
    let versions = newer["spec"]["versions"]
        .as_array_mut()
        .context("no versions")?;
    let mut version = versions[0].clone();
    version["name"] = json!("v9");
    version["storage"] = json!(false);
    versions.push(version);
    site.apply(CRD, &newer).await?;
    let path = GUESTS.replace("/v2/", "/v9/") + "/d";
    let status = eventually(LONG, "the new version is served", async || {
        let status = refused(raw(site, Method::GET, &path, String::new())).await?;
        Ok((status["code"] != 404).then_some(status))
    })
    .await?;
    let expected = "cannot convert `Guest` from `hotel.example.com/v2` to `hotel.example.com/v9`";
    let message = status["message"].as_str().unwrap_or_default();
    ensure!(message.contains(expected), "{status}");
    site.apply(CRD, &crd("v2", site.spread.port)?).await?;
    raw(site, Method::DELETE, &format!("{GUESTS}/d"), String::new()).await?;
    Ok(())
}

pub async fn many_large_bodies_at_once_use_bounded_memory(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(1).await?;
    site.admitting().await?;
    let replica = &site.replicas[0];
    let (caller, before) = (Caller::new(&site, replica).await?, replica.peak()?);
    let body = review(&Value::Null).to_string();
    let body = body.replace("\"object\":null", &format!("\"object\":{}", large(LARGE)));
    let count = world.either(100, 200);
    let calls = (0..count).map(|_| caller.post(MUTATE, body.as_bytes()));
    // Meanwhile, objects are created as usual.
    let others = async {
        for _ in 0..20 {
            let object = guest("other", &json!({ "first": "a" }));
            site.create(&format!("{GUESTS}?dryRun=All"), &object)
                .await?;
        }
        anyhow::Ok(())
    };
    let (answers, others) = tokio::join!(try_join_all(calls), others);
    others.context("meanwhile, an object was refused")?;
    let answers = answers?;
    let admitted = answers.iter().filter(|(status, _)| *status == 200).count();
    let told = answers
        .iter()
        .filter(|(status, _)| matches!(status, 503 | 504));
    ensure!(
        admitted > 0 && admitted + told.count() == count,
        "{admitted} of {count}"
    );
    let growth = replica.peak()?.saturating_sub(before);
    ensure!(growth <= GROWTH, "an operator has grown by {growth} kB");
    let sent = count * body.len() / 1024;
    Ok(format!(
        "{count} at once, {sent} kB: {admitted} answered, the others told; grown by {growth} kB at most"
    ))
}
