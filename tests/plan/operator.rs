//! An operator in several releases, for the tests of `kbr plan`: what the next one does to a `Captain` is in the name of that.
//!
//! `RELEASE` is 1, 2, `defaults`, `fights` or `ends`. Its argument `install` prints what installs it.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use clap::Parser;
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::Job,
    core::v1::{ConfigMap, Secret},
};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, CustomResource, CustomResourceExt, ResourceExt};
use manager::{Action, Context, Manager, Options, from_json, kind, metadata, webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The desired state of a captain.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus"
)]
struct CaptainSpec {
    /// Set by release 1, dropped by the CRD of release 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rank: Option<String>,
    /// Set by the webhook of the release `defaults`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fleet: Option<String>,
}

/// The desired state of a ship, whose version is not the one that clients of its group should use.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1alpha1",
    kind = "Ship",
    namespaced
)]
struct ShipSpec {}

/// The observed state of a captain.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CaptainStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed_release: Option<String>,
}

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some("install") {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": install() });
        for object in list["items"].as_array().into_iter().flatten() {
            println!("---\n{object}");
        }
        return ExitCode::SUCCESS;
    }
    if env::args().nth(1).as_deref() == Some("spies") {
        spy();
    }
    if release() == "ends" {
        eprintln!("cannot find the configuration of the fleet");
        return ExitCode::from(3);
    }
    let Cli { manager } =
        Cli::parse_from(env::args().filter(|it| it.starts_with('-') || it.starts_with('/')));
    manager::exit(run(manager).await)
}

fn release() -> String {
    env::var("RELEASE").unwrap_or_default()
}

async fn run(options: Options) -> anyhow::Result<()> {
    let mut manager = Manager::new(options, "captains.example.com").await?;
    manager
        .controller::<Captain>("captain")
        .owns(metadata::<ConfigMap>())
        .owns(kind::<Deployment>())
        .reconcile(reconcile);
    if release() == "defaults" {
        manager.defaulter::<Captain>(Defaults);
    }
    if release() == "fights" {
        manager
            .controller::<Captain>("rival")
            .owns(metadata::<ConfigMap>())
            .reconcile(fight);
    }
    manager.run().await
}

/// A webhook that changes every object, as soon as anything else of it is written.
struct Defaults;

impl webhook::Defaulter<Captain> for Defaults {
    async fn default(
        &self,
        captain: &mut Captain,
        _: &webhook::Request<Captain>,
    ) -> Result<(), webhook::Rejection> {
        captain.spec.fleet.get_or_insert_with(|| "home".to_owned());
        Ok(())
    }
}

async fn fight(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    let map = json!({ "metadata": { "name": captain.name_any() }, "data": { "course": "south" } });
    cx.apply(&from_json::<ConfigMap>(map)?).await?;
    Ok(Action::await_change())
}

