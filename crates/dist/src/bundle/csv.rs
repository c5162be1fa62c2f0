//! The `ClusterServiceVersion`: what OLM installs and a catalogue shows.

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::objects::{self, Parts};
use super::{Inputs, image, permissions, webhooks};

/// Where OLM mounts the certificate of webhooks.
const CERTIFICATE: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The annotation of the Pods in which OLM writes the namespaces to watch.
const TARGETS: &str = "metadata.annotations['olm.targetNamespaces']";

/// What the CSV is made from, besides the objects.
#[derive(Clone, Copy, Debug)]
pub struct Csv<'a> {
    pub package: &'a str,
    pub version: &'a str,
    pub inputs: &'a Inputs,
    pub metadata: &'a Metadata,
    /// Examples of the kinds; those of other kinds are left out.
    pub samples: &'a [Value],
    /// Who provides the operator, if the metadata does not say it.
    pub provider: &'a str,
}

impl Csv<'_> {
    /// The CSV. What goes into it is taken out of `parts`.
    ///
    /// # Errors
    /// A webhook has a part that OLM does not set, or the Deployment has no `ServiceAccount`.
    pub fn object(&self, parts: &mut Parts) -> anyhow::Result<Value> {
        let account = parts.deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str();
        let account = account
            .context("the operator's Deployment has no `serviceAccountName`")?
            .to_owned();
        let definitions = webhooks::take(&parts.deployment, &mut parts.others, &mut parts.crds)?;
        let (cluster, namespaced) = permissions::take(&account, &mut parts.others);
        objects::without_what_olm_makes(&account, &mut parts.others);
        let converts = definitions
            .iter()
            .any(|it| it["type"] == "ConversionWebhook");
        Self::adapt(&mut parts.deployment, !definitions.is_empty());
        let deployment = &parts.deployment;
        let mut spec = json!({
            "version": self.version,
            "displayName": self.metadata.display_name.as_deref().unwrap_or(self.package),
            "description": self.metadata.description.clone().unwrap_or_else(|| format!("The operator {}.", self.package)),
            "installModes": modes(converts),
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [{
                        "name": deployment["metadata"]["name"],
                        "label": deployment["metadata"]["labels"],
                        "spec": deployment["spec"],
                    }],
                },
            },
            "customresourcedefinitions": { "owned": owned(&parts.crds) },
        });
        let install = &mut spec["install"]["spec"];
        put(install, "clusterPermissions", cluster);
        put(install, "permissions", namespaced);
        put(&mut spec, "webhookdefinitions", definitions);
        put(&mut spec, "relatedImages", image::related(deployment));
        self.describe(&mut spec);
        Ok(json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {
                "name": format!("{}.v{}", self.package, self.version),
                "annotations": self.annotations(deployment, &parts.crds)?,
                "labels": self.metadata.platforms(),
            },
            "spec": spec,
        }))
    }

    /// Lets OLM decide which namespaces are watched, and supply the certificate.
    fn adapt(deployment: &mut Value, has_webhooks: bool) {
        let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        let variable = json!({ "name": "WATCH_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": TARGETS } } });
        match container["env"].as_array_mut() {
            Some(variables) => {
                variables.retain(|it| it["name"] != "WATCH_NAMESPACE");
                variables.push(variable);
            }
            None => container["env"] = json!([variable]),
        }
        if let (true, Some(args)) = (has_webhooks, container["args"].as_array_mut()) {
            args.push(json!(format!("--webhook-cert-path={CERTIFICATE}")));
        }
    }

    fn annotations(&self, deployment: &Value, crds: &[Value]) -> anyhow::Result<Value> {
        let examples = self.samples.iter().filter(|sample| is_owned(sample, crds));
        let examples: Vec<&Value> = examples.collect();
        let examples =
            serde_json::to_string_pretty(&examples).context("cannot write the samples")?;
        let capabilities = self
            .metadata
            .capabilities
            .as_deref()
            .unwrap_or("Basic Install");
        let mut annotations = json!({ "alm-examples": examples, "capabilities": capabilities });
        if let Some(image) = image::all(deployment).first() {
            annotations["containerImage"] = json!(image);
        }
        let optional = [
            (
                "categories",
                Some(self.metadata.categories.join(", ")).filter(|it| !it.is_empty()),
            ),
            ("createdAt", self.inputs.created_at.clone()),
            ("olm.skipRange", self.metadata.skip_range.clone()),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                annotations[key] = json!(value);
            }
        }
        Ok(annotations)
    }

    fn describe(&self, spec: &mut Value) {
        let metadata = self.metadata;
        let texts = [
            ("maturity", &metadata.maturity),
            ("minKubeVersion", &metadata.min_kube_version),
            ("replaces", &metadata.replaces),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                spec[key] = json!(text);
            }
        }
        spec["provider"] = json!({ "name": metadata.provider.as_deref().unwrap_or(self.provider) });
        let people = metadata
            .maintainers
            .iter()
            .map(|it| json!({ "name": it.name, "email": it.email }));
        put(spec, "maintainers", people.collect());
        let links = metadata
            .links
            .iter()
            .map(|it| json!({ "name": it.name, "url": it.url }));
        put(spec, "links", links.collect());
        put(
            spec,
            "keywords",
            metadata.keywords.iter().map(|it| json!(it)).collect(),
        );
        put(spec, "icon", metadata.icons());
    }
}

