//! The command lines of the servers. etcd and kube-apiserver have the flags of controller-runtime's envtest, and additional ones
//! with reasons.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::Context;
use serde_json::{Value, json};

use super::assets::Assets;
use super::setup::Setup;
use super::{audit, egress, etcd, stages};

/// A server: the name of its program, and its arguments.
#[derive(Debug)]
pub struct Program {
    /// In the folder of the programs.
    pub name: &'static str,
    /// Without the program itself.
    pub args: Vec<OsString>,
}

/// The ports of etcd for clients, of etcd for peers, and of kube-apiserver.
pub type Ports = [u16; 3];

impl Setup {
    /// A control plane in `folder`.
    pub fn new(assets: &Assets, folder: &Path, logs: &Path, ports: Ports) -> Self {
        let [etcd_port, peer_port, port] = ports;
        Self {
            assets: assets.folder.clone(),
            folder: folder.to_owned(),
            logs: logs.to_owned(),
            audit: None,
            etcd_port,
            peer_port,
            port,
            context: "envtest".to_owned(),
            cluster: false,
            clone: false,
            keep: false,
        }
    }

    /// The URL of the API server.
    pub fn server(&self) -> String {
        loopback(self.port)
    }

    pub(super) fn etcd_server(&self) -> String {
        loopback(self.etcd_port)
    }

    /// How the keys of this API server begin.
    pub(super) fn etcd_prefix(&self) -> PathBuf {
        Path::new("/").join(self.folder.file_name().unwrap_or_default())
    }

