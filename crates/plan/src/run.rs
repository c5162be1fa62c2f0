//! Runs a release until it is idle.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kbr_envtest::client::Client;
use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::{exec, logs};
use kbr_manifests::overlay::Identity;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::activity::{Activity, Requests};
use super::confine::SHOWN;
use super::difference::{Field, differing};
use super::discovery::{self, Served, objects, text};
use super::load::folder;
use super::release::Release;
use super::report::{Failed, Unsettled};
use super::state::{self, State, Versions};
use super::webhooks::Webhooks;

/// How often to look.
const TICK: Duration = Duration::from_millis(100);

/// How long an operator may take to stop.
const GRACE: Duration = Duration::from_secs(10);

/// How many objects are named that never settle, and how long to look at each.
const MOST: usize = 3;
const LOOK: Duration = Duration::from_secs(10);

/// How a run ended.
pub struct Ended {
    /// What it requested.
    pub requests: Requests,
    /// The state before workloads were rolled out, if they were.
    pub at_once: Option<State>,
    /// Why it did not become idle.
    pub failed: Option<Failed>,
    /// Its last lines.
    pub log: String,
    /// What the API server showed at the end, while it still ran: it may convert objects.
    pub state: State,
    /// The kinds that could not be read.
    pub unread: Vec<String>,
}

/// How a release is run.
pub struct Runner<'a> {
    pub plane: &'a mut ControlPlane,
    /// Whether the controllers of workloads go on once the release is idle without them.
    pub rollouts: bool,
    pub client: &'a Client,
    pub activity: &'a Activity,
    pub kinds: &'a [Served],
    pub versions: &'a Versions,
    pub operator: &'a Identity,
    /// The audit log.
    pub audit: &'a Path,
    /// How long nothing may change until it is idle.
    pub quiet: Duration,
    /// How long it may take.
    pub limit: Duration,
    /// Whether this process and the operator have a file system and a network of their own.
    pub confined: bool,
}

impl Runner<'_> {
    /// Runs a release that is installed, from the state `before`.
    ///
    /// # Errors
    /// It cannot be started, or a server does not answer.
    pub fn run(
        &mut self,
        release: &Release,
        webhooks: &Webhooks,
        before: &State,
    ) -> anyhow::Result<Ended> {
        let mut requests = Requests::from_now(self.audit, self.operator);
        let log = self.plane.folder().join("operator.log");
        let environment = self.environment(release, webhooks)?;
        let (program, arguments) = release.command.split_first().context("no command given")?;
        let output = File::create(&log)?;
        let mut process = exec::ending_with_us(program, Signal::KILL)?
            .args(arguments)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start `{program}`"))?;
        self.activity.restart();
        let mut failed = self.wait(&mut process, program, &mut requests)?;
        let mut unread = Vec::new();
        let mut state = state::read(self.client, self.versions, before, &mut unread)?;
        let mut at_once = None;
        if self.rollouts && failed.is_none() {
            self.activity.restart();
            self.plane.pause_controllers(false)?;
            failed = self.wait(&mut process, program, &mut requests)?;
            self.plane.pause_controllers(true)?;
            let later = state::read(self.client, self.versions, &state, &mut unread)?;
            at_once = Some(std::mem::replace(&mut state, later));
        }
        exec::stop(&mut process, GRACE);
        requests.read()?;
        self.release_leases()?;
        Ok(Ended {
            requests,
            at_once,
            failed,
            log: logs::tail(&log, 20),
            state,
            unread,
        })
    }

    fn wait(
        &self,
        process: &mut Child,
        program: &str,
        requests: &mut Requests,
    ) -> anyhow::Result<Option<Failed>> {
        let started = Instant::now();
        loop {
            if let Some(status) = process.try_wait()? {
                let why = match status.code() {
                    // Of a shell, and of kbr: what it was to run cannot be run, or is not there.
                    Some(126 | 127) if self.confined => not_run(program),
                    _ => status.to_string(),
                };
                return Ok(Some(Failed::Ended(why)));
            }
            requests.read()?;
            let is_idle = requests.has_begun(self.quiet) && !self.activity.is_within(self.quiet);
            if is_idle {
                return Ok(None);
            }
            if started.elapsed() >= self.limit {
                return Ok(Some(match requests.not_begun() {
                    Some(why) => Failed::Ended(why.to_owned()),
                    None => Failed::NeverIdle(self.unsettled()?),
                }));
            }
            thread::sleep(TICK);
        }
    }

    /// The next release need not wait until the Leases of this one expire.
    fn release_leases(&self) -> anyhow::Result<()> {
        let path = "/apis/coordination.k8s.io/v1/leases";
        let get = |path: &str| Ok(serde_json::from_reader(self.client.get(path)?)?);
        for lease in objects(&get, path, "")? {
            let meta = &lease["metadata"];
            if text(&meta["namespace"]) != "kube-system" {
                let path = discovery::path(
                    "coordination.k8s.io",
                    "v1",
                    "leases",
                    text(&meta["namespace"]),
                );
                let path = format!("{path}/{}", text(&meta["name"]));
                self.client.delete(&path, &json!({}))?;
            }
        }
        Ok(())
    }

    /// What still changes, and how.
    fn unsettled(&self) -> anyhow::Result<Vec<Unsettled>> {
        let mut all = Vec::new();
        for (key, writes) in self.activity.busiest(self.quiet).into_iter().take(MOST) {
            let fields = match path(self.kinds, &key) {
                Some(path) => self.oscillation(&path)?,
                None => Vec::new(),
            };
            all.push(Unsettled {
                object: key,
                writes,
                fields,
            });
        }
        Ok(all)
    }

    /// The fields that change from one version of an object to the next.
    fn oscillation(&self, path: &str) -> anyhow::Result<Vec<Field>> {
        let started = Instant::now();
        let mut before: Option<Value> = None;
        while started.elapsed() < LOOK {
            let Some(mut now) = self.client.find(path, "application/json")? else {
                return Ok(Vec::new());
            };
            state::strip(&mut now);
            let fields = before
                .map(|before| differing(&before, &now))
                .unwrap_or_default();
            if !fields.is_empty() {
                return Ok(fields);
            }
            before = Some(now);
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Vec::new())
    }
}

