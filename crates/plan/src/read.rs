//! A cluster -> a clone. Only GETs are sent.

use std::collections::{BTreeMap, BTreeSet};

use kbr_manifests::overlay::Identity;
use serde_json::Value;

use super::cloned::{Cloned, Kind};
use super::discovery::{self, Get, Served, list, objects, percent_encoded, text};
use super::wanted::{Wanted, named};

/// Kinds that are never read: what happened, who leads, and what the API server makes itself.
const NEVER: [(&str, &str); 7] = [
    ("", "events"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
    ("", "componentstatuses"),
    ("networking.k8s.io", "ipaddresses"),
    ("networking.k8s.io", "servicecidrs"),
    ("apiregistration.k8s.io", "apiservices"),
];

/// Whether objects of the kind are no part of a clone or of a plan.
#[must_use]
pub fn is_left_out(group: &str, plural: &str) -> bool {
    NEVER.contains(&(group, plural))
}

const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// The configurations of webhooks.
const WEBHOOKS: [&str; 2] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
];

/// Reads what the operator may read, and what serves it: the CRDs and namespaces of these objects, the operator's `ServiceAccount` and
/// roles, and the configurations of its webhooks.
///
/// # Errors
/// The cluster does not answer, or the caller may read nothing that is wanted.
pub fn read(
    get: Get<'_>,
    wanted: &BTreeSet<Wanted>,
    operator: &Identity,
) -> anyhow::Result<Cloned> {
    let kubernetes = text(&get("/version")?["gitVersion"]).to_owned();
    let mut reader = Reader {
        get,
        kinds: BTreeMap::new(),
        unread: Vec::new(),
    };
    let is_wanted = |group: &str| {
        let infrastructure = [
            "",
            CRDS.0,
            "rbac.authorization.k8s.io",
            "admissionregistration.k8s.io",
        ];
        infrastructure.contains(&group)
            || wanted.iter().any(|it| it.group == "*" || it.group == group)
    };
    let served = discovery::served(get, &is_wanted, &mut reader.unread)?;
    let definitions = reader.list(&served, &named(&format!("{}.{}", CRDS.1, CRDS.0)));
    let chosen = chosen(&served, &definitions);
    for wanted in wanted {
        for kind in chosen
            .iter()
            .filter(|it| wanted.is_of(&it.group, &it.plural))
        {
            if !is_left_out(&kind.group, &kind.plural) {
                let found = reader.list(std::slice::from_ref(kind), wanted);
                reader.add(kind, found);
            }
        }
    }
    reader.add_definitions(&served, definitions);
    reader.add_operator(&served, operator);
    reader.add_namespaces(&served, operator);
    Ok(Cloned {
        kubernetes,
        secrets: true,
        kinds: reader.kinds.into_values().collect(),
        unread: reader.unread,
    })
}

/// Of each kind, the version that is stored, or that clients should use.
fn chosen(served: &[Served], definitions: &[Value]) -> Vec<Served> {
    let mut chosen: BTreeMap<(&str, &str), &Served> = BTreeMap::new();
    for it in served {
        let known = chosen.entry((&it.group, &it.plural)).or_insert(it);
        let stored = stored(definitions, &it.group, &it.plural);
        let is_better = match stored {
            Some(stored) => it.version == stored,
            None => it.preferred,
        };
        if is_better {
            *known = it;
        }
    }
    chosen.into_values().cloned().collect()
}

/// The version in which objects of a custom kind are stored.
fn stored<'a>(definitions: &'a [Value], group: &str, plural: &str) -> Option<&'a str> {
    let spec = definitions.iter().map(|it| &it["spec"]);
    let mut of_kind = spec.filter(|it| it["group"] == group && it["names"]["plural"] == plural);
    let mut versions = list(&of_kind.next()?["versions"]);
    versions.find(|it| it["storage"] == true)?["name"].as_str()
}

struct Reader<'a> {
    get: Get<'a>,
    kinds: BTreeMap<(String, String), Kind>,
    unread: Vec<String>,
}

