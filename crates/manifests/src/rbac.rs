//! RBAC markers -> roles. Rules are merged and ordered like controller-gen's.

pub mod known;
pub mod needed;
mod read;

use std::collections::BTreeMap;

use apiserver_rules::rbac;
use serde_json::{Value, json};

use super::markers::{self, Marker};
use super::problem::Problem;
use kbr_scaffold::rust::Source as Comments;
pub use read::{Rule, Set};

/// What `kbr manifests` finds about a permission that is the comment `line` in a file. `own` holds the project's kinds, as group and plural.
pub fn permission(path: &str, line: &str, own: &[(String, String)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut found = markers::markers(&Comments::new(path, line), &mut problems);
    found.retain(|it| it.name == "rbac");
    // It has another line there.
    for marker in &mut found {
        path.clone_into(&mut marker.at);
    }
    Roles::new("", &found, own, &mut problems);
    problems
}

/// Namespace (empty: a `ClusterRole`) and name.
type RoleKey = (String, String);

/// The rules of a project, by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(BTreeMap<RoleKey, Vec<Rule>>);

impl Roles {
    /// Reads the markers. Those without `roleName` go into the role called `default`, which always exists.
    /// `own` holds the project's kinds, as group and plural.
    pub fn new(
        default: &str,
        markers: &[Marker],
        own: &[(String, String)],
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut rules: BTreeMap<RoleKey, Vec<Rule>> = BTreeMap::new();
        rules.insert((String::new(), default.to_owned()), Vec::new());
        for marker in markers {
            match read::grant(marker, own) {
                Ok(grant) => {
                    let name = grant.role_name.unwrap_or_else(|| default.to_owned());
                    let role = rules.entry((grant.namespace, name)).or_default();
                    role.extend(split(&grant.rule));
                }
                Err(found) => problems.extend(found),
            }
        }
        Self(
            rules
                .into_iter()
                .map(|(key, rules)| (key, normalize(rules)))
                .collect(),
        )
    }

    /// The `verbs` that no role permits on a resource: on the object called `name`, or on all. Every role is considered, because it
    /// may be bound to the operator.
    fn not_permitted<'a>(
        &self,
        (group, resource, name): (&str, &str, Option<&str>),
        verbs: &[&'a str],
    ) -> Vec<&'a str> {
        let rules = || {
            self.0.values().flatten().filter(|rule| {
                rbac::allows_name(&rule.names, name.unwrap_or_default())
                    && rule.groups.iter().any(|it| rbac::allows_group(it, group))
                    && rule
                        .resources
                        .iter()
                        .any(|it| rbac::allows_resource(it, resource))
            })
        };
        let permitted = |verb: &&str| {
            rules().any(|rule| rule.verbs.iter().any(|it| rbac::allows_verb(it, verb)))
        };
        verbs
            .iter()
            .copied()
            .filter(|verb| !permitted(verb))
            .collect()
    }

    /// One `ClusterRole` or `Role` each: first the cluster roles, then by namespace and name. `default` is bound by a file of the
    /// scaffold; after each other role follows its binding to `account`, a `ServiceAccount`, unless one of `bindings` refers to it.
    pub fn manifests(&self, default: &str, account: &Value, bindings: &[Value]) -> Vec<Value> {
        let mut manifests = Vec::new();
        for ((namespace, name), rules) in &self.0 {
            let role = role(namespace, name, rules);
            let is_scaffolded = namespace.is_empty() && name == default;
            let is_bound = bindings.iter().any(|binding| refers(binding, &role));
            let binding = (!is_scaffolded && !is_bound).then(|| binding(&role, account));
            manifests.push(role);
            manifests.extend(binding);
        }
        manifests
    }

    /// The roles of an operator of selected namespaces: a `Role` called `name` without a namespace, to be deployed into each of them, and
    /// each `ClusterRole` with its rules for what is in no namespace: URLs, and the resources, as group and plural, for which
    /// `is_cluster_scoped` holds.
    pub fn namespaced(
        &self,
        name: &str,
        is_cluster_scoped: impl Fn(&str, &str) -> bool,
    ) -> (Value, Vec<Value>) {
        let is_wide = |rule: &Rule| {
            let mut pairs = rule.groups.iter().zip(&rule.resources);
            !rule.urls.is_empty()
                || pairs.any(|(group, resource)| {
                    let plural = resource.split('/').next().unwrap_or_default();
                    is_cluster_scoped(group, plural)
                })
        };
        let (mut narrow, mut cluster) = (Vec::new(), Vec::new());
        for ((_, name), rules) in self
            .0
            .iter()
            .filter(|((namespace, _), _)| namespace.is_empty())
        {
            let rules = rules.iter().flat_map(split_groups);
            let (wide, others): (Vec<_>, Vec<_>) = rules.partition(is_wide);
            narrow.extend(others);
            cluster.push(role("", name, &normalize(wide)));
        }
        let mut role = role("", name, &normalize(narrow));
        role["kind"] = json!("Role");
        (role, cluster)
    }
}

