//! A release of an operator: what its installer applies, and how its Deployment runs it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discovery::{list, text};

/// A release, and how to run it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// What its installer applies.
    pub install: Vec<Value>,
    /// The program, and its arguments.
    pub command: Vec<String>,
    /// The environment of its container.
    pub environment: BTreeMap<String, String>,
    /// What else is in its environment.
    pub references: Vec<Reference>,
    /// The Secrets and `ConfigMap`s in its file system.
    pub mounts: Vec<Mount>,
    /// Where it serves webhooks.
    pub webhook_port: u16,
}

/// A value of a Secret or `ConfigMap` that is a variable of the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The name of the variable; how its name begins if it has no `key`.
    pub variable: String,
    /// `Secret` or `ConfigMap`.
    pub kind: String,
    /// The name of the object, in the operator's namespace.
    pub name: String,
    /// The key of the value; each key is a variable without one.
    pub key: Option<String>,
}

/// A Secret or `ConfigMap` that is a folder of the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// The folder.
    pub path: String,
    /// The only file of it, if the path is that of the file.
    pub sub_path: String,
    /// `Secret` or `ConfigMap`.
    pub kind: String,
    /// The name of the object, in the operator's namespace.
    pub name: String,
}

/// The port of controller-runtime's webhooks.
const WEBHOOK_PORT: u16 = 9443;

/// Where controller-runtime looks for the certificate of webhooks, unless a flag says another folder.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// Variables that decide what else runs or where it connects: a Deployment of a cluster sets none of them.
const FORBIDDEN: [&str; 9] = [
    "PATH",
    "HOME",
    "KUBECONFIG",
    "GODEBUG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "TMPDIR",
];

impl Release {
    /// As the Deployment of the operator runs it, among the objects of its installer. Its arguments are used if the command has none.
    #[must_use]
    pub fn new(install: Vec<Value>, deployment: Option<&Value>, mut command: Vec<String>) -> Self {
        let mut release = Self {
            install,
            webhook_port: WEBHOOK_PORT,
            // The certificate of controller-runtime, wherever else the Deployment has it.
            mounts: vec![Mount {
                path: CERTIFICATES.to_owned(),
                sub_path: String::new(),
                kind: "Secret".to_owned(),
                name: String::new(),
            }],
            ..Self::default()
        };
        if let Some(deployment) = deployment {
            let pod = &deployment["spec"]["template"]["spec"];
            let container = container(pod);
            if command.len() == 1 {
                // After its program, the command may have words of its own, such as a subcommand.
                let more = list(&container["command"]).skip(1);
                let all = more.chain(list(&container["args"]));
                command.extend(all.map(|it| text(it).to_owned()));
            }
            release.environment = environment(deployment, container);
            release.references = references(container);
            release.mounts.extend(mounts(pod, container));
            let mut ports =
                list(&container["ports"]).filter(|it| text(&it["name"]).contains("webhook"));
            let port = ports.find_map(|it| u16::try_from(it["containerPort"].as_u64()?).ok());
            release.webhook_port = port.unwrap_or(WEBHOOK_PORT);
            for argument in &mut command {
                *argument = expanded(argument, &release.environment);
            }
        }
        release.command = command;
        release
    }

    /// The folders that get files of its volumes.
    #[must_use]
    pub fn written(&self) -> Vec<PathBuf> {
        let folder = |it: &Mount| {
            let path = Path::new(&it.path);
            let parent = path.parent().filter(|_| !it.sub_path.is_empty());
            parent.unwrap_or(path).to_owned()
        };
        self.mounts.iter().map(folder).collect()
    }
}

/// The container of the operator: `manager`, or the first that is not a proxy.
fn container(pod: &Value) -> &Value {
    let all = || list(&pod["containers"]);
    let manager = all().find(|it| it["name"] == "manager");
    let other = || all().find(|it| !text(&it["name"]).contains("proxy"));
    manager.or_else(other).unwrap_or(&Value::Null)
}

/// Whether a variable says neither what else runs nor where it connects.
#[must_use]
pub fn is_harmless(name: &str) -> bool {
    let upper = name.to_uppercase();
    let is_forbidden = FORBIDDEN.contains(&upper.as_str())
        || ["LD_", "SSL_", "DYLD_"]
            .iter()
            .any(|it| upper.starts_with(it));
    !is_forbidden
}

fn environment(deployment: &Value, container: &Value) -> BTreeMap<String, String> {
    let namespace = text(&deployment["metadata"]["namespace"]);
    let pod = &deployment["spec"]["template"]["spec"];
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for variable in list(&container["env"]) {
        let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
            Some("metadata.namespace") => Some(namespace.to_owned()),
            Some("metadata.name") => Some(format!("{}-0", text(&deployment["metadata"]["name"]))),
            Some("spec.serviceAccountName") => Some(text(&pod["serviceAccountName"]).to_owned()),
            Some("status.podIP" | "status.hostIP") => Some("127.0.0.1".to_owned()),
            Some("spec.nodeName") => Some("plan".to_owned()),
            _ => variable["value"].as_str().map(|it| expanded(it, &all)),
        };
        let name = text(&variable["name"]);
        if let Some(value) = value.filter(|_| is_harmless(name)) {
            all.insert(name.to_owned(), value);
        }
    }
    all
}

