//! The garbage collector of an API server without a cluster: a cluster has that of kube-controller-manager.
//!
//! It watches the metadata of all objects, a thread for each resource. `apiserver_rules::garbage` judges them.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use apiserver_rules::garbage::{Owner, Verdict, references, verdict};
use serde_json::{Map, Value, json};

use super::Progress;
use super::client::Client;

/// How often resources are discovered, and what has failed is tried again.
const PERIOD: Duration = Duration::from_secs(2);

/// How long it waits for more changes, so that many are judged at once.
const MOMENT: Duration = Duration::from_millis(20);

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

const DISCOVERY: &str = "application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2";

/// Collects in a thread of its own until `stopping` is set. The owners with the uids of `elsewhere` exist in the cluster of a clone.
pub(super) fn start(
    client: Client,
    elsewhere: HashSet<String>,
    progress: Progress,
    stopping: Arc<AtomicBool>,
) {
    let (sender, updates) = mpsc::channel();
    let mut collector = Collector {
        client,
        elsewhere,
        progress,
        sender,
        updates,
        watched: HashSet::new(),
        kinds: HashMap::new(),
        graph: Graph::default(),
        undecided: HashSet::new(),
        deleted: HashSet::new(),
        failed: HashMap::new(),
    };
    thread::spawn(move || {
        let mut discovered: Option<Instant> = None;
        while !stopping.load(Ordering::Relaxed) {
            if discovered.is_none_or(|at| at.elapsed() >= PERIOD) {
                // The API server may be busy, or gone.
                let _ = collector.discover();
                discovered = Some(Instant::now());
                collector.retry();
            }
            collector.receive();
            collector.collect();
        }
    });
}

struct Collector {
    client: Client,
    /// The uids of owners that are not here and exist.
    elsewhere: HashSet<String>,
    progress: Progress,
    sender: Sender<Update>,
    updates: Receiver<Update>,
    /// The paths of the collections that are watched.
    watched: HashSet<String>,
    /// The collections by `apiVersion` and `kind`.
    kinds: HashMap<(String, String), Resource>,
    graph: Graph,
    /// The uids of the objects with an owner that is not known yet.
    undecided: HashSet<String>,
    /// The uids of the objects that were seen to vanish: no object gets one again.
    deleted: HashSet<String>,
    /// When, and how often, the API server rejected what became of an object that has not changed since. By uid.
    failed: HashMap<String, (Instant, u32)>,
}

/// The objects and their owners. An update opens few of many objects: itself, its owners and its dependents.
#[derive(Default)]
struct Graph {
    /// By uid.
    objects: HashMap<String, Object>,
    /// The uids of the objects that name an owner, by the uid of that.
    dependents: HashMap<String, HashSet<String>>,
    /// The uids of the objects for which something has changed since they were judged.
    open: HashSet<String>,
}

/// A collection.
#[derive(Clone)]
struct Resource {
    /// `/apis/<group>/<version>`.
    root: String,
    plural: String,
    namespaced: bool,
}

struct Object {
    resource: Arc<Resource>,
    meta: Value,
}

enum Update {
    /// An object was created or changed.
    Seen(Object),
    Gone {
        uid: String,
    },
    /// The watch of the collection at this path has ended, and with it what was known of its objects.
    Ended {
        path: String,
    },
}

impl Resource {
    fn path(&self) -> String {
        format!("{}/{}", self.root, self.plural)
    }

    fn path_of(&self, namespace: Option<&str>, name: &str) -> String {
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!(
                "{}/namespaces/{namespace}/{}/{name}",
                self.root, self.plural
            ),
            None => format!("{}/{name}", self.path()),
        }
    }
}

impl Object {
    fn path(&self) -> String {
        let name = self.meta["name"].as_str().unwrap_or_default();
        self.resource.path_of(self.meta["namespace"].as_str(), name)
    }
}

impl Graph {
    /// Replaces what is known of an object.
    fn see(&mut self, object: Object) {
        let uid = text(&object.meta["uid"]).to_owned();
        self.forget(&uid);
        for owner in owners(&object.meta) {
            self.dependents
                .entry(owner.clone())
                .or_default()
                .insert(uid.clone());
            self.open.insert(owner);
        }
        self.open.insert(uid.clone());
        self.objects.insert(uid, object);
    }

    /// Removes what is known of an object. Its owners and dependents are open again.
    fn forget(&mut self, uid: &str) {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        self.open.extend(dependents.cloned());
        for owner in self
            .objects
            .remove(uid)
            .iter()
            .flat_map(|it| owners(&it.meta))
        {
            if let Some(all) = self.dependents.get_mut(&owner) {
                all.remove(uid);
                if all.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
            self.open.insert(owner);
        }
    }
}

impl Collector {
    /// Learns which kinds there are, and watches those that can be collected.
    fn discover(&mut self) -> anyhow::Result<()> {
        self.kinds.clear();
        for root in ["/api", "/apis"] {
            let groups = self.client.find(root, DISCOVERY)?.unwrap_or_default();
            for group in list(&groups["items"]) {
                self.discover_group(group);
            }
        }
        Ok(())
    }

