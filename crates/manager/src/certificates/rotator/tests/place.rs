//! A deployment for rotators to reconcile, on the fake API server.

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MutatingWebhookConfiguration as Mutating, ValidatingWebhookConfiguration as Validating,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd,
};
use kbr_testing::FakeApi;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::super::*;
use crate::request;

pub(super) const SECRET: &str =
    "/api/v1/namespaces/guests-system/secrets/guests-webhook-certificate";
pub(super) const MUTATING: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m";
pub(super) const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";
pub(super) const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/guests.example.com";
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// The deployed objects, and a rotator.
pub(super) struct Place {
    pub(super) api: FakeApi,
    pub(super) client: Client,
    pub(super) now: SystemTime,
}

impl Place {
    /// With a defaulter, two validators, and a kind with conversion.
    pub(super) async fn new() -> Self {
        let api = FakeApi::new();
        let client = api.client();
        // Whole seconds, as in certificates and the Secret.
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let place = Self { api, client, now };
        place.deploy(MUTATING, &configuration(&["a"])).await;
        place.deploy(VALIDATING, &configuration(&["b", "c"])).await;
        place.deploy(CRD, &crd("Webhook")).await;
        place
    }

    /// Deploys an object like `make deploy`.
    pub(super) async fn deploy(&self, path: &str, object: &Value) {
        let applied = request::apply(&self.client, path, object, "make", true).await;
        applied.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub(super) fn rotator(&self) -> Rotator {
        self.rotator_and_served().0
    }

    pub(super) fn rotator_and_served(&self) -> (Rotator, oneshot::Receiver<Served>) {
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
        Rotator::new(client, id, "guests", "guests-system", targets)
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        request::get(&self.client, path).await.unwrap()
    }

    pub(super) async fn merge(&self, path: &str, change: &Value) {
        let merged = request::merge_patch::<Value>(&self.client, path, change).await;
        merged.unwrap_or_else(|error| panic!("{change}: {error}"));
    }

    /// The pair in the Secret.
    pub(super) async fn pair(&self) -> Pair {
        let secret = self.get(SECRET).await;
        Pair {
            ca: text(&secret["data"]["ca.crt"]),
            certificate: text(&secret["data"]["tls.crt"]),
            key: text(&secret["data"]["tls.key"]),
        }
    }

    /// Writes a pair to the Secret.
    pub(super) async fn put(&self, pair: &Pair) {
        let data = json!({
            "ca.crt": bytes(&pair.ca),
            "tls.crt": bytes(&pair.certificate),
            "tls.key": bytes(&pair.key),
        });
        self.merge(SECRET, &json!({ "data": data })).await;
    }

    /// The CA bundle at each place.
    pub(super) async fn bundles(&self) -> Vec<String> {
        let crd = self.get(CRD).await;
        let mut configs = vec![crd["spec"]["conversion"]["webhook"]["clientConfig"].clone()];
        for path in [MUTATING, VALIDATING] {
            let webhooks = self.get(path).await["webhooks"].clone();
            let webhooks = webhooks.as_array().into_iter().flatten();
            configs.extend(webhooks.map(|webhook| webhook["clientConfig"].clone()));
        }
        configs
            .iter()
            .map(|config| text(&config["caBundle"]))
            .collect()
    }

    /// The CA bundle, which must be the same at all places.
    pub(super) async fn trusted(&self) -> String {
        let mut bundles = self.bundles().await;
        bundles.dedup();
        assert_eq!(bundles.len(), 1, "{bundles:#?}");
        bundles.remove(0)
    }

    /// Waits until the first CA in every bundle is the one in the Secret; no check runs by itself.
    pub(super) async fn heals(&self, what: &str) {
        let healthy = async || {
            let secret = request::get(&self.client, SECRET).await.unwrap_or_default();
            let ca = text(&secret["data"]["ca.crt"]);
            let bundles = self.bundles().await;
            !ca.is_empty() && bundles.iter().all(|it| it.starts_with(&ca))
        };
        let healed = timeout(PERIOD / 2, async {
            while !healthy().await {
                sleep(GROUP).await;
            }
        });
        healed
            .await
            .unwrap_or_else(|_| panic!("{what} is not mended"));
    }

    /// The number of requests so far that write.
    pub(super) fn writes(&self) -> usize {
        let requests = self.api.requests();
        requests.iter().filter(|it| !it.starts_with("GET ")).count()
    }
}

pub(super) fn bytes(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

pub(super) fn text(value: &Value) -> String {
    let bytes: ByteString = serde_json::from_value(value.clone()).unwrap_or_default();
    String::from_utf8(bytes.0).unwrap()
}

/// A configuration, without the fields that differ between the two kinds.
pub(super) fn configuration(webhooks: &[&str]) -> Value {
    let service = json!({ "name": "guests-webhook", "namespace": "guests-system" });
    let webhooks: Vec<_> = webhooks
        .iter()
        .map(|name| json!({ "name": name, "clientConfig": { "service": service } }))
        .collect();
    json!({ "webhooks": webhooks })
}

pub(super) fn crd(strategy: &str) -> Value {
    let service = json!({ "name": "guests-webhook", "namespace": "guests-system" });
    let mut conversion = json!({ "strategy": strategy });
    if strategy == "Webhook" {
        conversion["webhook"] = json!({ "clientConfig": { "service": service } });
    }
    json!({ "spec": { "conversion": conversion } })
}

pub(super) fn names() -> Vec<String> {
    ["guests-webhook.guests-system.svc", "localhost"]
        .map(str::to_owned)
        .to_vec()
}
