//! The CA bundles of webhook configurations, and of CRDs with conversion.
//!
//! CAs are added with a JSON patch, and its entry in `managedFields` is removed again. With the entry, a server-side
//! apply of the object without the webhook or without conversion would conflict.

use k8s_openapi::ByteString;
use kube::Client;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use super::secret::is;
use crate::request;

/// The maximum number of old CAs that are kept beside the new one.
const MOST: usize = 8;

const END: &str = "-----END CERTIFICATE-----";

/// An object with a CA bundle that the API server uses to call webhooks.
#[derive(Clone, Debug)]
pub(super) struct Target {
    path: String,
    object: Value,
}

impl Target {
    /// The object at this path; `None` if it does not exist.
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

    /// The names by which the API server calls this server.
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

    /// Whether the bundle contains any other CA.
    pub(super) fn trusts_another(&self, ca: &str) -> bool {
        let bundles = self.configs();
        let mut bundles = bundles.iter().map(|pointer| self.bundle(pointer));
        bundles.any(|bundle| certificates(&bundle).any(|one| one != ca.trim()))
    }

    /// Adds these CAs to the bundles; `keep` decides whether others stay. Returns whether anything was changed.
    pub(super) async fn trust(
        mut self,
        client: &Client,
        manager: &str,
        cas: &[&str],
        keep: bool,
    ) -> kube::Result<bool> {
        let steps = self.steps(cas, keep);
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
        // Indices in lists are only valid for this version.
        let version = &self.object["metadata"]["resourceVersion"];
        let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
        steps.insert(0, test);
        let steps = Value::Array(steps);
        self.object = request::json_patch(client, &self.path, &steps, manager).await?;
        Ok(())
    }

    /// The paths of the client configs that contain CA bundles.
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

    fn bundle(&self, pointer: &str) -> String {
        let bundle = self.object.pointer(pointer).map(|it| &it["caBundle"]);
        let bundle = bundle.cloned().unwrap_or_default();
        let bundle: ByteString = serde_json::from_value(bundle).unwrap_or_default();
        String::from_utf8_lossy(&bundle.0).into_owned()
    }

    fn steps(&self, cas: &[&str], keep: bool) -> Vec<Value> {
        let step = |pointer: String| {
            let new = with(&self.bundle(&pointer), cas, keep)?;
            let path = format!("{pointer}/caBundle");
            let value = ByteString(new.into_bytes());
            Some(json!({ "op": "add", "path": path, "value": value }))
        };
        self.configs().into_iter().filter_map(step).collect()
    }

    /// The patch steps that remove the managed fields entries of these patches, the last one first.
    fn own_entries(&self, manager: &str) -> Vec<Value> {
        let entries = self.object["metadata"]["managedFields"].as_array();
        let own = entries.into_iter().flatten().enumerate();
        let own = own.filter(|(_, entry)| entry["manager"] == manager);
        let step =
            |(at, _)| json!({ "op": "remove", "path": format!("/metadata/managedFields/{at}") });
        let mut steps: Vec<_> = own.map(step).collect();
        steps.reverse();
        steps
    }
}

/// These CAs, followed by the CAs in `bundle` if `keep` is set; `None` if nothing changes. A different order is not a
/// change: two replicas that want different orders would keep overwriting each other.
fn with(bundle: &str, cas: &[&str], keep: bool) -> Option<String> {
    let old: Vec<_> = certificates(bundle).collect();
    let mut new: Vec<_> = cas.iter().map(|it| it.trim()).collect();
    let others = old.iter().copied().filter(|it| !new.contains(it));
    let others: Vec<_> = others.take(MOST).collect();
    let changes = new.iter().any(|it| !old.contains(it)) || (!keep && !others.is_empty());
    if keep {
        new.extend(others);
    }
    // The format of a single CA.
    changes.then(|| new.join("\n") + "\n")
}

fn certificates(bundle: &str) -> impl Iterator<Item = &str> {
    let blocks = bundle.split_inclusive(END).map(|block| {
        let begin = block.find("-----BEGIN").unwrap_or_default();
        block[begin..].trim()
    });
    blocks.filter(|block| CertificateDer::from_pem_slice(block.as_bytes()).is_ok())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::certificates::pair::Pair;

    fn ca() -> String {
        Pair::new(&[], SystemTime::now()).unwrap().ca
    }

    fn target(object: Value) -> Target {
        Target {
            path: String::new(),
            object,
        }
    }

    #[test]
    fn a_new_ca_is_prepended_to_the_bundle_once() {
        let (old, new, served) = (ca(), ca(), ca());
        let with = |bundle: &str, new: &[&str]| with(bundle, new, true);
        let both = format!("{new}{old}");
        assert_eq!(with(&old, &[&new]).as_ref(), Some(&both));
        assert_eq!(with("nonsense", &[&new]).as_ref(), Some(&new));
        assert_eq!(with(&format!("x{old}y"), &[&new]).as_ref(), Some(&both));
        // Two replicas that serve different ones of them do not overwrite each other.
        for cas in [[&*new, &*old], [&*old, &*new]] {
            assert_eq!(with(&both, &cas), None);
        }
        let all = format!("{new}{served}{old}");
        assert_eq!(with(&both, &[&new, &served]), Some(all));
    }

    #[test]
    fn each_webhook_of_a_configuration_gets_the_ca_bundle() {
        let (old, new) = (ca(), ca());
        let bundle = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
        let target = target(json!({ "webhooks": [
            { "clientConfig": { "service": { "name": "a", "namespace": "b" } } },
            { "clientConfig": { "url": "https://[::1]:1/x", "caBundle": bundle(&old) } },
            { "clientConfig": { "url": "https://127.0.0.1:1/x", "caBundle": bundle(&new) } },
        ] }));
        assert_eq!(target.names(), ["a.b.svc", "::1", "127.0.0.1"]);
        assert!(target.trusts_another(&old) && target.trusts_another(&new));
        let step = |at: usize, text: &str| {
            let path = format!("/webhooks/{at}/clientConfig/caBundle");
            json!({ "op": "add", "path": path, "value": bundle(text) })
        };
        assert_eq!(
            target.steps(&[&new], true),
            [step(0, &new), step(1, &format!("{new}{old}"))]
        );
        assert_eq!(target.steps(&[&new], false), [step(0, &new), step(1, &new)]);
    }

    #[test]
    fn only_a_crd_with_a_conversion_webhook_gets_the_ca_bundle() {
        let config = json!({ "service": { "name": "a", "namespace": "b" } });
        let conversion = json!({ "strategy": "Webhook", "webhook": { "clientConfig": config } });
        let crd = target(json!({ "spec": { "conversion": conversion } }));
        assert_eq!(crd.names(), ["a.b.svc"]);
        assert_eq!(crd.steps(&[&ca()], true).len(), 1);
        let crd = target(json!({ "spec": { "conversion": { "strategy": "None" } } }));
        assert!(crd.steps(&[&ca()], true).is_empty());
    }

    #[test]
    fn own_managed_fields_entries_are_removed_last_to_first() {
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