    /// The versions of a group come in the order of preference, and all have the same objects.
    fn discover_group(&mut self, group: &Value) {
        let mut plurals = HashSet::new();
        for version in list(&group["versions"]) {
            let version_name = text(&version["version"]);
            let (root, api_version) = match text(&group["metadata"]["name"]) {
                "" => (format!("/api/{version_name}"), version_name.to_owned()),
                group => {
                    let api_version = format!("{group}/{version_name}");
                    (format!("/apis/{api_version}"), api_version)
                }
            };
            for found in list(&version["resources"]) {
                let resource = Resource {
                    root: root.clone(),
                    plural: text(&found["resource"]).to_owned(),
                    namespaced: found["scope"] == "Namespaced",
                };
                let verbs = list(&found["verbs"]);
                let can = |verb: &&str| verbs.iter().any(|it| it == *verb);
                // Kubernetes' own collector ignores events, too: there are many, and they own nothing.
                let collects =
                    ["delete", "list", "watch"].iter().all(can) && resource.plural != "events";
                if plurals.insert(resource.plural.clone()) && collects {
                    self.watch(&resource);
                }
                let kind = text(&found["responseKind"]["kind"]).to_owned();
                self.kinds.insert((api_version.clone(), kind), resource);
            }
        }
    }

    /// Watches a collection until the API server ends that. The next discovery begins again.
    fn watch(&mut self, resource: &Resource) {
        let path = resource.path();
        if !self.watched.insert(path.clone()) {
            return;
        }
        let (client, sender, resource) = (
            self.client.clone(),
            self.sender.clone(),
            Arc::new(resource.clone()),
        );
        thread::spawn(move || {
            // Begins with the objects that exist.
            if let Ok(stream) = client.get_as(&format!("{path}?watch=1"), METADATA) {
                follow(stream, &resource, &sender);
            }
            // The collector may have ended.
            let _ = sender.send(Update::Ended { path });
        });
    }

    /// Waits for changes, but not for long: an owner may have been unknown.
    fn receive(&mut self) {
        let first = self.updates.recv_timeout(PERIOD).ok();
        if first.is_some() {
            thread::sleep(MOMENT);
        }
        let updates: Vec<Update> = first.into_iter().chain(self.updates.try_iter()).collect();
        for update in updates {
            match update {
                Update::Seen(object) => {
                    self.failed.remove(text(&object.meta["uid"]));
                    self.graph.see(object);
                }
                Update::Gone { uid } => {
                    self.failed.remove(&uid);
                    self.graph.forget(&uid);
                    self.deleted.insert(uid);
                }
                Update::Ended { path } => {
                    let objects = self.graph.objects.iter();
                    let ended = objects.filter(|(_, object)| object.resource.path() == path);
                    let ended: Vec<String> = ended.map(|(uid, _)| uid.clone()).collect();
                    for uid in &ended {
                        self.graph.forget(uid);
                    }
                    self.watched.remove(&path);
                }
            }
        }
    }

    /// Judges again what could not be judged, and what the API server has rejected some time ago.
    fn retry(&mut self) {
        let failed = self
            .failed
            .iter()
            .filter(|(_, (at, _))| at.elapsed() >= PERIOD);
        self.graph.open.extend(failed.map(|(uid, _)| uid.clone()));
        self.graph.open.extend(self.undecided.drain());
    }

    /// Judges the objects for which something has changed, and does what follows.
    fn collect(&mut self) {
        let mut asked = HashMap::new();
        let mut failures = Vec::new();
        for uid in std::mem::take(&mut self.graph.open) {
            let Some(object) = self.graph.objects.get(&uid) else {
                continue;
            };
            let dependents = self.graph.dependents.get(&uid).into_iter().flatten();
            let dependents = dependents.filter_map(|uid| Some(&self.graph.objects.get(uid)?.meta));
            let dependents: Vec<&Value> = dependents.collect();
            let mut is_undecided = false;
            let owner = |reference: &Value| {
                let owner = self.owner(reference, &object.meta, &mut asked);
                is_undecided |= owner == Owner::Unknown;
                owner
            };
            let verdict = verdict(&object.meta, owner, &dependents);
            if let Err(error) = self.execute(object, &verdict) {
                failures.push((uid.clone(), format!("{}: {error}", object.path())));
            }
            if is_undecided {
                self.undecided.insert(uid);
            }
        }
        for (uid, text) in failures {
            let (at, tries) = self.failed.entry(uid).or_insert((Instant::now(), 0));
            (*at, *tries) = (Instant::now(), *tries + 1);
            // The first time, it may have changed meanwhile.
            if *tries == 2 {
                self.progress.report("not deleted", &text);
            }
        }
    }