/// Whether a binding is one of a role.
fn refers(binding: &Value, role: &Value) -> bool {
    let (reference, metadata) = (&binding["roleRef"], &role["metadata"]);
    let is_here =
        role["kind"] == "ClusterRole" || binding["metadata"]["namespace"] == metadata["namespace"];
    reference["kind"] == role["kind"] && reference["name"] == metadata["name"] && is_here
}

/// The binding of a role, with its name.
fn binding(role: &Value, account: &Value) -> Value {
    let kind = role["kind"].as_str().unwrap_or_default();
    json!({
        "apiVersion": role["apiVersion"],
        "kind": format!("{kind}Binding"),
        "metadata": role["metadata"],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["metadata"]["name"] },
        "subjects": [account],
    })
}

fn role(namespace: &str, name: &str, rules: &[Rule]) -> Value {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": rules.iter().map(policy_rule).collect::<Vec<_>>(),
    });
    if !namespace.is_empty() {
        role["kind"] = json!("Role");
        role["metadata"]["namespace"] = json!(namespace);
    }
    role
}

fn policy_rule(rule: &Rule) -> Value {
    let mut policy = json!({ "verbs": rule.verbs });
    let lists = [
        ("apiGroups", &rule.groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.names),
        ("nonResourceURLs", &rule.urls),
    ];
    for (key, list) in lists {
        if !list.is_empty() {
            policy[key] = json!(list);
        }
    }
    policy
}

/// The rule of one marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// `src/main.rs:12`.
    pub at: String,
    /// Empty for a `ClusterRole`.
    pub namespace: String,
    /// The name of the role.
    pub role: String,
    pub rule: Rule,
}

/// The rule of each valid marker. `default` is the role of those without `roleName`.
pub fn sources(default: &str, markers: &[Marker]) -> Vec<Source> {
    let source = |marker: &Marker| {
        let grant = read::grant(marker, &[]).ok()?;
        Some(Source {
            at: marker.at.clone(),
            namespace: grant.namespace,
            role: grant.role_name.unwrap_or_else(|| default.to_owned()),
            rule: grant.rule,
        })
    };
    markers.iter().filter_map(source).collect()
}

/// Splits a rule into one for each resource, so that the result does not depend on which resources share a marker.
fn split(rule: &Rule) -> Vec<Rule> {
    if rule.resources.is_empty() {
        return vec![rule.clone()];
    }
    let of = |resource: &String| Rule {
        resources: Set::from([resource.clone()]),
        ..rule.clone()
    };
    rule.resources.iter().map(of).collect()
}

/// Splits a rule into one for each group and resource; a rule for URLs has neither.
fn split_groups(rule: &Rule) -> Vec<Rule> {
    if rule.groups.is_empty() {
        return vec![rule.clone()];
    }
    let of = |group: &String| Rule {
        groups: Set::from([group.clone()]),
        ..rule.clone()
    };
    let of_groups = rule.groups.iter().map(of);
    of_groups.flat_map(|rule| split(&rule)).collect()
}

fn normalize(rules: Vec<Rule>) -> Vec<Rule> {
    let whole = |r: &Rule| {
        (
            r.groups.clone(),
            r.resources.clone(),
            r.names.clone(),
            r.urls.clone(),
        )
    };
    let rules = merge(rules, whole);
    let rules = merge(rules, |r| {
        (
            r.groups.clone(),
            r.names.clone(),
            r.urls.clone(),
            r.verbs.clone(),
        )
    });
    let rules = merge(rules, |r| {
        (
            r.resources.clone(),
            r.names.clone(),
            r.urls.clone(),
            r.verbs.clone(),
        )
    });
    let rules = merge(rules, |r| {
        (
            r.groups.clone(),
            r.resources.clone(),
            r.names.clone(),
            r.verbs.clone(),
        )
    });
    // Merged groups may equal other merged groups; controller-gen then loses one of the two.
    let mut rules = merge(rules, whole);
    rules.sort_by_cached_key(order);
    // Last: otherwise a rule with all verbs would absorb narrower rules and apply to their groups.
    for rule in &mut rules {
        if rule.verbs.contains("*") {
            rule.verbs = Set::from(["*".to_owned()]);
        }
    }
    rules
}

/// Merges all rules with the same `key` into one.
fn merge<K: Ord>(rules: Vec<Rule>, key: impl Fn(&Rule) -> K) -> Vec<Rule> {
    let mut merged: BTreeMap<K, Rule> = BTreeMap::new();
    for rule in rules {
        let into = merged.entry(key(&rule)).or_default();
        into.groups.extend(rule.groups);
        into.resources.extend(rule.resources);
        into.names.extend(rule.names);
        into.urls.extend(rule.urls);
        into.verbs.extend(rule.verbs);
    }
    merged.into_values().collect()
}

/// controller-gen's sort key, so that the order stays the same when a project migrates from it.
fn order(rule: &Rule) -> String {
    let join = |set: &Set| set.iter().map(String::as_str).collect::<Vec<_>>().join("&");
    [&rule.groups, &rule.resources, &rule.names, &rule.urls]
        .map(join)
        .join(" + ")
}

#[cfg(test)]
mod tests;