/// Why the program cannot be run in the sandbox.
fn not_run(program: &str) -> String {
    let text = fs::read(program).unwrap_or_default();
    let first = text.split(|it| *it == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let interpreter = first.strip_prefix("#!").unwrap_or_default();
    let interpreter = interpreter.split_whitespace().next();
    let missing = match interpreter.filter(|it| !Path::new(it).exists()) {
        Some(interpreter) => format!("`{interpreter}`, which is to run `{program}`, is not there"),
        None => format!("`{program}`, or what it runs, cannot be run"),
    };
    format!("{missing}: {SHOWN}; copy what it needs into the current folder, or pass --unconfined")
}

/// The path of the object with this key of etcd.
fn path(kinds: &[Served], key: &str) -> Option<String> {
    kinds.iter().find_map(|kind| {
        let custom = format!("{}/{}", kind.group, kind.plural);
        let folders = [custom, folder(&kind.group, &kind.plural, &BTreeSet::new())];
        let mut rest = folders
            .iter()
            .filter_map(|it| key.strip_prefix(it.as_str())?.strip_prefix('/'));
        let (namespace, name) = match (kind.namespaced, rest.next()?) {
            (true, rest) => rest.split_once('/')?,
            (false, name) => ("", name),
        };
        (!name.contains('/')).then(|| format!("{}/{name}", kind.path(namespace)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_whose_interpreter_is_not_in_the_sandbox_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("manager").display().to_string();
        fs::write(&program, "#!/root/.venv/bin/python -u\n").unwrap();
        let expected = format!(
            "`/root/.venv/bin/python`, which is to run `{program}`, is not there: the sandbox shows"
        );
        assert!(not_run(&program).starts_with(&expected));
        fs::write(&program, "#!/bin/sh\n").unwrap();
        assert!(not_run(&program).starts_with(&format!("`{program}`, or what it runs,")));
    }

    #[test]
    fn the_key_of_an_object_leads_to_its_path() {
        let kind = |group: &str, plural: &str, namespaced| Served {
            group: group.to_owned(),
            version: "v1".to_owned(),
            plural: plural.to_owned(),
            kind: String::new(),
            namespaced,
            preferred: true,
        };
        let kinds = [
            kind("", "services", true),
            kind("", "nodes", false),
            kind("apps", "deployments", true),
            kind("crew.example.com", "captains", true),
        ];
        let path = |key: &str| path(&kinds, key).unwrap_or_default();
        assert_eq!(
            path("services/specs/a/b"),
            "/api/v1/namespaces/a/services/b"
        );
        assert_eq!(path("minions/a"), "/api/v1/nodes/a");
        assert_eq!(
            path("deployments/a/b"),
            "/apis/apps/v1/namespaces/a/deployments/b"
        );
        assert_eq!(
            path("crew.example.com/captains/a/b"),
            "/apis/crew.example.com/v1/namespaces/a/captains/b"
        );
        assert_eq!(path("other/a"), "");
    }
}