impl Reader<'_> {
    /// The objects of the first served kind that is wanted.
    fn list(&mut self, served: &[Served], wanted: &Wanted) -> Vec<Value> {
        let Some(kind) = served.iter().find(|it| wanted.is_of(&it.group, &it.plural)) else {
            return Vec::new();
        };
        let namespace = if kind.namespaced {
            &wanted.namespace
        } else {
            ""
        };
        let selector = match wanted.name.as_str() {
            "" => String::new(),
            name => format!("&fieldSelector=metadata.name%3D{}", percent_encoded(name)),
        };
        match objects(self.get, &kind.path(namespace), &selector) {
            Ok(found) => found,
            Err(error) => {
                self.unread
                    .push(format!("`{}`: {error:#}", kind.path(namespace)));
                Vec::new()
            }
        }
    }

    fn add(&mut self, served: &Served, objects: Vec<Value>) {
        let key = (served.group.clone(), served.plural.clone());
        let kind = self.kinds.entry(key).or_insert_with(|| Kind {
            group: served.group.clone(),
            version: served.version.clone(),
            plural: served.plural.clone(),
            kind: served.kind.clone(),
            namespaced: served.namespaced,
            objects: Vec::new(),
        });
        let known: BTreeSet<String> = kind.objects.iter().map(uid).collect();
        let new = objects.into_iter().filter(|it| !known.contains(&uid(it)));
        kind.objects.extend(new);
    }

    /// Of the kinds that were read.
    fn add_definitions(&mut self, served: &[Served], mut definitions: Vec<Value>) {
        definitions.retain(|it| {
            let names = &it["spec"]["names"];
            let key = (
                text(&it["spec"]["group"]).to_owned(),
                text(&names["plural"]).to_owned(),
            );
            self.kinds.contains_key(&key)
        });
        if let Some(kind) = find(served, CRDS.0, CRDS.1) {
            self.add(kind, definitions);
        }
    }

    /// Who the operator is, what it may do, and the configurations of its webhooks.
    fn add_operator(&mut self, served: &[Served], operator: &Identity) {
        if operator.account.is_empty() {
            return;
        }
        let account = Wanted {
            namespace: operator.namespace.clone(),
            name: operator.account.clone(),
            ..named("serviceaccounts")
        };
        self.add_found(served, &account, |_| true);
        let roles = roles(self.get, operator).unwrap_or_else(|error| {
            self.unread.push(format!("the operator's roles: {error:#}"));
            Vec::new()
        });
        for role in roles {
            let kind = text(&role["kind"]).to_lowercase();
            if let Some(kind) = find(served, RBAC, &format!("{kind}s")) {
                self.add(kind, vec![role]);
            }
        }
        for plural in WEBHOOKS {
            let wanted = named(&format!("{plural}.admissionregistration.k8s.io"));
            let Some(kind) = find(served, &wanted.group, &wanted.plural) else {
                continue;
            };
            let found = self.list(served, &wanted).into_iter();
            let (own, others): (Vec<Value>, Vec<Value>) =
                found.partition(|it| is_served_by(it, &operator.namespace));
            if !own.is_empty() {
                self.add(kind, own);
            }
            if !others.is_empty() {
                let count = others.len();
                self.unread
                    .push(format!("{count} {plural} of other programs"));
            }
        }
    }

    /// Those of the objects.
    fn add_namespaces(&mut self, served: &[Served], operator: &Identity) {
        let objects = self.kinds.values().flat_map(|it| &it.objects);
        let mut names: BTreeSet<String> = objects
            .map(|it| text(&it["metadata"]["namespace"]).to_owned())
            .collect();
        names.insert(operator.namespace.clone());
        self.add_found(served, &named("namespaces"), |it| {
            names.contains(text(&it["metadata"]["name"]))
        });
    }

    fn add_found(
        &mut self,
        served: &[Served],
        wanted: &Wanted,
        is_needed: impl Fn(&Value) -> bool,
    ) {
        let Some(kind) = find(served, &wanted.group, &wanted.plural) else {
            return;
        };
        let mut found = self.list(served, wanted);
        found.retain(is_needed);
        if !found.is_empty() {
            self.add(kind, found);
        }
    }
}

fn find<'a>(served: &'a [Served], group: &str, plural: &str) -> Option<&'a Served> {
    let mut of_kind = served
        .iter()
        .filter(|it| it.group == group && it.plural == plural);
    let first = of_kind.next()?;
    Some(if first.preferred {
        first
    } else {
        of_kind.find(|it| it.preferred).unwrap_or(first)
    })
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// The roles that are bound to the operator, and these bindings.
///
/// # Errors
/// The cluster does not answer, or refuses.
pub fn roles(get: Get<'_>, operator: &Identity) -> anyhow::Result<Vec<Value>> {
    let all = |plural: &str| objects(get, &discovery::path(RBAC, "v1", plural, ""), "");
    let mut found = Vec::new();
    for (bindings, kinds) in [
        ("clusterrolebindings", &["clusterroles"][..]),
        ("rolebindings", &["roles", "clusterroles"][..]),
    ] {
        let bindings: Vec<Value> = all(bindings)?
            .into_iter()
            .filter(|it| operator.is_bound_by(it))
            .collect();
        for kind in kinds {
            let refers = |role: &Value| {
                bindings
                    .iter()
                    .any(|it| kbr_manifests::audit::refers(it, role))
            };
            let new: Vec<Value> = all(kind)?
                .into_iter()
                .filter(refers)
                .filter(|it| !found.contains(it))
                .collect();
            found.extend(new);
        }
        found.extend(bindings);
    }
    Ok(found)
}

/// Whether a webhook of the configuration is a Service in the namespace.
#[must_use]
pub fn is_served_by(configuration: &Value, namespace: &str) -> bool {
    list(&configuration["webhooks"])
        .any(|it| it["clientConfig"]["service"]["namespace"] == namespace)
}

fn uid(object: &Value) -> String {
    text(&object["metadata"]["uid"]).to_owned()
}
