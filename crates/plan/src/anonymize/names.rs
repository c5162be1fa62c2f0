//! Made-up names of objects, namespaces and hosts.
//!
//! A name consists of words between `-` and `.`, each of which becomes another one, the same wherever it occurs. So `web-credentials` still
//! belongs to `web`. Words that say what an object is for stay, and numbers do; what follows the name of its owner stays, because an operator
//! finds the objects that it owns by such names.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::cloned::{Cloned, Kind};
use crate::secrets::fakes::{Fakes, Treatment};
use crate::secrets::public;

/// Words that stay.
const WORDS: [&str; 83] = [
    "access",
    "admin",
    "agent",
    "api",
    "app",
    "auth",
    "backup",
    "broker",
    "ca",
    "cache",
    "cert",
    "certs",
    "certificate",
    "client",
    "cluster",
    "cm",
    "com",
    "config",
    "controller",
    "credentials",
    "crt",
    "data",
    "database",
    "db",
    "deployment",
    "env",
    "exporter",
    "external",
    "follower",
    "frontend",
    "backend",
    "headless",
    "helm",
    "http",
    "https",
    "init",
    "internal",
    "io",
    "job",
    "key",
    "keys",
    "leader",
    "local",
    "logs",
    "manager",
    "master",
    "metrics",
    "monitor",
    "net",
    "node",
    "operator",
    "org",
    "password",
    "pg",
    "pod",
    "pool",
    "primary",
    "proxy",
    "pvc",
    "read",
    "release",
    "replica",
    "replicas",
    "ro",
    "role",
    "rw",
    "secret",
    "server",
    "service",
    "sh",
    "slave",
    "standby",
    "storage",
    "svc",
    "system",
    "tls",
    "token",
    "user",
    "users",
    "volume",
    "web",
    "webhook",
    "worker",
];
/// Names that each cluster has.
const EVERYWHERE: [&str; 8] = [
    "admin",
    "cluster-admin",
    "default",
    "edit",
    "kube-root-ca.crt",
    "kubernetes",
    "localhost",
    "view",
];
/// Groups whose objects are a part of an installation, and have its names.
const INSTALLED: [&str; 3] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
];

/// Which names are replaced by which.
pub struct Names {
    fakes: RefCell<Fakes>,
    /// What stays, such as groups.
    words: HashSet<String>,
    /// The names of objects and namespaces that are replaced.
    pub objects: HashMap<String, String>,
    /// The names of all namespaces, also of those that stay.
    pub namespaces: HashSet<String>,
    /// The domains whose hosts are replaced: `example.com`.
    pub domains: HashSet<String>,
}

/// The name of an object, and what is known of it.
struct Found<'a> {
    name: &'a str,
    owners: Vec<&'a str>,
    is_node: bool,
}

