//! Watches objects and events for the screen: those of the operator's kinds, what they own, and all events.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;
use serde_json::Value;

use super::screen::{Event, Object, Update, controller};
use crate::envtest::client::Client;
use crate::envtest::exec;
use crate::project::Project;

/// The pause before a watch that has ended begins again.
const RETRY: Duration = Duration::from_secs(2);

/// The kinds that controllers usually create, of which only owned objects are shown: kind and path.
const CHILDREN: [(&str, &str); 5] = [
    ("Deployment", "/apis/apps/v1/deployments"),
    ("StatefulSet", "/apis/apps/v1/statefulsets"),
    ("DaemonSet", "/apis/apps/v1/daemonsets"),
    ("CronJob", "/apis/batch/v1/cronjobs"),
    ("Job", "/apis/batch/v1/jobs"),
];

const EVENTS: &str = "/apis/events.k8s.io/v1/events";

/// How to reach the API server.
#[derive(Clone, Debug)]
pub enum Source {
    /// kbr's own.
    Own(Client),
    /// That of the user's kubeconfig, which kubectl reads.
    Kubectl,
}

/// The watches that run. They end with kbr, or once nobody receives their updates.
#[derive(Debug)]
pub struct Observer {
    source: Source,
    updates: Sender<Update>,
    /// The paths that are watched.
    watched: BTreeSet<String>,
}

/// The objects of a kind.
#[derive(Clone, Debug)]
struct Observed {
    kind: String,
    path: String,
    /// The kinds and groups of the owners whose children are shown; `None` shows every object.
    owners: Option<Vec<(String, String)>>,
}

impl Observer {
    pub fn new(source: Source, updates: Sender<Update>) -> Self {
        Self {
            source,
            updates,
            watched: BTreeSet::new(),
        }
    }

    /// Watches the kinds of the project that are not watched yet.
    pub fn observe(&mut self, project: &Project) {
        for observed in observed(project) {
            if self.watched.insert(observed.path.clone()) {
                let (source, updates) = (self.source.clone(), self.updates.clone());
                thread::spawn(move || {
                    // Fails once the screen is closed.
                    while observed.watch(&source, &updates).is_ok() {
                        thread::sleep(RETRY);
                    }
                });
            }
        }
    }
}

/// What is watched for a project.
fn observed(project: &Project) -> Vec<Observed> {
    let mut owners = Vec::new();
    let mut all = Vec::new();
    for target in project.targets() {
        let (group, version, plural) = (&target.full_group, &target.version, &target.plural);
        let owner = (target.kind.clone(), group.clone());
        if owners.contains(&owner) {
            continue;
        }
        owners.push(owner);
        let path = match group.as_str() {
            "" => format!("/api/{version}/{plural}"),
            group => format!("/apis/{group}/{version}/{plural}"),
        };
        all.push(Observed {
            kind: target.kind.clone(),
            path,
            owners: None,
        });
    }
    let children = CHILDREN.iter().map(|(kind, path)| Observed {
        kind: (*kind).to_owned(),
        path: (*path).to_owned(),
        owners: Some(owners.clone()),
    });
    all.extend(children);
    all.push(Observed {
        kind: "Event".to_owned(),
        path: EVENTS.to_owned(),
        owners: None,
    });
    all
}

impl Observed {
    /// Reports the objects, and each change, until the API server ends the watch. Fails if nobody receives the updates.
    fn watch(&self, source: &Source, updates: &Sender<Update>) -> anyhow::Result<()> {
        let kind = self.kind.clone();
        let mut stream = match source.watch(&self.path) {
            Ok(stream) => stream,
            Err(_) if self.is_optional() => return Ok(()),
            Err(error) => {
                let reason = format!("cannot be watched: {error:#}");
                return Ok(updates.send(Update::Unreadable { kind, reason })?);
            }
        };
        if !self.is_optional() {
            updates.send(Update::Listing { kind })?;
        }
        let stream = BufReader::new(&mut stream);
        let changes = serde_json::Deserializer::from_reader(stream).into_iter::<Value>();
        // A stream that breaks off has ended.
        for change in changes.map_while(Result::ok) {
            if let Some(update) = self.update(&change) {
                updates.send(update)?;
            }
        }
        Ok(())
    }

    /// Whether the screen shows the kind only if there are objects.
    fn is_optional(&self) -> bool {
        self.owners.is_some() || self.path == EVENTS
    }

    fn update(&self, change: &Value) -> Option<Update> {
        let object = &change["object"];
        let shown = || match &self.owners {
            None => true,
            Some(owners) => controller(object).is_some_and(|owner| owners.contains(&owner)),
        };
        let kind = self.kind.clone();
        match change["type"].as_str()? {
            "ADDED" | "MODIFIED" if self.path == EVENTS => Some(Update::Event(Event::of(object))),
            "ADDED" | "MODIFIED" if shown() => Some(Update::Object {
                kind,
                object: Object::of(object),
            }),
            "DELETED" if shown() && self.path != EVENTS => Some(Update::Deleted {
                kind,
                name: Object::of(object).name,
            }),
            _ => None,
        }
    }
}

/// The body of a watch.
enum Stream {
    Own(Box<dyn Read>),
    Kubectl(Child, ChildStdout),
}

impl Source {
    /// A watch that begins with the objects that exist.
    fn watch(&self, path: &str) -> anyhow::Result<Stream> {
        let path = format!("{path}?watch=1");
        match self {
            Source::Own(client) => Ok(Stream::Own(Box::new(client.get(&path)?))),
            Source::Kubectl => {
                let mut kubectl = exec::ending_with_us("kubectl", Signal::KILL)?
                    .args(["get", "--raw", &path])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .context("cannot run kubectl")?;
                let stdout = kubectl.stdout.take().context("kubectl has no output")?;
                Ok(Stream::Kubectl(kubectl, stdout))
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Own(body) => body.read(buffer),
            Stream::Kubectl(_, stdout) => stdout.read(buffer),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Stream::Kubectl(kubectl, _) = self {
            // It may have ended.
            let _ = kubectl.kill();
            let _ = kubectl.wait();
        }
    }
}