/// The variables from Secrets and `ConfigMap`s, in the order in which later ones replace earlier ones.
fn references(container: &Value) -> Vec<Reference> {
    let of = |from: &Value, suffix: &str, variable: &Value| {
        ["Secret", "ConfigMap"].into_iter().find_map(|kind| {
            let field = format!("{}{}{suffix}", kind[..1].to_lowercase(), &kind[1..]);
            let reference = &from[&field];
            Some(Reference {
                variable: text(variable).to_owned(),
                kind: kind.to_owned(),
                name: reference["name"].as_str()?.to_owned(),
                key: reference["key"].as_str().map(str::to_owned),
            })
        })
    };
    let whole = list(&container["envFrom"]).filter_map(|it| of(it, "Ref", &it["prefix"]));
    let single =
        list(&container["env"]).filter_map(|it| of(&it["valueFrom"], "KeyRef", &it["name"]));
    whole.chain(single).collect()
}

/// `$(NAME)` is the value of a variable, as in a Pod.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("$({name})"), value);
    }
    text
}

fn mounts(pod: &Value, container: &Value) -> Vec<Mount> {
    let mut all = Vec::new();
    for mount in list(&container["volumeMounts"]) {
        let Some(volume) = list(&pod["volumes"]).find(|it| it["name"] == mount["name"]) else {
            continue;
        };
        let secret = volume["secret"]["secretName"]
            .as_str()
            .map(|name| ("Secret", name));
        let config = volume["configMap"]["name"]
            .as_str()
            .map(|name| ("ConfigMap", name));
        if let Some((kind, name)) = secret.or(config) {
            all.push(Mount {
                path: text(&mount["mountPath"]).to_owned(),
                sub_path: text(&mount["subPath"]).to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment() -> Value {
        json!({
            "metadata": { "namespace": "crew-system", "name": "crew" },
            "spec": { "template": { "spec": {
                "serviceAccountName": "crew",
                "containers": [
                    { "name": "kube-rbac-proxy", "args": ["--upstream"] },
                    {
                        "name": "operator",
                        "command": ["/operator", "manager"],
                        "args": ["--leader-elect", "--namespace=$(POD_NAMESPACE)"],
                        "ports": [{ "name": "webhook-server", "containerPort": 9876 }],
                        "envFrom": [{ "prefix": "DB_", "secretRef": { "name": "database" } }],
                        "env": [
                            { "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                            { "name": "FLEET", "valueFrom": { "configMapKeyRef": { "name": "settings", "key": "fleet" } } },
                            { "name": "LD_PRELOAD", "value": "/tmp/x.so" },
                            { "name": "https_proxy", "value": "http://example.com" },
                        ],
                        "volumeMounts": [
                            { "name": "certificate", "mountPath": "/etc/webhook" },
                            { "name": "settings", "mountPath": "/settings.yaml", "subPath": "settings.yaml" },
                            { "name": "scratch", "mountPath": "/scratch" },
                        ],
                    },
                ],
                "volumes": [
                    { "name": "certificate", "secret": { "secretName": "webhook" } },
                    { "name": "settings", "configMap": { "name": "settings" } },
                    { "name": "scratch", "emptyDir": {} },
                ],
            } } },
        })
    }

    #[test]
    fn a_release_runs_as_its_deployment_says() {
        let command = vec!["/manager".to_owned()];
        let release = Release::new(Vec::new(), Some(&deployment()), command);
        assert_eq!(
            release.command,
            [
                "/manager",
                "manager",
                "--leader-elect",
                "--namespace=crew-system"
            ]
        );
        // Variables that say what runs, or where it connects, are no part of it.
        let namespace = ("POD_NAMESPACE".to_owned(), "crew-system".to_owned());
        assert_eq!(release.environment, BTreeMap::from([namespace]));
        let reference = |variable: &str, kind: &str, name: &str, key: Option<&str>| Reference {
            variable: variable.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            key: key.map(str::to_owned),
        };
        let expected = [
            reference("DB_", "Secret", "database", None),
            reference("FLEET", "ConfigMap", "settings", Some("fleet")),
        ];
        assert_eq!(release.references, expected);
        assert_eq!(release.webhook_port, 9876);
        let written = [CERTIFICATES, "/etc/webhook", "/"].map(PathBuf::from);
        assert_eq!(release.written(), written);
    }

    #[test]
    fn arguments_of_the_command_replace_those_of_the_deployment() {
        let command = vec!["/manager".to_owned(), "--leader-elect=false".to_owned()];
        let release = Release::new(Vec::new(), Some(&deployment()), command.clone());
        assert_eq!(release.command, command);
    }
}
