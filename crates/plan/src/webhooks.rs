//! The webhooks of an operator that runs beside the API server: its Services are a port of the loopback.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kbr_envtest::certificates;
use kbr_envtest::egress::Services;
use serde_json::{Value, json};

use super::discovery::{list, text};

/// The Services that call an operator's webhooks, and a certificate for them. Both releases have the same: the API server would go on with
/// the CA of the one before for a while.
#[derive(Debug)]
pub struct Webhooks {
    /// `namespace/name`.
    services: BTreeSet<String>,
    /// Has `tls.crt` and `tls.key`.
    pub folder: PathBuf,
    /// In base64.
    ca: String,
}

impl Webhooks {
    /// Those that `objects` name. Creates a certificate in `folder`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn new<'a>(
        objects: impl IntoIterator<Item = &'a Value>,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let mut services = BTreeSet::new();
        let mut names = BTreeSet::new();
        for client in objects.into_iter().flat_map(clients) {
            let service = &client["service"];
            if service.is_object() {
                let (namespace, name) = (text(&service["namespace"]), text(&service["name"]));
                services.insert(format!("{namespace}/{name}"));
                names.insert(format!("{name}.{namespace}.svc"));
            }
        }
        let names: Vec<String> = names.into_iter().collect();
        let ca = certificates::named_too(folder, &names)?;
        Ok(Self {
            services,
            folder: folder.to_owned(),
            ca: BASE64_STANDARD.encode(ca),
        })
    }

    /// The Services, served at `port`.
    pub fn at(&self, port: u16) -> Services {
        let all = self.services.iter();
        all.map(|it| (it.clone(), port)).collect()
    }

    /// Lets the API server trust the certificate, where the object names a Service and an operator or cert-manager would add the CA.
    pub fn trust(&self, object: &mut Value) {
        for pointer in pointers(object) {
            if let Some(client) = object.pointer_mut(&pointer)
                && client["service"].is_object()
            {
                client["caBundle"] = json!(self.ca);
            }
        }
    }
}

/// Where an object says how to call webhooks.
fn pointers(object: &Value) -> Vec<String> {
    let webhooks = list(&object["webhooks"]).count();
    let mut all: Vec<String> = (0..webhooks)
        .map(|index| format!("/webhooks/{index}/clientConfig"))
        .collect();
    all.push("/spec/conversion/webhook/clientConfig".to_owned());
    all
}

fn clients(object: &Value) -> Vec<&Value> {
    let pointers = pointers(object).into_iter();
    pointers.filter_map(|it| object.pointer(&it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_of_webhooks_and_conversions_are_trusted() {
        let client =
            |name: &str| json!({ "service": { "namespace": "crew", "name": name, "path": "/x" } });
        let mut objects = [
            json!({ "webhooks": [{ "clientConfig": client("a") }, { "clientConfig": { "url": "https://example.com" } }] }),
            json!({ "spec": { "conversion": { "strategy": "Webhook", "webhook": { "clientConfig": client("b") } } } }),
            json!({ "spec": { "conversion": { "strategy": "None" } } }),
        ];
        let folder = tempfile::tempdir().unwrap();
        let webhooks = Webhooks::new(&objects, &folder.path().join("webhooks")).unwrap();
        let expected = [("crew/a".to_owned(), 9443), ("crew/b".to_owned(), 9443)];
        assert_eq!(webhooks.at(9443), Services::from(expected));
        let before = objects.clone();
        for object in &mut objects {
            webhooks.trust(object);
        }
        assert_eq!(
            objects[0]["webhooks"][0]["clientConfig"]["caBundle"],
            webhooks.ca
        );
        assert_eq!(objects[0]["webhooks"][1], before[0]["webhooks"][1]);
        assert_eq!(
            objects[1]["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
            webhooks.ca
        );
        assert_eq!(objects[2], before[2]);
    }
}