    /// The arguments that make the same setup in another process.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args = vec![
            flag("--assets", &self.assets),
            flag("--folder", &self.folder),
            flag("--logs", &self.logs),
            flag("--etcd-port", self.etcd_port.to_string()),
            flag("--peer-port", self.peer_port.to_string()),
            flag("--port", self.port.to_string()),
            flag("--context", &self.context),
        ];
        args.extend(self.cluster.then(|| "--cluster".into()));
        args.extend(self.clone.then(|| "--clone".into()));
        args.extend(self.keep.then(|| "--keep".into()));
        args.extend(self.audit.as_ref().map(|log| flag("--audit", log)));
        args
    }

    /// The log of the program `name`.
    pub fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// etcd and kube-apiserver.
    pub fn control_plane(&self) -> [Program; 2] {
        let [etcd, kube_apiserver] = [self.etcd(), self.kube_apiserver()];
        [
            Program {
                name: "etcd",
                args: etcd,
            },
            Program {
                name: "kube-apiserver",
                args: kube_apiserver,
            },
        ]
    }

    /// The controllers of a cluster, whose files are in its folder when this returns. kube-apiserver must be serving: they end without it.
    pub fn controllers(&self) -> anyhow::Result<[Program; 3]> {
        let stages = stages::write(&self.folder)?;
        Ok([
            Program {
                name: "kube-controller-manager",
                args: self.kube_controller_manager(),
            },
            Program {
                name: "kube-scheduler",
                args: self.kube_scheduler()?,
            },
            Program {
                name: "kwok",
                args: self.kwok(&stages),
            },
        ])
    }

    /// The arguments of etcd.
    fn etcd(&self) -> Vec<OsString> {
        let file = |name| self.folder.join(name);
        let (clients, peers) = (self.etcd_server(), loopback(self.peer_port));
        let mut args = vec![
            flag("--data-dir", file("etcd")),
            flag("--listen-client-urls", &clients),
            flag("--advertise-client-urls", &clients),
            flag("--listen-peer-urls", peers),
            // Every user of this machine can connect to both ports.
            flag("--cert-file", file("etcd.crt")),
            flag("--key-file", file("etcd.key")),
            flag("--trusted-ca-file", file("etcd-ca.crt")),
            "--client-cert-auth=true".into(),
            flag("--peer-cert-file", file("etcd.crt")),
            flag("--peer-key-file", file("etcd.key")),
            flag("--peer-trusted-ca-file", file("etcd-ca.crt")),
            "--peer-client-cert-auth=true".into(),
            flag("--enable-grpc-gateway", self.clone.to_string()),
        ];
        if self.clone {
            // The gateway connects to etcd as a client.
            args.push(flag("--client-cert-file", file("etcd-client.crt")));
            args.push(flag("--client-key-file", file("etcd-client.key")));
            // Objects are larger as JSON than as the API server stores them.
            args.push("--max-request-bytes=33554432".into());
            args.push(flag("--max-txn-ops", etcd::MOST.to_string()));
        }
        if !self.keep {
            // The data is temporary and need not survive a power loss.
            args.push("--unsafe-no-fsync=true".into());
        }
        args
    }

    /// The arguments of kube-apiserver.
    fn kube_apiserver(&self) -> Vec<OsString> {
        let file = |name| self.folder.join(name);
        let mut args = vec![
            flag("--etcd-servers", self.etcd_server()),
            flag("--etcd-cafile", file("etcd-ca.crt")),
            flag("--etcd-certfile", file("etcd-client.crt")),
            flag("--etcd-keyfile", file("etcd-client.key")),
            // Keeps the objects separate if another program's etcd took the port.
            flag("--etcd-prefix", self.etcd_prefix()),
            "--bind-address=127.0.0.1".into(),
            flag("--secure-port", self.port.to_string()),
            // Without these two flags an offline machine has no address to advertise, and the server does not start.
            "--advertise-address=127.0.0.1".into(),
            "--endpoint-reconciler-type=none".into(),
            flag("--cert-dir", &self.folder),
            flag("--tls-cert-file", file("apiserver.crt")),
            flag("--tls-private-key-file", file("apiserver.key")),
            flag("--client-ca-file", file("client-ca.crt")),
            flag(
                "--service-account-issuer",
                format!("https://127.0.0.1:{}/", self.port),
            ),
            flag("--service-account-key-file", file("sa.pub")),
            flag("--service-account-signing-key-file", file("sa.key")),
            "--authorization-mode=RBAC".into(),
            "--allow-privileged=true".into(),
        ];
        if self.clone {
            // The range of kubeadm, which most of the cloned Services are in.
            args.push("--service-cluster-ip-range=10.96.0.0/12".into());
        } else {
            args.push("--service-cluster-ip-range=10.0.0.0/24".into());
            // Some clusters enable it: an operator then needs permissions to set the owner of an existing object, and to
            // set `blockOwnerDeletion`.
            args.push("--enable-admission-plugins=OwnerReferencesPermissionEnforcement".into());
        }
        if self.cluster || self.clone {
            let config = file(egress::CONFIG);
            args.push(flag("--egress-selector-config-file", config));
        }
        if self.clone || !self.cluster {
            // No controller creates the default service account of a namespace.
            args.push("--disable-admission-plugins=ServiceAccount".into());
        }
        if let Some(log) = &self.audit {
            let flags = audit::flags(&self.folder, log);
            args.extend(flags.map(|(name, value)| flag(name, value)));
        }
        args
    }

    /// The arguments of kube-controller-manager.
    fn kube_controller_manager(&self) -> Vec<OsString> {
        let file = |name| self.folder.join(name);
        let mut args = vec![
            flag("--kubeconfig", file("kubeconfig")),
            // With these two, namespaces get their default service account, its CA bundle, and tokens.
            flag("--service-account-private-key-file", file("sa.key")),
            flag("--root-ca-file", file("ca.crt")),
            "--leader-elect=false".into(),
            // No kubelet reports that its node is alive, so without this all nodes are `NotReady` after 50 s. The value is a year.
            "--node-monitor-grace-period=8760h".into(),
            // It need not serve anything.
            "--secure-port=0".into(),
            // Its controllers wait for nothing but this API server, and tests wait for them.
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
        ];
        if self.clone {
            // Only what rolls out workloads: others act on what is missing in a clone, such as nodes, owners, volumes and metrics.
            args.push(flag("--controllers", ROLLOUTS.join(",")));
        }
        args
    }

    /// The arguments of kube-scheduler, whose configuration is in the folder when this returns.
    fn kube_scheduler(&self) -> anyhow::Result<Vec<OsString>> {
        let config = self.folder.join("scheduler.yaml");
        let text = scheduler(&self.folder.join("kubeconfig"), self.clone).to_string();
        fs::write(&config, text).with_context(|| format!("cannot write `{}`", config.display()))?;
        Ok(vec![flag("--config", config), "--secure-port=0".into()])
    }

    /// The arguments of kwok, which reads what to do with nodes and Pods from `stages`.
    fn kwok(&self, stages: &Path) -> Vec<OsString> {
        vec![
            flag("--kubeconfig", self.folder.join("kubeconfig")),
            flag("--config", stages),
            "--manage-all-nodes=true".into(),
            "--node-ip=10.1.0.1".into(),
            "--cidr=10.244.0.0/16".into(),
        ]
    }
}

