//! What tells the API server whom to trust: webhook configurations, and CRDs with conversion.
//!
//! Authorities are put there by JSON patches, and the entry of them in `managedFields` is removed: who deploys the
//! object again by server-side apply, without the webhook or without conversion, would else be told that the field of a
//! webhook that is gone has another owner, and be refused. The same goes for what others noted who put authorities
//! there before, such as cert-manager.

use k8s_openapi::ByteString;
use kube::Client;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use super::secret::is;
use crate::request;

/// At most so many old authorities are kept beside the new one.
const MOST: usize = 8;

const END: &str = "-----END CERTIFICATE-----";

/// An object that tells the API server whom to trust.
#[derive(Clone, Debug)]
pub(super) struct Target {
    path: String,
    object: Value,
}

impl Target {
    /// The object at this path; `None` if there is none.
    pub(super) async fn read(client: &Client, path: &str) -> kube::Result<Option<Self>> {
        match request::get(client, path).await {
            Ok(object) => Ok(Some(Self {
                path: path.to_owned(),
                object,
            })),
            Err(error) if is(&error, 404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names that the API server calls this server by.
    pub(super) fn names(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let name = |pointer: String| {
            let config = self.object.pointer(&pointer)?;
            if let Some(url) = config["url"].as_str() {
                let host = url.parse::<hyper::Uri>().ok()?.host()?.to_owned();
                return Some(host.trim_matches(['[', ']']).to_owned());
            }
            let service = &config["service"];
            let (name, namespace) = (text(&service["name"])?, text(&service["namespace"])?);
            Some(format!("{name}.{namespace}.svc"))
        };
        self.configs().into_iter().filter_map(name).collect()
    }

    /// Sees to it that `authority` is trusted; others are kept if `keep` says so. Whether anything was changed.
    pub(super) async fn trust(
        mut self,
        client: &Client,
        manager: &str,
        authority: &str,
        keep: bool,
    ) -> kube::Result<bool> {
        let steps = self.steps(authority, keep);
        let changed = !steps.is_empty();
        if changed {
            self.patch(client, manager, steps).await?;
        }
        let steps = self.own_entries(manager);
        if !steps.is_empty() {
            self.patch(client, manager, steps).await?;
        }
        Ok(changed)
    }

    async fn patch(
        &mut self,
        client: &Client,
        manager: &str,
        mut steps: Vec<Value>,
    ) -> kube::Result<()> {
        // Places in lists are right for this version only.
        let version = &self.object["metadata"]["resourceVersion"];
        let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
        steps.insert(0, test);
        let steps = Value::Array(steps);
        self.object = request::json_patch(client, &self.path, &steps, manager).await?;
        Ok(())
    }

    /// Where authorities are.
    fn configs(&self) -> Vec<String> {
        if let Some(webhooks) = self.object["webhooks"].as_array() {
            let pointer = |at| format!("/webhooks/{at}/clientConfig");
            return (0..webhooks.len()).map(pointer).collect();
        }
        let conversion = &self.object["spec"]["conversion"];
        if conversion["strategy"] == "Webhook" {
            return vec!["/spec/conversion/webhook/clientConfig".to_owned()];
        }
        Vec::new()
    }

    fn steps(&self, authority: &str, keep: bool) -> Vec<Value> {
        let step = |pointer: String| {
            let config = self.object.pointer(&pointer)?;
            let bundle: ByteString =
                serde_json::from_value(config["caBundle"].clone()).unwrap_or_default();
            let old = String::from_utf8_lossy(&bundle.0);
            let new = if keep {
                with(&old, authority)
            } else {
                authority.to_owned()
            };
            let path = format!("{pointer}/caBundle");
            let value = ByteString(new.clone().into_bytes());
            (new != old).then(|| json!({ "op": "add", "path": path, "value": value }))
        };
        self.configs().into_iter().filter_map(step).collect()
    }

    /// Removes what the API server noted of these patches, and of others that put only authorities there; the last
    /// first.
    fn own_entries(&self, manager: &str) -> Vec<Value> {
        let entries = self.object["metadata"]["managedFields"].as_array();
        let own = entries.into_iter().flatten().enumerate();
        let own = own.filter(|(_, entry)| {
            entry["manager"] == manager || owns_only_authorities(&entry["fieldsV1"])
        });
        let step =
            |(at, _)| json!({ "op": "remove", "path": format!("/metadata/managedFields/{at}") });
        let mut steps: Vec<_> = own.map(step).collect();
        steps.reverse();
        steps
    }
}

/// Whether all that is owned are authorities, and the names of webhooks that have them.
fn owns_only_authorities(fields: &Value) -> bool {
    fn below(fields: &Value) -> bool {
        let mut fields = fields.as_object().into_iter().flatten();
        fields.all(|(name, fields)| match name.as_str() {
            "f:caBundle" | "f:name" | "." => true,
            _ => fields.as_object().is_some_and(|it| !it.is_empty()) && below(fields),
        })
    }
    below(fields) && fields.to_string().contains("\"f:caBundle\"")
}

/// The certificates of `bundle`, with `authority` before them.
fn with(bundle: &str, authority: &str) -> String {
    let authority = authority.trim();
    let mut all = vec![authority.to_owned()];
    for block in bundle.split_inclusive(END) {
        let begin = block.find("-----BEGIN").unwrap_or_default();
        let block = block[begin..].trim();
        let is_certificate = CertificateDer::from_pem_slice(block.as_bytes()).is_ok();
        if is_certificate && all.len() <= MOST && !all.iter().any(|one| one == block) {
            all.push(block.to_owned());
        }
    }
    // As the authority alone is written.
    all.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::certificates::pair::Pair;

    fn authority() -> String {
        Pair::new(&[], SystemTime::now()).unwrap().authority
    }

    fn target(object: Value) -> Target {
        Target {
            path: String::new(),
            object,
        }
    }

    #[test]
    fn a_new_authority_is_put_before_the_old_ones_once() {
        let (old, new) = (authority(), authority());
        let both = with(&old, &new);
        assert_eq!(both, format!("{new}{old}"));
        assert_eq!(with(&both, &new), both);
        assert_eq!(with("nonsense", &new), new);
        assert_eq!(with(&format!("x{old}y"), &new), both);
    }

    #[test]
    fn each_webhook_of_a_configuration_is_told() {
        let (old, new) = (authority(), authority());
        let bundle = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
        let target = target(json!({ "webhooks": [
            { "clientConfig": { "service": { "name": "a", "namespace": "b" } } },
            { "clientConfig": { "url": "https://[::1]:1/x", "caBundle": bundle(&old) } },
            { "clientConfig": { "url": "https://127.0.0.1:1/x", "caBundle": bundle(&new) } },
        ] }));
        assert_eq!(target.names(), ["a.b.svc", "::1", "127.0.0.1"]);
        let step = |at: usize, text: &str| {
            let path = format!("/webhooks/{at}/clientConfig/caBundle");
            json!({ "op": "add", "path": path, "value": bundle(text) })
        };
        assert_eq!(
            target.steps(&new, true),
            [step(0, &new), step(1, &format!("{new}{old}"))]
        );
        assert_eq!(target.steps(&new, false), [step(0, &new), step(1, &new)]);
    }

    #[test]
    fn a_crd_is_told_if_it_converts() {
        let config = json!({ "service": { "name": "a", "namespace": "b" } });
        let conversion = json!({ "strategy": "Webhook", "webhook": { "clientConfig": config } });
        let crd = target(json!({ "spec": { "conversion": conversion } }));
        assert_eq!(crd.names(), ["a.b.svc"]);
        assert_eq!(crd.steps(&authority(), true).len(), 1);
        let crd = target(json!({ "spec": { "conversion": { "strategy": "None" } } }));
        assert!(crd.steps(&authority(), true).is_empty());
    }

    #[test]
    fn own_entries_are_removed_from_the_end() {
        let managers = ["kubectl", "own", "x", "own"].map(|name| json!({ "manager": name }));
        let target = target(json!({ "metadata": { "managedFields": managers } }));
        let paths: Vec<_> = target.own_entries("own");
        let paths: Vec<_> = paths.iter().map(|step| &step["path"]).collect();
        assert_eq!(
            paths,
            ["/metadata/managedFields/3", "/metadata/managedFields/1"]
        );
    }
}
