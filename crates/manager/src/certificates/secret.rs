//! The Secret that all replicas share. It is only written by server-side apply: for that, the API server checks
//! permissions by name even if the request creates the object.

use k8s_openapi::ByteString;
use kube::Client;
use serde_json::{Value, json};

use super::pair::Pair;
use crate::request;

/// The location of the Secret, and its field manager.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The field manager.
    pub(super) manager: String,
    /// The annotation with the names that the certificate covers, separated by commas.
    pub(super) names: String,
}

/// The content of the Secret.
pub(super) struct Found {
    version: Value,
    /// `None` if it is incomplete.
    pub(super) pair: Option<Pair>,
    /// The names that the certificate covers, according to the annotation.
    pub(super) names: Vec<String>,
}

impl Secret {
    pub(super) fn path(&self) -> String {
        format!(
            "/api/v1/namespaces/{}/secrets/{}",
            self.namespace, self.name
        )
    }

    /// The content of the Secret. If the Secret does not exist, it is created without a certificate.
    pub(super) async fn read_or_make(&self, client: &Client) -> kube::Result<Found> {
        let found = match request::get(client, &self.path()).await {
            Err(error) if is(&error, 404) => self.make(client).await?,
            found => found?,
        };
        Ok(self.found(&found))
    }

    /// Creates the Secret without a certificate. It uses another field manager and no force, so that it conflicts with
    /// a certificate that another replica has written meanwhile.
    pub(super) async fn make(&self, client: &Client) -> kube::Result<Value> {
        let mut body = self.body(&json!({}), &json!({ "tls.crt": "", "tls.key": "" }));
        // Only set on creation: the type of an existing Secret is immutable, and does not matter.
        body["type"] = json!("kubernetes.io/tls");
        let manager = format!("{}-new", self.manager);
        let made = request::apply(client, &self.path(), &body, &manager, false).await;
        match made {
            Err(error) if is(&error, 409) => request::get(client, &self.path()).await,
            made => made,
        }
    }

    /// Replaces the content that was found with a pair. If several replicas try, one succeeds and the others get 409.
    pub(super) async fn replace(
        &self,
        client: &Client,
        found: &Found,
        pair: &Pair,
        names: &[String],
    ) -> kube::Result<()> {
        let data = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
        let metadata = json!({
            "resourceVersion": found.version,
            "annotations": { self.names.as_str(): names.join(",") },
        });
        let data = json!({
            "ca.crt": data(&pair.ca),
            "tls.crt": data(&pair.certificate),
            "tls.key": data(&pair.key),
        });
        let body = self.body(&metadata, &data);
        request::apply(client, &self.path(), &body, &self.manager, true).await?;
        Ok(())
    }

    fn body(&self, metadata: &Value, data: &Value) -> Value {
        let mut body = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data,
        });
        body["metadata"]["name"] = json!(self.name);
        body["metadata"]["namespace"] = json!(self.namespace);
        body
    }

    fn found(&self, object: &Value) -> Found {
        let text = |field: &str| {
            let bytes: ByteString = serde_json::from_value(object["data"][field].clone()).ok()?;
            String::from_utf8(bytes.0).ok()
        };
        let pair = || {
            Some(Pair {
                ca: text("ca.crt")?,
                certificate: text("tls.crt")?,
                key: text("tls.key")?,
            })
        };
        let names = object["metadata"]["annotations"][&self.names].as_str();
        let names = names.into_iter().flat_map(|names| names.split(','));
        Found {
            version: object["metadata"]["resourceVersion"].clone(),
            pair: pair(),
            names: names.map(str::to_owned).collect(),
        }
    }
}

/// Whether the API server responded with this code.
pub(super) fn is(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}