/// The controllers of workloads.
const ROLLOUTS: [&str; 7] = [
    "deployment-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "disruption-controller",
];

/// The configuration of kube-scheduler. A `clone` has none of the volumes and few of the properties of nodes that Pods ask for, so there a
/// Pod may be anywhere.
fn scheduler(kubeconfig: &Path, clone: bool) -> Value {
    let mut config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig, "qps": 500, "burst": 1000 },
        "leaderElection": { "leaderElect": false },
    });
    if clone {
        let plugin = |name: &str| json!({ "enabled": [{ "name": name }] });
        config["profiles"] = json!([{ "plugins": {
            "multiPoint": { "disabled": [{ "name": "*" }] },
            "queueSort": plugin("PrioritySort"),
            "bind": plugin("DefaultBinder"),
        } }]);
    }
    config
}

fn loopback(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

fn flag(name: &str, value: impl Into<OsString>) -> OsString {
    let mut flag = OsString::from(name);
    flag.push("=");
    flag.push(value.into());
    flag
}

/// Three different ports. They are released when this returns, so another program may take one before the server does.
pub fn free_ports() -> anyhow::Result<Ports> {
    let find = || -> std::io::Result<Ports> {
        let bind = || TcpListener::bind(("127.0.0.1", 0));
        let listeners = [bind()?, bind()?, bind()?];
        let mut ports = [0; 3];
        for (port, listener) in ports.iter_mut().zip(&listeners) {
            *port = listener.local_addr()?.port();
        }
        Ok(ports)
    };
    find().context("no free port on 127.0.0.1")
}

/// Removes the variables of this process from which etcd would read flags.
pub fn without_flags(command: &mut Command) {
    let variables = env::vars_os().map(|(variable, _)| variable);
    for variable in variables.filter(|it| it.to_string_lossy().starts_with("ETCD_")) {
        command.env_remove(variable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Supervisor {
        #[command(flatten)]
        setup: Setup,
    }

    #[test]
    fn the_arguments_of_the_supervisor_give_the_same_setup() {
        let assets = Assets {
            folder: "/a b/assets".into(),
        };
        let mut setup = Setup::new(&assets, Path::new("/tmp/x"), Path::new("--logs"), [1, 2, 3]);
        setup.audit = Some("--an audit.log".into());
        for cluster in [false, true] {
            (setup.cluster, setup.clone, setup.keep) = (cluster, cluster, cluster);
            let args = std::iter::once("supervisor".into()).chain(setup.to_args());
            let parsed = Supervisor::try_parse_from(args).unwrap().setup;
            assert_eq!(format!("{parsed:?}"), format!("{setup:?}"));
        }
    }

    #[test]
    fn the_ports_differ() {
        let [a, b, c] = free_ports().unwrap();
        assert!(a != b && b != c && a != c);
    }
}