    /// An owner that is not known may be new, or its kind not watched yet: the API server is asked for it, once for all dependents.
    fn owner(
        &self,
        reference: &Value,
        dependent: &Value,
        asked: &mut HashMap<(String, String), Owner>,
    ) -> Owner {
        let uid = text(&reference["uid"]);
        if let Some(owner) = self.graph.objects.get(uid) {
            return Owner::of(Some(&owner.meta), dependent);
        }
        if self.deleted.contains(uid) {
            return Owner::Absent;
        }
        if self.elsewhere.contains(uid) {
            return Owner::Solid;
        }
        let key = (uid.to_owned(), text(&dependent["namespace"]).to_owned());
        *asked
            .entry(key)
            .or_insert_with(|| self.ask(reference, dependent).unwrap_or(Owner::Unknown))
    }

    /// `None` if the API server does not answer, or does not know the kind.
    fn ask(&self, reference: &Value, dependent: &Value) -> Option<Owner> {
        let field = |name: &str| text(&reference[name]).to_owned();
        let resource = self.kinds.get(&(field("apiVersion"), field("kind")))?;
        let namespace = dependent["namespace"].as_str();
        if resource.namespaced && namespace.is_none() {
            return None;
        }
        let path = resource.path_of(namespace, &field("name"));
        let found = self.client.find(&path, METADATA).ok()?;
        let meta = found.as_ref().map(|found| &found["metadata"]);
        let meta = meta.filter(|meta| meta["uid"] == reference["uid"]);
        Some(Owner::of(meta, dependent))
    }

    fn execute(&self, object: &Object, verdict: &Verdict) -> anyhow::Result<()> {
        let meta = &object.meta;
        let version = json!({ "uid": meta["uid"], "resourceVersion": meta["resourceVersion"] });
        let patch = |field: &str, left: Vec<&Value>| {
            let mut changed = version.clone();
            changed[field] = json!(left);
            let patch = json!({ "metadata": changed });
            self.client
                .patch(&object.path(), "merge-patch+json", &patch)
        };
        match verdict {
            Verdict::Keep => Ok(()),
            Verdict::Delete(policy) => {
                let options = json!({ "preconditions": version, "propagationPolicy": policy });
                self.client.delete(&object.path(), &options)
            }
            Verdict::Disown(lost) => {
                let kept = references(meta).filter(|owner| !lost.contains(&owner["uid"]));
                patch("ownerReferences", kept.collect())
            }
            Verdict::Release(finalizer) => {
                let finalizers = list(&meta["finalizers"]).iter();
                patch(
                    "finalizers",
                    finalizers.filter(|it| it != finalizer).collect(),
                )
            }
        }
    }
}

/// The uids of the owners.
fn owners(meta: &Value) -> Vec<String> {
    let owners = references(meta).map(|owner| text(&owner["uid"]).to_owned());
    owners.collect()
}

/// Reports each object, and each change, until the API server ends the watch, or the collector has ended.
fn follow(stream: impl Read, resource: &Arc<Resource>, updates: &Sender<Update>) {
    let changes = serde_json::Deserializer::from_reader(BufReader::new(stream));
    // A stream that breaks off has ended.
    for mut change in changes.into_iter::<Value>().map_while(Result::ok) {
        let mut meta = change["object"]["metadata"].take();
        let update = match text(&change["type"]) {
            "ADDED" | "MODIFIED" => {
                // Most of the metadata is about managed fields.
                if let Some(meta) = meta.as_object_mut() {
                    strip(meta);
                }
                let resource = resource.clone();
                Update::Seen(Object { resource, meta })
            }
            "DELETED" => Update::Gone {
                uid: text(&meta["uid"]).to_owned(),
            },
            _ => return,
        };
        if updates.send(update).is_err() {
            return;
        }
    }
}

/// Leaves what the collector needs.
fn strip(meta: &mut Map<String, Value>) {
    let needed = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "deletionTimestamp",
        "finalizers",
        "ownerReferences",
    ];
    meta.retain(|field, _| needed.contains(&field.as_str()));
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_opens_an_object_its_owners_and_its_dependents_alone() {
        let resource = Arc::new(Resource {
            root: "/api/v1".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
        });
        let object = |uid: &str, owner: &str| Object {
            resource: resource.clone(),
            meta: json!({ "uid": uid, "ownerReferences": [{ "uid": owner }] }),
        };
        let mut graph = Graph::default();
        for at in 0..1000 {
            graph.see(object(&format!("child {at}"), &format!("owner {at}")));
            graph.see(object(&format!("owner {at}"), "root"));
        }
        let opened = |graph: &mut Graph| {
            let mut opened: Vec<_> = graph.open.drain().collect();
            opened.sort();
            opened.join(", ")
        };
        graph.open.clear();
        graph.see(object("owner 7", "root"));
        assert_eq!(opened(&mut graph), "child 7, owner 7, root");
        graph.see(object("child 7", "owner 8"));
        assert_eq!(opened(&mut graph), "child 7, owner 7, owner 8");
        graph.forget("owner 8");
        assert_eq!(opened(&mut graph), "child 7, child 8, root");
        graph.see(object("owner 7", "root"));
        assert_eq!(opened(&mut graph), "owner 7, root");
    }
}