async fn reconcile(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    let (name, release) = (captain.name_any(), release());
    let is_next = release != "1";
    let namespace = captain.namespace().unwrap_or_default();
    let map = |name: &str, data: Value| -> anyhow::Result<ConfigMap> {
        from_json(json!({ "metadata": { "name": name }, "data": data }))
    };
    match name.as_str() {
        "image" => {
            let image = if is_next { "helm:1.5" } else { "helm:1.4" };
            cx.apply(&deployment(&name, image, &json!({ "captain": name }))?)
                .await?;
        }
        "rollout" if is_rolled_out(&cx, &name, is_next).await? => {
            cx.apply(&map("rollout-done", json!({ "course": "north" }))?)
                .await?;
        }
        "rollout" => {}
        "selector" => {
            let labels = if is_next {
                json!({ "captain": name, "release": "2" })
            } else {
                json!({ "captain": name })
            };
            cx.apply(&deployment(&name, "helm:1.4", &labels)?).await?;
        }
        "claims" => {
            cx.apply(&stateful_set(&name, if is_next { "2Gi" } else { "1Gi" })?)
                .await?;
        }
        "renamed" => {
            let (now, before) = if is_next {
                ("renamed-course", "renamed-map")
            } else {
                ("renamed-map", "renamed-course")
            };
            cx.apply(&map(now, json!({ "course": "north" }))?).await?;
            delete(
                &Api::<ConfigMap>::namespaced(cx.client(), &namespace),
                before,
            )
            .await?;
        }
        // All children get other names.
        "moved" => {
            let (now, before) = if is_next {
                ("captain-moved", "moved")
            } else {
                ("moved", "captain-moved")
            };
            cx.apply(&map(now, json!({ "course": "north" }))?).await?;
            let labels = json!({ "captain": now });
            cx.apply(&deployment(now, "helm:1.4", &labels)?).await?;
            cx.apply(&stateful_set(now, "1Gi")?).await?;
            let (client, namespace) = (cx.client(), &*namespace);
            delete::<ConfigMap>(&Api::namespaced(client.clone(), namespace), before).await?;
            delete::<Deployment>(&Api::namespaced(client.clone(), namespace), before).await?;
            delete::<StatefulSet>(&Api::namespaced(client, namespace), before).await?;
        }
        "sails" if is_next => {
            let ship = json!({ "metadata": { "name": name }, "spec": {} });
            cx.apply(&from_json::<Ship>(ship)?).await?;
        }
        "removed" if is_next => {
            let maps = Api::<ConfigMap>::namespaced(cx.client(), &namespace);
            delete(&maps, &name).await?;
        }
        "keys" if is_next => {
            let keys = json!({ "metadata": { "name": name }, "stringData": { "key": "planted-in-the-operator" } });
            cx.apply(&from_json::<Secret>(keys)?).await?;
        }
        "recreated" => {
            let jobs = Api::<Job>::namespaced(cx.client(), &namespace);
            let wanted = job(&name, if is_next { "init:2" } else { "init:1" })?;
            let template = |job: &Job| {
                serde_json::to_value(&job.spec).unwrap_or_default()["template"]["spec"]["containers"][0]["image"].clone()
            };
            if let Some(found) = jobs.get_opt(&name).await?
                && template(&found) != template(&wanted)
            {
                delete(&jobs, &name).await?;
            }
            cx.apply(&wanted).await?;
        }
        // The next release does not know the finalizer of the second one, and nothing removes it any more.
        "finalized" | "refinalized" if is_next => {
            finalize(&captain, &cx, "crew.example.com/helm").await?;
        }
        "refinalized" => finalize(&captain, &cx, "crew.example.com/anchor").await?,
        _ => {
            let map = map(&name, json!({ "course": "north" }))?;
            cx.apply(&map).await?;
        }
    }
    if release == "defaults" {
        let seen =
            json!({ "metadata": { "annotations": { "crew.example.com/release": release } } });
        patch(&captain, &cx, seen).await?;
    }
    cx.status(|status| status.observed_release = Some(release));
    Ok(Action::await_change())
}

/// Applies a Deployment; whether the next release of it runs.
async fn is_rolled_out(cx: &Context<Captain>, name: &str, is_next: bool) -> anyhow::Result<bool> {
    let image = if is_next { "helm:1.5" } else { "helm:1.4" };
    let wanted = deployment(name, image, &json!({ "captain": name }))?;
    let found = cx.apply(&wanted).await?;
    let status = found.status.as_ref();
    let is_current = status.and_then(|it| it.observed_generation) == found.metadata.generation;
    let updated = status.and_then(|it| it.updated_replicas);
    let ready = status.and_then(|it| it.available_replicas);
    Ok(is_next && is_current && (updated, ready) == (Some(2), Some(2)))
}

async fn finalize(captain: &Captain, cx: &Context<Captain>, name: &str) -> anyhow::Result<()> {
    let mut all = captain.finalizers().to_vec();
    if all.iter().any(|it| it == name) {
        return Ok(());
    }
    all.push(name.to_owned());
    patch(captain, cx, json!({ "metadata": { "finalizers": all } })).await
}

async fn patch(captain: &Captain, cx: &Context<Captain>, changes: Value) -> anyhow::Result<()> {
    let namespace = captain.namespace().unwrap_or_default();
    let captains = Api::<Captain>::namespaced(cx.client(), &namespace);
    let params = PatchParams::default();
    captains
        .patch(&captain.name_any(), &params, &Patch::Merge(changes))
        .await?;
    Ok(())
}

async fn delete<K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned>(
    api: &Api<K>,
    name: &str,
) -> anyhow::Result<()> {
    match api.delete(name, &DeleteParams::background()).await {
        Err(kube::Error::Api(error)) if error.code == 404 => Ok(()),
        result => Ok(result.map(drop)?),
    }
}

fn pod(image: &str, labels: &Value) -> Value {
    json!({
        "metadata": { "labels": labels },
        "spec": { "containers": [{ "name": "helm", "image": image }] },
    })
}

fn deployment(name: &str, image: &str, labels: &Value) -> anyhow::Result<Deployment> {
    from_json(json!({
        "metadata": { "name": name },
        "spec": { "replicas": 2, "selector": { "matchLabels": labels }, "template": pod(image, labels) },
    }))
}

fn stateful_set(name: &str, storage: &str) -> anyhow::Result<StatefulSet> {
    let labels = json!({ "captain": name });
    from_json(json!({
        "metadata": { "name": name },
        "spec": {
            "serviceName": name,
            "selector": { "matchLabels": labels },
            "template": pod("helm:1.4", &labels),
            "volumeClaimTemplates": [{
                "metadata": { "name": "logs" },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": storage } } },
            }],
        },
    }))
}

