//! What changes in etcd, and what an operator requests: whether it has become idle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kbr_envtest::etcd::Etcd;
use serde::Deserialize;

use super::load::is_noise;

/// The changes of etcd, as a thread notices them.
#[derive(Debug, Default)]
struct Changed {
    last: Option<Instant>,
    /// By key: how often, and when last.
    keys: BTreeMap<String, (u64, Option<Instant>)>,
}

/// Follows etcd from its creation on.
#[derive(Clone, Debug)]
pub struct Activity {
    changed: Arc<Mutex<Changed>>,
}

impl Activity {
    /// Begins to follow.
    ///
    /// # Errors
    /// etcd does not answer.
    pub fn follow(etcd: &Etcd) -> anyhow::Result<Self> {
        let changed: Arc<Mutex<Changed>> = Arc::default();
        let (all, shared) = (etcd.changes()?, changed.clone());
        thread::spawn(move || {
            for change in all.filter(|it| !is_noise(&it.key)) {
                let mut changed = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let now = Some(Instant::now());
                changed.last = now;
                let entry = changed.keys.entry(change.key).or_default();
                *entry = (entry.0 + 1, now);
            }
        });
        Ok(Self { changed })
    }

    /// Whether something has changed within this time.
    pub fn is_within(&self, time: Duration) -> bool {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.last.is_some_and(|at| at.elapsed() < time)
    }

    /// The keys of what has changed within this time, the most often changed ones first, and how often since the start.
    pub fn busiest(&self, time: Duration) -> Vec<(String, u64)> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = changed
            .keys
            .iter()
            .filter(|(_, (_, at))| at.is_some_and(|at| at.elapsed() < time));
        let mut all: Vec<(String, u64)> = recent
            .map(|(key, (count, _))| (key.clone(), *count))
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// Forgets the counts.
    pub fn restart(&self) {
        *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = Changed::default();
    }
}

/// An event of the audit log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    stage: String,
    verb: String,
    user: User,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Status,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

/// The requests of one user in the audit log, as far as it has been read.
#[derive(Debug)]
pub struct Requests {
    log: PathBuf,
    user: String,
    offset: u64,
    /// When it began something: its last new watch, or its leadership. `None` before its first request.
    began: Option<Instant>,
    /// Whether it leads, if it has asked for a Lease.
    leads: Option<bool>,
    /// The writes that the API server refused.
    pub refused: BTreeSet<Refused>,
    /// What its roles do not allow: `list pods`, `create secrets in navy`.
    pub denied: BTreeSet<String>,
}

/// A write that the API server refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// `statefulsets.apps`.
    pub resource: String,
    /// `navy/nemo`; a name that the API server makes is empty.
    pub object: String,
    /// `patch`.
    pub verb: String,
    /// The API server's own words.
    pub message: String,
}

impl Requests {
    /// Those that follow the current end of the log.
    pub fn from_now(log: &Path, user: String) -> Self {
        Self {
            log: log.to_owned(),
            user,
            offset: log.metadata().map_or(0, |it| it.len()),
            began: None,
            leads: None,
            refused: BTreeSet::new(),
            denied: BTreeSet::new(),
        }
    }

    /// Whether it has begun its work, and nothing new within this time. Until it leads, it has not.
    pub fn has_begun(&self, time: Duration) -> bool {
        self.leads != Some(false) && self.began.is_some_and(|at| at.elapsed() >= time)
    }

    /// Why it has not.
    pub fn not_begun(&self) -> Option<&'static str> {
        match (self.began, self.leads) {
            (None, _) => Some("it sent no request"),
            (_, Some(false)) => Some("it did not become the leader"),
            _ => None,
        }
    }

    /// Reads what has been added to the log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read(&mut self) -> anyhow::Result<()> {
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = file.read_until(b'\n', &mut line)?;
            // A line that is being written is read later.
            if line.last() != Some(&b'\n') {
                return Ok(());
            }
            self.offset += read as u64;
            if let Ok(event) = serde_json::from_slice::<Event>(&line) {
                self.add(event);
            }
        }
    }

    fn add(&mut self, event: Event) {
        if event.user.username != self.user {
            return;
        }
        let is_lease = event.object_ref.resource == "leases";
        let is_written = ["create", "update", "patch"].contains(&event.verb.as_str())
            && (200..300).contains(&event.response_status.code);
        let becomes_leader = is_lease && is_written && self.leads != Some(true);
        if is_lease {
            self.leads = Some(becomes_leader || self.leads == Some(true));
        }
        let is_watch = event.verb == "watch" && event.stage == "ResponseStarted";
        if self.began.is_none() || is_watch || becomes_leader {
            self.began = Some(Instant::now());
        }
        if is_lease {
            return;
        }
        let is_denied = event
            .annotations
            .get("authorization.k8s.io/decision")
            .is_some_and(|it| it == "forbid");
        let ObjectRef {
            resource,
            namespace,
            name,
            api_group,
            subresource,
        } = event.object_ref;
        let mut resource = match api_group.as_str() {
            "" => resource,
            group => format!("{resource}.{group}"),
        };
        if !subresource.is_empty() {
            resource = format!("{resource}/{subresource}");
        }
        if is_denied {
            self.denied.insert(match namespace.as_str() {
                "" => format!("{} {resource}", event.verb),
                namespace => format!("{} {resource} in {namespace}", event.verb),
            });
            return;
        }
        let is_write = ["create", "update", "patch", "delete", "deletecollection"]
            .contains(&event.verb.as_str());
        // Others are conflicts with newer versions, and objects that are gone or there already: an operator tries again.
        let is_refused = matches!(
            event.response_status.code,
            400 | 403 | 405 | 413 | 415 | 422 | 500
        );
        if is_write && is_refused {
            self.refused.insert(Refused {
                resource,
                object: super::load::full_name(&namespace, &name),
                verb: event.verb,
                message: event.response_status.message,
            });
        }
    }
}
