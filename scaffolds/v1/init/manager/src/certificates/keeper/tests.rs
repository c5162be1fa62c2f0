//! What keepers do, look by look, on an API server in memory. Times are written out, so that a constant that is changed
//! is noticed.

use k8s_openapi::{
    ByteString,
    api::{
        admissionregistration::v1::{
            MutatingWebhookConfiguration as Mutating, ValidatingWebhookConfiguration as Validating,
        },
        core::v1::Secret as Kind,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd,
};
use serde_json::{Value, json};
use tokio::time::advance;

use super::*;
use crate::{request, testing::FakeApi};

const SECRET: &str = "/api/v1/namespaces/guests-system/secrets/guests-webhook-certificate";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/guests.example.com";
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SECOND: Duration = Duration::from_secs(1);

/// What is deployed, and who looks at it.
struct Place {
    api: FakeApi,
    client: Client,
    now: SystemTime,
}

impl Place {
    /// With a defaulter, two validators, and a kind that is converted.
    async fn new() -> Self {
        let api = FakeApi::new();
        let client = api.client();
        // Whole seconds, as certificates and the Secret have them.
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let place = Self { api, client, now };
        place.deploy(MUTATING, &configuration(&["a"])).await;
        place.deploy(VALIDATING, &configuration(&["b", "c"])).await;
        place.deploy(CRD, &crd("Webhook")).await;
        place
    }

    /// As `make deploy` does.
    async fn deploy(&self, path: &str, object: &Value) {
        let applied = request::apply(&self.client, path, object, "make", true).await;
        applied.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    fn keeper(&self) -> Keeper {
        let targets = vec![
            (ApiResource::erase::<Mutating>(&()), "m".to_owned()),
            (ApiResource::erase::<Validating>(&()), "v".to_owned()),
            (
                ApiResource::erase::<Crd>(&()),
                "guests.example.com".to_owned(),
            ),
            (ApiResource::erase::<Crd>(&()), "not.there".to_owned()),
        ];
        let (client, id) = (self.client.clone(), "guests.example.com");
        Keeper::new(client, id, "guests-system", targets).0
    }

    async fn get(&self, path: &str) -> Value {
        request::get(&self.client, path).await.unwrap()
    }

    async fn merge(&self, path: &str, change: &Value) {
        let merged = request::merge_patch(&self.client, path, change).await;
        merged.unwrap_or_else(|error| panic!("{change}: {error}"));
    }

    /// What is in the Secret.
    async fn pair(&self) -> Pair {
        let secret = self.get(SECRET).await;
        Pair {
            authority: text(&secret["data"]["ca.crt"]),
            certificate: text(&secret["data"]["tls.crt"]),
            key: text(&secret["data"]["tls.key"]),
        }
    }

    /// Puts it there, written at that time.
    async fn put(&self, pair: &Pair, since: &str) {
        let data = json!({
            "ca.crt": bytes(&pair.authority),
            "tls.crt": bytes(&pair.certificate),
            "tls.key": bytes(&pair.key),
        });
        let since = json!({ "annotations": { "guests.example.com/certificate-since": since } });
        self.merge(SECRET, &json!({ "metadata": since, "data": data }))
            .await;
    }

    /// Whom the API server trusts, at each place the same.
    async fn trusted(&self) -> String {
        let crd = self.get(CRD).await;
        let bundle = text(&crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]);
        for path in [MUTATING, VALIDATING] {
            for webhook in self.get(path).await["webhooks"].as_array().unwrap() {
                assert_eq!(text(&webhook["clientConfig"]["caBundle"]), bundle, "{path}");
            }
        }
        bundle
    }

    /// The requests so far that write.
    fn writes(&self) -> usize {
        let requests = self.api.requests();
        requests.iter().filter(|it| !it.starts_with("GET ")).count()
    }
}

fn bytes(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

fn text(value: &Value) -> String {
    let bytes: ByteString = serde_json::from_value(value.clone()).unwrap_or_default();
    String::from_utf8(bytes.0).unwrap()
}

/// A configuration, without what tells it apart from the other kind.
fn configuration(webhooks: &[&str]) -> Value {
    let service = json!({ "name": "guests-webhook", "namespace": "guests-system" });
    let webhooks: Vec<_> = webhooks
        .iter()
        .map(|name| json!({ "name": name, "clientConfig": { "service": service } }))
        .collect();
    json!({ "webhooks": webhooks })
}

fn crd(strategy: &str) -> Value {
    let service = json!({ "name": "guests-webhook", "namespace": "guests-system" });
    let mut conversion = json!({ "strategy": strategy });
    if strategy == "Webhook" {
        conversion["webhook"] = json!({ "clientConfig": { "service": service } });
    }
    json!({ "spec": { "conversion": conversion } })
}

fn names() -> Vec<String> {
    ["guests-webhook.guests-system.svc", "localhost"]
        .map(str::to_owned)
        .to_vec()
}

#[tokio::test]
async fn from_nothing_one_certificate_is_made_trusted_and_served_by_all() {
    let place = Place::new().await;
    let (mut one, mut other) = (place.keeper(), place.keeper());
    assert_eq!(one.look(place.now).await.unwrap(), MINUTE);
    let pair = place.pair().await;
    assert!(pair.serves(&names(), place.now));
    assert!(one.served.as_ref() == Some(&pair));
    assert_eq!(place.trusted().await, pair.authority);

    other.look(place.now).await.unwrap();
    assert!(place.pair().await == pair && other.served == Some(pair));
    let secret = place.get(SECRET).await;
    assert_eq!(secret["type"], "kubernetes.io/tls");
    let since = &secret["metadata"]["annotations"]["guests.example.com/certificate-since"];
    assert_eq!(since, "2024-10-04T00:00:00Z");
    let data = secret["data"].as_object().unwrap();
    assert_eq!(
        data.keys().collect::<Vec<_>>(),
        ["ca.crt", "tls.crt", "tls.key"]
    );

    // From then on, nothing is written.
    let writes = place.writes();
    for keeper in [&mut one, &mut other] {
        keeper.look(place.now + DAY / 48).await.unwrap();
    }
    assert_eq!(place.writes(), writes);
}

#[tokio::test]
async fn of_two_that_saw_the_same_one_writes_and_the_other_is_told() {
    let place = Place::new().await;
    let secret = place.keeper().secret;
    let made = [0, 1].map(|_| Pair::new(&names(), place.now).unwrap());
    let first = secret.read_or_make(&place.client).await.unwrap();
    let second = secret.read_or_make(&place.client).await.unwrap();
    let written = secret
        .replace(&place.client, &first, &made[0], place.now)
        .await;
    assert!(written.unwrap().pair.as_ref() == Some(&made[0]));
    let late = secret
        .replace(&place.client, &second, &made[1], place.now)
        .await;
    assert!(is(&late.err().unwrap(), 409));
    // One that saw no Secret at all does not empty it either.
    let mut found = secret.read_or_make(&place.client).await.unwrap();
    assert!(found.pair.take().as_ref() == Some(&made[0]));
    secret.make(&place.client).await.unwrap();
    assert!(place.pair().await == made[0]);
}

#[tokio::test(start_paused = true)]
async fn sixty_days_later_another_is_trusted_beside_the_old_and_served_three_seconds_later() {
    let place = Place::new().await;
    let mut keepers = [place.keeper(), place.keeper()];
    for keeper in &mut keepers {
        keeper.look(place.now).await.unwrap();
    }
    let old = place.pair().await;
    keepers[0].look(place.now + 60 * DAY).await.unwrap();
    assert!(place.pair().await == old);

    let now = place.now + 60 * DAY + SECOND;
    for keeper in &mut keepers {
        assert_eq!(keeper.look(now).await.unwrap(), 3 * SECOND);
        assert!(keeper.served.as_ref() == Some(&old));
    }
    let new = place.pair().await;
    assert!(new != old && new.serves(&names(), now + 89 * DAY));
    let both = format!("{}{}", new.authority, old.authority);
    assert_eq!(place.trusted().await, both);

    advance(Duration::from_millis(2900)).await;
    for keeper in &mut keepers {
        assert_eq!(keeper.look(now).await.unwrap(), SECOND / 10);
        assert!(keeper.served.as_ref() == Some(&old));
    }
    advance(SECOND / 10).await;
    for keeper in &mut keepers {
        assert_eq!(keeper.look(now).await.unwrap(), MINUTE);
        assert!(keeper.served.as_ref() == Some(&new));
    }

    keepers[0].look(now + HOUR).await.unwrap();
    assert_eq!(place.trusted().await, both);
    keepers[0].look(now + HOUR + SECOND).await.unwrap();
    assert_eq!(place.trusted().await, new.authority);
}

#[tokio::test(start_paused = true)]
async fn one_that_comes_while_another_waits_waits_for_as_long() {
    let place = Place::new().await;
    let mut keeper = place.keeper();
    keeper.look(place.now).await.unwrap();
    let old = place.pair().await;
    for round in 0..2 {
        advance(2 * SECOND).await;
        request::apply(
            &place.client,
            SECRET,
            &json!({ "data": {} }),
            "guests.example.com/webhooks",
            true,
        )
        .await
        .unwrap();
        assert_eq!(keeper.look(place.now).await.unwrap(), 3 * SECOND, "{round}");
        assert!(keeper.served.as_ref() == Some(&old));
    }
    let authorities = place.trusted().await;
    assert_eq!(authorities.matches("BEGIN").count(), 3, "{authorities}");
    advance(3 * SECOND).await;
    keeper.look(place.now).await.unwrap();
    assert!(keeper.served == Some(place.pair().await));
    assert!(keeper.next.is_none());
}

#[tokio::test]
async fn whoever_serves_what_is_over_serves_the_new_one_at_once() {
    let place = Place::new().await;
    let mut keeper = place.keeper();
    keeper.look(place.now).await.unwrap();
    // As after a long sleep of the machine.
    let now = place.now + 91 * DAY;
    assert_eq!(keeper.look(now).await.unwrap(), MINUTE);
    let pair = place.pair().await;
    assert!(pair.serves(&names(), now) && keeper.served == Some(pair));
}

#[tokio::test]
async fn a_new_name_is_served_at_once_and_one_that_cannot_be_is_left_out() {
    let place = Place::new().await;
    let mut keeper = place.keeper();
    keeper.look(place.now).await.unwrap();
    let old = place.pair().await;
    let urls = [
        "https://127.0.0.1:1/a",
        "https://[::1]:1/a",
        "https://-.-/a",
    ];
    let webhooks = urls.map(|url| json!({ "name": url, "clientConfig": { "url": url } }));
    place
        .deploy(MUTATING, &json!({ "webhooks": webhooks }))
        .await;
    assert_eq!(keeper.look(place.now).await.unwrap(), MINUTE);
    let mut names = names();
    names.extend(["127.0.0.1", "::1"].map(str::to_owned));
    let new = place.pair().await;
    assert!(!old.serves(&names, place.now) && new.serves(&names, place.now));
    assert!(keeper.served == Some(new));
}

#[tokio::test]
async fn a_clock_that_is_ahead_loses_no_authority() {
    let place = Place::new().await;
    place.keeper().look(place.now).await.unwrap();
    let (old, new) = (place.pair().await, Pair::new(&names(), place.now).unwrap());
    place.put(&new, "2024-10-04T00:59:00Z").await;
    place.keeper().look(place.now).await.unwrap();
    let both = format!("{}{}", new.authority, old.authority);
    assert_eq!(place.trusted().await, both);
    // By so much no clock is: nobody knows when it was.
    for since in ["2024-10-04T01:00:01Z", "2024-10-03T22:59:59Z", "nonsense"] {
        place.put(&old, "2024-10-04T00:00:00Z").await;
        place.keeper().look(place.now).await.unwrap();
        assert!(place.trusted().await.contains(&old.authority), "{since}");
        place.put(&new, since).await;
        place.keeper().look(place.now).await.unwrap();
        assert_eq!(place.trusted().await, new.authority, "{since}");
    }
}

/// Every way to spoil it that somebody has thought of.
#[tokio::test]
async fn a_spoilt_secret_heals() {
    let place = Place::new().await;
    let mut keeper = place.keeper();
    keeper.look(place.now).await.unwrap();
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
    cases.push(with("ca.crt", bytes(&other.authority)));
    cases.push(with("tls.crt", bytes(&other.certificate)));
    cases.push(with("tls.key", bytes(&other.key)));
    for pair in [
        &wrong,
        &of(&names(), place.now - 61 * DAY),
        &of(&names(), place.now + DAY),
    ] {
        cases.push(json!({ "data": {
            "ca.crt": bytes(&pair.authority),
            "tls.crt": bytes(&pair.certificate),
            "tls.key": bytes(&pair.key),
        } }));
    }
    for case in cases {
        place.merge(SECRET, &case).await;
        let spoilt = place.get(SECRET).await;
        keeper
            .look(place.now)
            .await
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_ne!(place.get(SECRET).await["data"], spoilt["data"], "{case}");
        let pair = place.pair().await;
        assert!(pair.serves(&names(), place.now + 89 * DAY), "{case}");
        assert!(place.trusted().await.starts_with(&pair.authority), "{case}");
        // What is served is not touched until the other is known.
        assert!(
            keeper.served.as_ref().unwrap().serves(&names(), place.now),
            "{case}"
        );
    }
    // Sixteen were made meanwhile, and as many would fill an object; the last ones are kept.
    assert_eq!(place.trusted().await.matches("BEGIN").count(), 9);

    // One that is deleted, or that somebody has made in another form, is no different.
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
        keeper.look(place.now).await.unwrap();
        assert!(place.pair().await.serves(&names(), place.now));
    }
}

#[tokio::test]
async fn who_deploys_again_without_a_webhook_or_without_conversion_is_not_refused() {
    let place = Place::new().await;
    let mut keeper = place.keeper();
    // cert-manager has been here before, and has put its authority there.
    let value = bytes(&Pair::new(&names(), place.now).unwrap().authority);
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
    keeper.look(place.now).await.unwrap();
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
    assert!(kept.starts_with(&pair.authority), "{validating}");
    assert_eq!(
        place.get(CRD).await["spec"]["conversion"],
        json!({ "strategy": "None" })
    );

    place.deploy(MUTATING, &configuration(&["a"])).await;
    place.deploy(CRD, &crd("Webhook")).await;
    keeper.look(place.now + 2 * HOUR).await.unwrap();
    assert_eq!(place.trusted().await, pair.authority);
}