fn job(name: &str, image: &str) -> anyhow::Result<Job> {
    let mut template = pod(image, &json!({}));
    template["spec"]["restartPolicy"] = json!("Never");
    from_json(json!({ "metadata": { "name": name }, "spec": { "template": template } }))
}

/// What installs this release. The CRD of release 2 has lost a field, and requires a new one.
fn install() -> Vec<Value> {
    let mut crd = json!(Captain::crd());
    if release() == "2" {
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let spec = &mut schema["properties"]["spec"];
        spec["required"] = json!(["ship"]);
        spec["properties"]["ship"] = json!({ "type": "string" });
        let fields = spec["properties"].as_object_mut();
        fields.map(|fields| fields.remove("rank"));
    }
    let meta = |name: &str| json!({ "name": name, "namespace": "crew-system" });
    let rules = [
        ("crew.example.com", "captains", "get list watch patch"),
        ("crew.example.com", "captains/status", "patch"),
        ("crew.example.com", "ships", "get list watch create patch"),
        ("apps", "deployments", "get list watch create patch delete"),
        ("apps", "statefulsets", "get list watch create patch delete"),
        ("batch", "jobs", "get list watch create patch delete"),
        ("", "configmaps", "get list watch create patch delete"),
        ("", "secrets", "get list watch create patch"),
        ("coordination.k8s.io", "leases", "get create patch update"),
        ("events.k8s.io", "events", "create patch"),
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            "get list watch patch",
        ),
    ];
    let rules = rules.map(|(group, resource, verbs)| {
        let verbs: Vec<&str> = verbs.split(' ').collect();
        json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
    });
    let env = BTreeMap::from([("name", "RELEASE".to_owned()), ("value", release())]);
    let mut args = vec![
        "--leader-elect".to_owned(),
        "--metrics-bind-address=0".to_owned(),
    ];
    // Without a sandbox, the port must be free.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let port = port.map_or(9443, |it| it.port());
    if release() == "defaults" {
        args.push("--webhook-certificate=self-managed".to_owned());
        args.push(format!("--webhook-port={port}"));
    }
    let mut all = vec![
        crd,
        json!(Ship::crd()),
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "crew-system" } }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("crew") }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "crew" }, "rules": rules }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "crew" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crew" },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "crew-system", "name": "crew" }],
        }),
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("crew"), "spec": {
            "selector": { "matchLabels": { "app": "crew" } },
            "template": { "metadata": { "labels": { "app": "crew" } }, "spec": {
                "serviceAccountName": "crew",
                "containers": [{
                    "name": "manager", "image": "crew", "env": [env], "args": args,
                    "ports": [{ "name": "webhook-server", "containerPort": port }],
                }],
            } },
        } }),
    ];
    if release() == "defaults" {
        all.extend(webhooks());
    }
    all
}

/// What lets the API server call the webhook.
fn webhooks() -> [Value; 2] {
    let service = json!({ "namespace": "crew-system", "name": "captains-webhook-service", "path": "/mutate-crew-example-com-v1-captain" });
    let rule = json!({ "apiGroups": ["crew.example.com"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["captains"] });
    [
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": service["name"], "namespace": "crew-system" }, "spec": {
            "selector": { "app": "crew" },
            "ports": [{ "port": 443, "targetPort": "webhook-server" }],
        } }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": "captains-mutating-webhook-configuration" },
            "webhooks": [{
                "name": "captains.crew.example.com", "clientConfig": { "service": service }, "rules": [rule],
                "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            }],
        }),
    ]
}

/// Tries to reach what a sandbox must hide, and says in its log what it has reached.
fn spy() {
    let address = |name: &str| env::args().find_map(|it| it.strip_prefix(name).map(str::to_owned));
    let limit = Duration::from_millis(500);
    if let Some(tcp) = address("tcp=").and_then(|it| it.parse().ok())
        && TcpStream::connect_timeout(&tcp, limit).is_ok()
    {
        println!("reached tcp");
    }
    if let Some(udp) = address("udp=") {
        let socket = UdpSocket::bind("0.0.0.0:0").ok();
        drop(socket.map(|it| it.send_to(b"reached", udp)));
    }
    if let Some(name) = address("name=") {
        // It exists, if anyone answers.
        drop((name.as_str(), 80).to_socket_addrs());
    }
    if let Some(unix) = address("unix=")
        && UnixStream::connect(unix).is_ok()
    {
        println!("reached unix");
    }
    if let Some(file) = address("file=")
        && fs::read(file).is_ok()
    {
        println!("reached file");
    }
    if let Some(variable) = address("variable=")
        && env::var(variable).is_ok()
    {
        println!("reached variable");
    }
    if let Some(write) = address("write=")
        && fs::write(write, "reached").is_ok()
    {
        println!("reached write");
    }
}
