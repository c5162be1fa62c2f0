//! Test rotators, check by check, on the fake API server. Durations are written out, so that a change of a constant is
//! noticed.

mod ended;
mod place;
mod rotations;

use k8s_openapi::{ByteString, api::core::v1::Secret as Kind};
use kbr_testing::FakeApi;
use serde_json::{Value, json};
use tokio::time::advance;

use super::*;
use crate::request;
use place::{
    CRD, DAY, HOUR, MINUTE, MUTATING, Place, SECOND, SECRET, VALIDATING, bytes, configuration, crd,
    names, text,
};

#[tokio::test]
async fn all_replicas_trust_and_serve_the_first_certificate() {
    let place = Place::new().await;
    let (mut one, mut other) = (place.rotator(), place.rotator());
    assert_eq!(one.look(place.now).await.unwrap(), MINUTE);
    let pair = place.pair().await;
    assert!(pair.serves(&names(), place.now));
    assert!(one.served.as_ref() == Some(&pair));
    assert_eq!(place.trusted().await, pair.ca);

    other.look(place.now).await.unwrap();
    assert!(place.pair().await == pair && other.served == Some(pair));
    let secret = place.get(SECRET).await;
    assert_eq!(secret["type"], "kubernetes.io/tls");
    let has = &secret["metadata"]["annotations"]["guests.example.com/certificate-names"];
    assert_eq!(has, "guests-webhook.guests-system.svc,localhost");
    let data = secret["data"].as_object().unwrap();
    assert_eq!(
        data.keys().collect::<Vec<_>>(),
        ["ca.crt", "tls.crt", "tls.key"]
    );

    // From then on, nothing is written.
    let writes = place.writes();
    for rotator in [&mut one, &mut other] {
        rotator.look(place.now + DAY / 48).await.unwrap();
    }
    assert_eq!(place.writes(), writes);
}

#[tokio::test]
async fn concurrent_writes_of_the_secret_conflict() {
    let place = Place::new().await;
    let secret = place.rotator().secret;
    let made = [0, 1].map(|_| Pair::new(&names(), place.now).unwrap());
    let first = secret.read_or_make(&place.client).await.unwrap();
    let second = secret.read_or_make(&place.client).await.unwrap();
    let replace = async |found, pair| {
        let names = names();
        secret.replace(&place.client, found, pair, &names).await
    };
    replace(&first, &made[0]).await.unwrap();
    assert!(place.pair().await == made[0]);
    let late = replace(&second, &made[1]).await;
    assert!(is(&late.err().unwrap(), 409));
    // A replica that saw no Secret at all does not overwrite it, either.
    let mut found = secret.read_or_make(&place.client).await.unwrap();
    assert!(found.pair.take().as_ref() == Some(&made[0]));
    secret.make(&place.client).await.unwrap();
    assert!(place.pair().await == made[0]);
}

#[tokio::test]
async fn the_certificate_covers_the_service_before_any_webhook_exists() {
    let api = FakeApi::new();
    let place = Place {
        client: api.client(),
        api,
        now: SystemTime::UNIX_EPOCH + 20_000 * DAY,
    };
    place.rotator().look(place.now).await.unwrap();
    assert!(place.pair().await.serves(&names(), place.now));
}

/// Every known way to corrupt the Secret.
#[tokio::test]
async fn a_corrupted_secret_is_repaired() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    rotator.look(place.now).await.unwrap();
    let of = |names: &[String], at| Pair::new(names, at).unwrap();
    let other = of(&names(), place.now);
    let wrong = of(&["elsewhere".to_owned()], place.now);
    let with = |field: &str, value: Value| json!({ "data": { field: value } });
    let mut cases = vec![json!({ "data": null })];
    for field in ["ca.crt", "tls.crt", "tls.key"] {
        for value in [
            Value::Null,
            bytes(""),
            bytes("nonsense"),
            bytes("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            bytes(&place.pair().await.certificate[..200]),
            json!(ByteString(vec![0xff, 0xfe])),
        ] {
            cases.push(with(field, value));
        }
    }
    cases.push(with("ca.crt", bytes(&other.ca)));
    cases.push(with("tls.crt", bytes(&other.certificate)));
    cases.push(with("tls.key", bytes(&other.key)));
    for pair in [
        &wrong,
        &of(&names(), place.now - 61 * DAY),
        &of(&names(), place.now + DAY),
    ] {
        cases.push(json!({ "data": {
            "ca.crt": bytes(&pair.ca),
            "tls.crt": bytes(&pair.certificate),
            "tls.key": bytes(&pair.key),
        } }));
    }
    for case in cases {
        place.merge(SECRET, &case).await;
        let spoilt = place.get(SECRET).await;
        rotator
            .look(place.now)
            .await
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_ne!(place.get(SECRET).await["data"], spoilt["data"], "{case}");
        let pair = place.pair().await;
        assert!(pair.serves(&names(), place.now + 89 * DAY), "{case}");
        assert!(place.trusted().await.starts_with(&pair.ca), "{case}");
        // The served certificate stays until the other CA is known.
        assert!(
            rotator.served.as_ref().unwrap().serves(&names(), place.now),
            "{case}"
        );
    }
    // Two dozen CAs were created meanwhile, and would fill the object. The last ones are kept, and the served one.
    let trusted = place.trusted().await;
    assert_eq!(trusted.matches("BEGIN").count(), 10);
    assert!(trusted.contains(&rotator.served.as_ref().unwrap().ca));

    // A deleted Secret, or one that another program has created in another form, is treated in the same way.
    for object in [
        None,
        Some(json!({ "type": "Opaque", "data": { "x": bytes("y") } })),
    ] {
        place
            .api
            .delete::<Kind>("guests-system", "guests-webhook-certificate");
        if let Some(object) = object {
            place.deploy(SECRET, &object).await;
        }
        rotator.look(place.now).await.unwrap();
        assert!(place.pair().await.serves(&names(), place.now));
    }
}

