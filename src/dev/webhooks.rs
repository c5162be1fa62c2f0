//! Makes the API server call the operator's webhooks through a `url` on the loopback.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use kbr_envtest::{certificates, crds};
use kbr_manifests::WEBHOOKS;

/// The port and the CA of the webhooks.
#[derive(Debug)]
pub struct Webhooks {
    port: u16,
    /// Holds `tls.crt` and `tls.key`.
    folder: PathBuf,
    /// In base64.
    ca_bundle: String,
    enabled: bool,
}

impl Webhooks {
    /// Creates a certificate in `folder`, and picks a free port. Like the operator, it respects `ENABLE_WEBHOOKS`.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.join("webhooks");
        Ok(Self {
            port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
            ca_bundle: BASE64_STANDARD.encode(certificates::loopback(&folder)?),
            folder,
            enabled: std::env::var("ENABLE_WEBHOOKS").as_deref() != Ok("false"),
        })
    }

    /// The operator's flags.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            "--webhook-host=127.0.0.1".into(),
            format!("--webhook-port={}", self.port).into(),
            // No other operator serves these webhooks meanwhile.
            "--shutdown-delay=0s".into(),
        ];
        let mut path = OsString::from("--webhook-cert-path=");
        path.push(&self.folder);
        arguments.push(path);
        arguments
    }

    /// Points a CRD's conversion or a webhook configuration to this machine instead of a Service.
    pub fn redirect(&self, object: &mut Value) {
        let conversion = object.pointer_mut("/spec/conversion");
        if let Some(conversion) = conversion.filter(|how| how["strategy"] == "Webhook") {
            if self.enabled {
                self.redirect_client(&mut conversion["webhook"]["clientConfig"]);
            } else {
                *conversion = json!({ "strategy": "None" });
            }
        }
        let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
        for webhook in webhooks.into_iter().flatten() {
            self.redirect_client(&mut webhook["clientConfig"]);
        }
    }

    /// Keeps a `url` that the client configuration already has.
    fn redirect_client(&self, config: &mut Value) {
        if let Some(path) = config["service"]["path"].as_str() {
            let url = format!("https://127.0.0.1:{}{path}", self.port);
            *config = json!({ "url": url, "caBundle": self.ca_bundle });
        }
    }

    /// The project's webhook configurations, pointed to this machine. A configuration without webhooks is empty.
    pub fn configurations(&self, root: &Path) -> anyhow::Result<Vec<Value>> {
        let path = root.join(WEBHOOKS);
        if !self.enabled || !path.is_file() {
            return Ok(Vec::new());
        }
        let mut configurations = crds::documents(&path)?;
        configurations.retain(Value::is_object);
        for object in &mut configurations {
            self.redirect(object);
        }
        Ok(configurations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirected(mut object: Value, enabled: bool) -> Value {
        let webhooks = Webhooks {
            port: 1,
            folder: PathBuf::new(),
            ca_bundle: "CA".to_owned(),
            enabled,
        };
        webhooks.redirect(&mut object);
        object
    }

    fn service(path: &str) -> Value {
        json!({ "service": { "name": "n", "namespace": "s", "path": path } })
    }

    #[test]
    fn webhooks_of_services_are_pointed_to_this_machine() {
        let own = json!({ "url": "https://example.com" });
        let webhooks = json!([{ "clientConfig": service("/a") }, { "clientConfig": own }]);
        let object = redirected(json!({ "webhooks": webhooks }), true);
        let here = json!({ "url": "https://127.0.0.1:1/a", "caBundle": "CA" });
        let webhooks = json!([{ "clientConfig": here }, { "clientConfig": own }]);
        assert_eq!(object, json!({ "webhooks": webhooks }));
    }

    #[test]
    fn conversion_webhooks_are_pointed_here_or_removed() {
        let crd = |webhook: &Value| json!({ "spec": { "conversion": { "strategy": "Webhook", "webhook": webhook } } });
        let webhook =
            |config| json!({ "clientConfig": config, "conversionReviewVersions": ["v1"] });
        let cluster = crd(&webhook(service("/convert")));
        let here = json!({ "url": "https://127.0.0.1:1/convert", "caBundle": "CA" });
        assert_eq!(redirected(cluster.clone(), true), crd(&webhook(here)));
        let none = json!({ "spec": { "conversion": { "strategy": "None" } } });
        assert_eq!(redirected(cluster, false), none);
        let without = json!({ "spec": { "group": "crew.example.com" } });
        assert_eq!(redirected(without.clone(), true), without);
    }
}