impl Names {
    /// Of the objects of a clone. Those in `operator`, its namespace, stay unless they are custom objects, or owned by some.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn of(cloned: &Cloned, operator: &str) -> anyhow::Result<Names> {
        let mut names = Names {
            // A word has no shape.
            fakes: RefCell::new(Fakes::new(crate::secrets::shape::text)?),
            words: public::words(cloned),
            objects: HashMap::new(),
            namespaces: HashSet::new(),
            domains: HashSet::new(),
        };
        let mut kept = names.words.clone();
        kept.insert(operator.to_owned());
        let custom = custom(cloned);
        let (mut found, mut owners) = (Vec::new(), HashMap::new());
        for kind in &cloned.kinds {
            for object in &kind.objects {
                let metadata = &object["metadata"];
                let name = text(&metadata["name"]);
                let namespace = text(&metadata["namespace"]);
                names.namespaces.extend([namespace.to_owned()]);
                if kind.kind == "Namespace" {
                    names.namespaces.insert(name.to_owned());
                }
                if stays(kind, object, operator, &custom) {
                    kept.insert(name.to_owned());
                }
                let it = of_object(kind, object);
                owners.extend(it.owner_prefix().map(|owner| (name, owner)));
                found.push(it);
            }
        }
        names.namespaces.remove("");
        let namespaces = names.namespaces.clone();
        let owned = found.iter().flat_map(|it| &it.owners);
        let others = owned.copied().chain(namespaces.iter().map(String::as_str));
        let all = found.iter().map(|it| (it.name, it.is_node));
        for (name, is_node) in all.chain(others.map(|it| (it, false))) {
            if !kept.contains(name) && !is_everywhere(name) && !names.objects.contains_key(name) {
                let made = names.name(name, is_node, &owners, &kept);
                names.objects.insert(name.to_owned(), made);
            }
        }
        Ok(names)
    }

    /// An owner's name is shorter, so this ends.
    fn name(
        &self,
        name: &str,
        is_node: bool,
        owners: &HashMap<&str, &str>,
        kept: &HashSet<String>,
    ) -> String {
        match owners.get(name) {
            _ if kept.contains(name) => name.to_owned(),
            Some(owner) => self.name(owner, false, owners, kept) + &name[owner.len()..],
            None => self.other_words(name, is_node),
        }
    }

    /// The name with other words.
    fn other_words(&self, name: &str, with_numbers: bool) -> String {
        let mut made = String::new();
        for part in name.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_number = word
                .trim_start_matches('v')
                .bytes()
                .all(|c| c.is_ascii_digit());
            if WORDS.contains(&word) || is_number && !with_numbers {
                made += word;
            } else {
                made += &self.other_word(word);
            }
            made += &part[word.len()..];
        }
        made
    }

    /// Another word. A made-up one that is one of those that stay would make two names equal.
    fn other_word(&self, word: &str) -> String {
        let mut fakes = self.fakes.borrow_mut();
        let other = fakes.text(word, Treatment::VALUE.unsearched());
        if WORDS.contains(&other.as_str()) {
            let other = other + "x";
            fakes.remember(word.as_bytes(), other.as_bytes());
            return other;
        }
        other
    }

    /// Adds the domain of a host, unless it is one of the cluster, or of Kubernetes.
    pub fn add_host(&mut self, host: &str) {
        let host = host.strip_prefix("*.").unwrap_or(host);
        let is_host = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let last = host.rsplit('.').next().unwrap_or_default();
        let is_last = last.len() > 1 && last.bytes().all(|c| c.is_ascii_alphabetic());
        if let Some(domain) = domain(host).filter(|_| is_last && host.chars().all(is_host)) {
            let is_known = ["k8s.io", "kubernetes.io", "cluster.local"].contains(&domain);
            if !is_known && last != "svc" {
                self.domains.insert(domain.to_owned());
            }
        }
    }

    /// The host instead of one in a known domain.
    pub fn host(&self, host: &str) -> Option<String> {
        let is_known = self.domains.contains(domain(host)?) && !self.words.contains(host);
        let (start, last) = host.rsplit_once('.')?;
        is_known.then(|| self.other_words(start, true) + "." + last)
    }
}

/// The last two labels of a host.
fn domain(host: &str) -> Option<&str> {
    let (start, _) = host.rsplit_once('.')?;
    let at = start.rfind('.').map_or(0, |at| at + 1);
    Some(&host[at..])
}

impl<'a> Found<'a> {
    /// The owner whose name this one begins with.
    fn owner_prefix(&self) -> Option<&'a str> {
        let owners = self.owners.iter().copied();
        owners
            .filter(|it| {
                self.name
                    .strip_prefix(it)
                    .is_some_and(|rest| rest.starts_with('-'))
            })
            .max_by_key(|it| it.len())
    }
}

fn of_object<'a>(kind: &Kind, object: &'a Value) -> Found<'a> {
    let metadata = &object["metadata"];
    let owners = metadata["ownerReferences"].as_array();
    let owners = owners.into_iter().flatten().map(|it| text(&it["name"]));
    Found {
        name: text(&metadata["name"]),
        owners: owners.filter(|it| !it.is_empty()).collect(),
        is_node: kind.kind == "Node",
    }
}

/// The groups of custom kinds.
fn custom(cloned: &Cloned) -> HashSet<&str> {
    let definitions = cloned.kinds.iter().filter(|it| public::is_definition(it));
    let objects = definitions.flat_map(|it| &it.objects);
    objects.map(|it| text(&it["spec"]["group"])).collect()
}

/// Whether an object keeps its name: a part of the operator's installation.
fn stays(kind: &Kind, object: &Value, operator: &str, custom: &HashSet<&str>) -> bool {
    let is_role = kind.group == "rbac.authorization.k8s.io" && !kind.namespaced;
    if INSTALLED.contains(&kind.group.as_str()) || is_role {
        return true;
    }
    let metadata = &object["metadata"];
    let group = |version: &'static str, it: &Value| {
        let version = text(&it[version]);
        version.rsplit_once('/').map_or("", |it| it.0).to_owned()
    };
    let owners = metadata["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    let is_of_custom = owners.any(|it| custom.contains(group("apiVersion", it).as_str()));
    text(&metadata["namespace"]) == operator
        && !custom.contains(kind.group.as_str())
        && !is_of_custom
}

fn is_everywhere(name: &str) -> bool {
    let starts = ["kube-", "system:", "system-"];
    name.is_empty() || EVERYWHERE.contains(&name) || starts.iter().any(|it| name.starts_with(it))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
