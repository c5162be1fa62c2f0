//! The status of a cluster.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use super::state::{self, State};
use crate::control::{self, Server};

/// The number of servers of a running cluster.
const SERVERS: usize = 5;

/// What is known of a cluster.
#[derive(Debug)]
pub struct Status {
    name: String,
    pub(super) state: State,
    folder: PathBuf,
    /// `None` if its supervisor does not run.
    servers: Option<Vec<Server>>,
}

impl Status {
    /// The status of the cluster `name`; `None` if it does not exist.
    pub fn of(name: &str) -> anyhow::Result<Option<Self>> {
        let folder = state::folder(name)?;
        let Some(state) = State::find(&folder)? else {
            return Ok(None);
        };
        let servers = control::status(&folder).context("cannot reach the cluster's supervisor")?;
        Ok(Some(Self {
            name: name.to_owned(),
            state,
            folder,
            servers,
        }))
    }

    /// Whether its supervisor runs.
    pub fn is_supervised(&self) -> bool {
        self.servers.is_some()
    }

    /// Whether all its servers run, and it has been ready.
    pub fn is_running(&self) -> bool {
        let complete = |servers: &Vec<Server>| {
            servers.len() == SERVERS && servers.iter().all(|server| server.ended.is_none())
        };
        self.servers.as_ref().is_some_and(complete) && state::is_ready(&self.folder)
    }

    /// One word, or the servers that have ended.
    fn summary(&self) -> String {
        let Some(servers) = &self.servers else {
            return if self.state.keep { "stopped" } else { "killed" }.to_owned();
        };
        let ended = servers.iter().filter_map(|server| {
            let status = server.ended.as_ref()?;
            Some(format!("{} ended ({status})", server.name))
        });
        let ended: Vec<String> = ended.collect();
        match ended.join(", ") {
            ended if !ended.is_empty() => ended,
            _ if self.is_running() => "running".to_owned(),
            _ => "starting".to_owned(),
        }
    }

    /// A line for people.
    pub fn line(&self) -> String {
        let State {
            kubernetes,
            nodes,
            ports: [.., port],
            ..
        } = &self.state;
        format!(
            "{:<20} {:<10} Kubernetes {kubernetes}, {nodes} nodes, https://127.0.0.1:{port}\n",
            self.name,
            self.summary()
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let servers = self.servers.iter().flatten();
        let servers = servers
            .map(|Server { name, pid, ended }| json!({ "name": name, "pid": pid, "ended": ended }));
        json!({
            "name": self.name,
            "running": self.is_running(),
            "kubernetes": self.state.kubernetes,
            "nodes": self.state.nodes,
            "keep": self.state.keep,
            "server": format!("https://127.0.0.1:{}", self.state.ports[2]),
            "kubeconfig": self.folder.join("kubeconfig"),
            "logs": self.folder,
            "servers": servers.collect::<Vec<_>>(),
        })
    }
}