#[tokio::test]
async fn a_configuration_that_changed_since_it_was_read_is_not_patched() {
    let place = Place::new().await;
    let read = Target::read(&place.client, VALIDATING).await.unwrap();
    // Another webhook is now in the place of the second.
    place.deploy(VALIDATING, &configuration(&["b", "d"])).await;
    let pair = Pair::new(&names(), place.now).unwrap();
    let cas = [&*pair.ca];
    let patched = read.unwrap().trust(&place.client, "own", &cas, true);
    let refused = patched.await.unwrap_err();
    assert!(is(&refused, 422) || is(&refused, 409), "{refused}");
    assert!(!place.get(VALIDATING).await.to_string().contains("caBundle"));
}

#[tokio::test(start_paused = true)]
async fn redeploying_without_a_webhook_or_conversion_causes_no_conflict() {
    let place = Place::new().await;
    let mut rotator = place.rotator();
    // cert-manager has written its CA there before.
    let value = bytes(&Pair::new(&names(), place.now).unwrap().ca);
    let step = |path: &str| json!({ "op": "add", "path": path, "value": value });
    for (path, steps) in [
        (MUTATING, json!([step("/webhooks/0/clientConfig/caBundle")])),
        (
            VALIDATING,
            json!([
                step("/webhooks/0/clientConfig/caBundle"),
                step("/webhooks/1/clientConfig/caBundle")
            ]),
        ),
        (
            CRD,
            json!([step("/spec/conversion/webhook/clientConfig/caBundle")]),
        ),
    ] {
        let injected = request::json_patch(&place.client, path, &steps, "cert-manager-cainjector");
        injected.await.unwrap();
    }
    rotator.look(place.now).await.unwrap();
    for path in [MUTATING, VALIDATING, CRD] {
        let object = place.get(path).await;
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let managers: Vec<_> = entries.iter().map(|entry| &entry["manager"]).collect();
        assert_eq!(managers, ["make"], "{path}");
    }
    place.deploy(MUTATING, &json!({ "webhooks": [] })).await;
    place.deploy(VALIDATING, &configuration(&["c", "d"])).await;
    place.deploy(CRD, &crd("None")).await;
    let pair = place.pair().await;
    assert_eq!(
        place.get(MUTATING).await["webhooks"]
            .as_array()
            .map_or(0, Vec::len),
        0
    );
    let validating = place.get(VALIDATING).await;
    assert_eq!(validating["webhooks"].as_array().unwrap().len(), 2);
    let kept = text(&validating["webhooks"][0]["clientConfig"]["caBundle"]);
    assert!(kept.starts_with(&pair.ca), "{validating}");
    assert_eq!(
        place.get(CRD).await["spec"]["conversion"],
        json!({ "strategy": "None" })
    );

    place.deploy(MUTATING, &configuration(&["a"])).await;
    place.deploy(CRD, &crd("Webhook")).await;
    advance(2 * HOUR).await;
    rotator.look(place.now).await.unwrap();
    assert_eq!(place.trusted().await, pair.ca);
}

/// Uses real time. Only the changes themselves trigger the next check soon enough.
#[tokio::test]
async fn changed_configurations_crds_and_secrets_are_repaired() {
    let place = Place::new().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(place.rotator().run(stop.clone()));
    place.heals("nothing at all").await;
    let none = json!({ "webhook": { "clientConfig": { "caBundle": null } } });
    for (path, change) in [
        (MUTATING, configuration(&["a"])),
        (VALIDATING, configuration(&["b", "c"])),
        (CRD, json!({ "spec": { "conversion": none } })),
    ] {
        place.merge(path, &change).await;
        place.heals(path).await;
    }
    // Its own patches trigger a check, too; wait until that is over.
    let mut asked = 0;
    while asked != place.api.requests().len() {
        asked = place.api.requests().len();
        sleep(25 * GROUP).await;
    }
    let (namespace, name) = ("guests-system", "guests-webhook-certificate");
    place.api.delete::<Kind>(namespace, name);
    place.heals(SECRET).await;
    stop.cancel();
    running.await.unwrap();
}

#[test]
fn conflicts_are_retried_quickly_at_most_ten_times() {
    let failed = |code: u16| {
        let status = kube::core::Status::failure("", "").with_code(code);
        Err(kube::Error::Api(status.boxed()))
    };
    let (mut conflicts, soon) = (0, SECOND / 10);
    for _ in 0..2 {
        for round in 0..10 {
            let code = [409, 422][round % 2];
            assert_eq!(wait(&mut conflicts, failed(code)), soon);
        }
        assert_eq!(wait(&mut conflicts, failed(409)), SECOND);
        assert_eq!(wait(&mut conflicts, Ok(MINUTE)), MINUTE);
    }
    assert_eq!(wait(&mut conflicts, failed(403)), SECOND);
    assert_eq!(wait(&mut conflicts, failed(409)), soon);
}
