//! What changes in etcd, and what an operator requests: whether it has become idle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kbr_envtest::etcd::Etcd;
use kbr_manifests::audit::{Access, Event, Verdict};
use kbr_manifests::overlay::Identity;
use serde::{Deserialize, Serialize};

use super::load::{full_name, is_noise};

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

    /// Forgets the counts. That something begins counts as a change.
    pub fn restart(&self) {
        *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = Changed {
            last: Some(Instant::now()),
            keys: BTreeMap::new(),
        };
    }
}

/// The requests of the operator in the audit log, as far as it has been read.
#[derive(Debug)]
pub struct Requests {
    log: PathBuf,
    operator: Identity,
    offset: u64,
    /// When it began something: its last new watch, or its leadership. `None` before its first request.
    began: Option<Instant>,
    /// Whether it leads, if it has asked for a Lease.
    leads: Option<bool>,
    /// The writes that the API server refused, with the status code. One that fails within the server, such as in a webhook that does not
    /// answer yet, is none if it succeeds later.
    pub refused: BTreeMap<Refused, u16>,
    /// What its roles do not allow: `list pods`, `create secrets in navy`.
    pub denied: BTreeSet<String>,
}

/// A write that the API server refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    pub fn from_now(log: &Path, operator: &Identity) -> Self {
        Self {
            log: log.to_owned(),
            operator: operator.clone(),
            offset: log.metadata().map_or(0, |it| it.len()),
            began: None,
            leads: None,
            refused: BTreeMap::new(),
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
            if let Ok(event) = Event::parse(&line) {
                self.add(&event);
            }
        }
    }

    fn add(&mut self, event: &Event) {
        let operator = (&*self.operator.namespace, &*self.operator.account);
        if event.account() != Some(operator) {
            return;
        }
        let (asked, namespace) = event.asked();
        let is_lease = asked.resource == "leases";
        let is_written = ["create", "update", "patch"].contains(&&*asked.verb)
            && (200..300).contains(&event.code());
        let becomes_leader = is_lease && is_written && self.leads != Some(true);
        if is_lease {
            self.leads = Some(becomes_leader || self.leads == Some(true));
        }
        if self.began.is_none() || event.begins_watch() || becomes_leader {
            self.began = Some(Instant::now());
        }
        if is_lease {
            return;
        }
        let decisions = event.decisions();
        let denied = decisions
            .iter()
            .filter(|it| matches!(it.verdict, Verdict::Denied(_)));
        self.denied.extend(denied.map(|it| {
            let what = format!("{} {}", it.access.verb, resource(&it.access));
            match it.namespace.as_str() {
                "" => what,
                namespace => format!("{what} in {namespace}"),
            }
        }));
        if !WRITES.contains(&&*asked.verb) {
            return;
        }
        let write = Refused {
            resource: resource(&asked),
            object: full_name(namespace, event.name()),
            verb: asked.verb,
            message: event.message().to_owned(),
        };
        match event.code() {
            200..300 => {
                let is_same = |it: &Refused| {
                    (&it.resource, &it.object, &it.verb)
                        == (&write.resource, &write.object, &write.verb)
                };
                self.refused.retain(|it, code| *code < 500 || !is_same(it));
            }
            // Others are conflicts with newer versions, and objects that are gone or there already: an operator tries again.
            code @ (400 | 403 | 405 | 413 | 415 | 422 | 500)
                if !decisions
                    .iter()
                    .any(|it| matches!(it.verdict, Verdict::Denied(_))) =>
            {
                self.refused.insert(write, code);
            }
            _ => {}
        }
    }
}

const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// `statefulsets.apps`, `pods/status`.
fn resource(access: &Access) -> String {
    let Access {
        group,
        resource,
        url,
        ..
    } = access;
    match (group.as_str(), resource.as_str()) {
        (_, "") => url.clone(),
        ("", resource) => resource.to_owned(),
        (group, resource) => match resource.split_once('/') {
            Some((resource, part)) => format!("{resource}.{group}/{part}"),
            None => format!("{resource}.{group}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_write_that_failed_in_a_webhook_is_refused_unless_it_succeeds_later() {
        let operator = Identity {
            namespace: "crew".to_owned(),
            account: "captain".to_owned(),
            watched: None,
        };
        let mut requests = Requests::from_now(Path::new("none"), &operator);
        let mut write = |name: &str, code: u16| {
            let event = json!({
                "kind": "Event",
                "apiVersion": "audit.k8s.io/v1",
                "level": "Metadata",
                "auditID": "1",
                "stage": "ResponseComplete",
                "verb": "patch",
                "requestURI": format!("/api/v1/namespaces/navy/pods/{name}"),
                "user": { "username": "system:serviceaccount:crew:captain" },
                "objectRef": { "resource": "pods", "namespace": "navy", "name": name, "apiVersion": "v1" },
                "responseStatus": { "code": code, "message": "no" },
            });
            requests.add(&Event::parse(event.to_string().as_bytes()).unwrap());
            requests.refused.len()
        };
        // Another object, and what the server had judged, stay.
        let expected = [
            ("a", 500, 1),
            ("b", 500, 2),
            ("c", 422, 3),
            ("a", 200, 2),
            ("c", 200, 2),
        ];
        for (name, code, refused) in expected {
            assert_eq!(write(name, code), refused, "{name} {code}");
        }
    }
}
