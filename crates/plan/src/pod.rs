//! What a release finds where it runs: the variables and files of its Pod.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kbr_manifests::overlay::Identity;
use serde_json::json;

use super::discovery::text;
use super::release::{Mount, Reference, Release, is_harmless};
use super::run::Runner;
use super::webhooks::Webhooks;

/// Where a Pod finds what it is.
const POD: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl Runner<'_> {
    /// The variables of the container, and what leads to the API server.
    pub(super) fn environment(
        &self,
        release: &Release,
        webhooks: &Webhooks,
    ) -> anyhow::Result<BTreeMap<String, String>> {
        let Identity {
            namespace, account, ..
        } = self.operator;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 86400 } });
        let answer = self
            .client
            .create(&path, &request)
            .with_context(|| format!("the ServiceAccount `{namespace}/{account}` gets no token"))?;
        let token = text(&answer["status"]["token"]);
        let ca = self.plane.folder().join("ca.crt");
        let kubeconfig = self.plane.write_token_kubeconfig(namespace, token)?;
        if self.confined {
            let pod = Path::new(POD);
            fs::create_dir_all(pod)?;
            fs::write(pod.join("token"), token)?;
            fs::write(pod.join("namespace"), namespace)?;
            fs::copy(&ca, pod.join("ca.crt"))?;
            for mount in &release.mounts {
                self.mount(mount, webhooks)
                    .with_context(|| format!("cannot write `{}`", mount.path))?;
            }
        }
        let url = self.plane.url();
        let (host, port) = url
            .trim_start_matches("https://")
            .split_once(':')
            .context("the API server has no port")?;
        // Of a variable that is given several times, `env` of the container counts, not `envFrom`.
        let (whole, single): (Vec<_>, Vec<_>) =
            release.references.iter().partition(|it| it.key.is_none());
        let mut all = BTreeMap::new();
        for reference in whole {
            all.extend(self.referenced(reference)?);
        }
        all.extend(release.environment.clone());
        for reference in single {
            all.extend(self.referenced(reference)?);
        }
        all.extend([
            (
                "PATH".to_owned(),
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            ),
            ("HOME".to_owned(), "/tmp".to_owned()),
            ("KUBECONFIG".to_owned(), kubeconfig.display().to_string()),
            ("KUBERNETES_SERVICE_HOST".to_owned(), host.to_owned()),
            ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_owned()),
        ]);
        Ok(all)
    }

    /// The variables that the reference stands for, as far as the object has them.
    fn referenced(&self, reference: &Reference) -> anyhow::Result<Vec<(String, String)>> {
        let Reference {
            variable,
            kind,
            name,
            key,
        } = reference;
        let found = self.data(kind, name)?.into_iter();
        let named = found.filter_map(|(name, value)| {
            let variable = match key {
                Some(key) if *key == name => variable.clone(),
                Some(_) => return None,
                None => format!("{variable}{name}"),
            };
            Some((variable, String::from_utf8(value).ok()?))
        });
        Ok(named.filter(|(name, _)| is_harmless(name)).collect())
    }

    /// The data of a Secret or `ConfigMap` of the operator's namespace; nothing if it does not exist.
    fn data(&self, kind: &str, name: &str) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        if name.is_empty() {
            return Ok(Vec::new());
        }
        let plural = format!("{}s", kind.to_lowercase());
        let namespace = &self.operator.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
        let object = self.client.find(&path, "application/json")?;
        let object = object.unwrap_or_default();
        let data = object["data"].as_object().into_iter().flatten();
        let decoded = data.map(|(name, value)| {
            let value = text(value);
            let content = match kind {
                "Secret" => BASE64_STANDARD.decode(value)?,
                _ => value.as_bytes().to_vec(),
            };
            Ok((name.clone(), content))
        });
        decoded.collect()
    }

    /// Writes the files of a volume: what the object has, or the certificate of the webhooks.
    fn mount(&self, mount: &Mount, webhooks: &Webhooks) -> anyhow::Result<()> {
        let mut files = self.data(&mount.kind, &mount.name)?;
        if mount.kind == "Secret"
            && (files.is_empty() || files.iter().any(|(name, _)| name == "tls.crt"))
        {
            files.clear();
            for name in ["tls.crt", "tls.key"] {
                files.push((name.to_owned(), fs::read(webhooks.folder.join(name))?));
            }
        }
        let folder = PathBuf::from(&mount.path);
        if !mount.sub_path.is_empty() {
            let content = files.into_iter().find(|(name, _)| *name == mount.sub_path);
            fs::create_dir_all(folder.parent().unwrap_or(&folder))?;
            return Ok(fs::write(
                &folder,
                content.map(|it| it.1).unwrap_or_default(),
            )?);
        }
        fs::create_dir_all(&folder)?;
        for (name, content) in files {
            // The name of a key has no slash: the API server checks it.
            fs::write(folder.join(name), content)?;
        }
        Ok(())
    }
}