/// Sets a list that is not empty.
fn put(object: &mut Value, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        object[key] = Value::Array(list);
    }
}

/// How the operator can be installed. One whose kinds are converted is for the whole cluster, as the CRDs are.
fn modes(converts: bool) -> Vec<Value> {
    let modes = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ];
    let mode =
        |mode: &str| json!({ "type": mode, "supported": !converts || mode == "AllNamespaces" });
    modes.into_iter().map(mode).collect()
}

/// `customresourcedefinitions.owned`: each version of each kind, with its fields as its doc comments describe them.
fn owned(crds: &[Value]) -> Vec<Value> {
    let mut owned = Vec::new();
    for crd in crds {
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            let schema = &version["schema"]["openAPIV3Schema"];
            let kind = &crd["spec"]["names"]["kind"];
            let mut entry = json!({
                "name": crd["metadata"]["name"],
                "version": version["name"],
                "kind": kind,
                "displayName": kind,
                "description": schema["description"].as_str().unwrap_or_default(),
            });
            put(
                &mut entry,
                "specDescriptors",
                descriptors(&schema["properties"]["spec"]["properties"]),
            );
            put(
                &mut entry,
                "statusDescriptors",
                descriptors(&schema["properties"]["status"]["properties"]),
            );
            owned.push(entry);
        }
    }
    owned
}

fn is_owned(sample: &Value, crds: &[Value]) -> bool {
    let mut kinds = crds
        .iter()
        .map(|crd| (&crd["spec"]["group"], &crd["spec"]["names"]["kind"]));
    let group = sample["apiVersion"]
        .as_str()
        .and_then(|it| it.split_once('/'))
        .map_or("", |(group, _)| group);
    kinds.any(|(owned, kind)| owned == group && *kind == sample["kind"])
}

fn descriptors(properties: &Value) -> Vec<Value> {
    let properties = properties.as_object().into_iter().flatten();
    let described = properties.filter_map(|(path, schema)| {
        let description = schema["description"].as_str()?;
        let mut descriptor = Map::new();
        descriptor.insert("path".to_owned(), json!(path));
        descriptor.insert("displayName".to_owned(), json!(title(path)));
        descriptor.insert("description".to_owned(), json!(description));
        Some(Value::Object(descriptor))
    });
    described.collect()
}

/// `jobTemplate` -> `Job Template`.
fn title(name: &str) -> String {
    let mut title = String::new();
    for (position, letter) in name.char_indices() {
        if position > 0 && letter.is_ascii_uppercase() {
            title.push(' ');
        }
        if position == 0 {
            title.push(letter.to_ascii_uppercase());
        } else {
            title.push(letter);
        }
    }
    title
}
