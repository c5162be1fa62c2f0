//! What the operator's role allows.
//!
//! Source: `k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go`.

use std::fmt;

use apiserver_rules::rbac;
use hyper::Method;
use manager::harness::comment;
use serde::Deserialize;
use serde_json::Value;

use crate::server::Call;

/// The rules of roles, each with the namespace in which it holds: a `Role` holds in its own, a `ClusterRole` in all.
#[derive(Clone, Debug, Default)]
pub(super) struct Permissions(Vec<(Option<String>, Rule)>);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    resource_names: Vec<String>,
}

/// What a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    verb: &'static str,
    group: String,
    /// With the subresource, such as `pods/status`.
    resource: String,
    namespace: String,
    name: String,
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, verb) = (&self.resource, self.verb);
        let comment = comment(&self.group, resource, verb);
        let comment = comment.trim_start_matches("// ");
        write!(f, "`{verb}` on {resource} ({comment})")
    }
}

impl Permissions {
    /// Those of these `Role` and `ClusterRole` objects.
    pub(super) fn of(roles: &[Value]) -> Self {
        let rules_of = |role: &Value| {
            let allowed: Vec<Rule> =
                serde_json::from_value(role["rules"].clone()).unwrap_or_default();
            let is_namespaced = role["kind"] == "Role";
            let namespace = role["metadata"]["namespace"].as_str();
            let namespace = namespace.filter(|_| is_namespaced).map(str::to_owned);
            let each = allowed.into_iter();
            each.map(move |rule| (namespace.clone(), rule))
                .collect::<Vec<_>>()
        };
        Self(roles.iter().flat_map(rules_of).collect())
    }

    /// What a request needs and these rules do not allow. Leader election has a role of its own.
    pub(super) fn missing(&self, call: &Call, exists: bool) -> Option<Needed> {
        let election = call.path.plural == "leases" && call.path.group() == "coordination.k8s.io";
        let reviews = call.path.plural.ends_with("reviews");
        if election || reviews {
            return None;
        }
        let needed = verbs(call, exists)
            .into_iter()
            .map(|verb| needed(call, verb));
        needed.into_iter().find(|needed| !self.allow(needed))
    }

    /// Whether anything is allowed in a namespace.
    pub(super) fn reach(&self, namespace: &str) -> bool {
        let mut namespaces = self.0.iter().map(|(it, _)| it.as_deref());
        namespaces.any(|it| it.is_none_or(|it| it == namespace))
    }

    fn allow(&self, needed: &Needed) -> bool {
        let mut rules = self.0.iter();
        rules.any(|(namespace, rule)| {
            namespace
                .as_ref()
                .is_none_or(|here| *here == needed.namespace)
                && rule.allows(needed)
        })
    }
}

impl Rule {
    fn allows(&self, needed: &Needed) -> bool {
        let (verbs, groups) = (&self.verbs, &self.api_groups);
        verbs.iter().any(|it| rbac::allows_verb(it, needed.verb))
            && groups
                .iter()
                .any(|it| rbac::allows_group(it, &needed.group))
            && self
                .resources
                .iter()
                .any(|it| rbac::allows_resource(it, &needed.resource))
            && rbac::allows_name(&self.resource_names, &needed.name)
    }
}

fn needed(call: &Call, verb: &'static str) -> Needed {
    let path = &call.path;
    let resource = match path.subresource.as_str() {
        "" => path.plural.clone(),
        subresource => format!("{}/{subresource}", path.plural),
    };
    Needed {
        verb,
        group: path.group().to_owned(),
        resource,
        namespace: path.namespace.clone(),
        // The API server does not know the name of what is created from the URL.
        name: path.name.clone(),
    }
}

/// An apply that creates an object needs `create` as well.
fn verbs(call: &Call, exists: bool) -> Vec<&'static str> {
    let one = !call.path.name.is_empty();
    let applies = call.media_type.starts_with("application/apply-patch");
    match call.method {
        Method::GET if call.watches() => vec!["watch"],
        Method::GET if one => vec!["get"],
        Method::GET => vec!["list"],
        Method::POST => vec!["create"],
        Method::PUT => vec!["update"],
        Method::PATCH if applies && !exists => vec!["patch", "create"],
        Method::PATCH => vec!["patch"],
        Method::DELETE if one => vec!["delete"],
        _ => vec!["deletecollection"],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::server::Path;

    fn call(method: Method, path: &str, media_type: &str) -> Call {
        Call {
            method,
            path: Path::parse(path).unwrap(),
            query: BTreeMap::new(),
            media_type: media_type.to_owned(),
            accept: String::new(),
            agent: String::new(),
            body: Value::Null,
        }
    }

    #[test]
    fn a_rule_allows_its_verbs_on_its_resources() {
        let roles = [
            json!({"kind": "ClusterRole", "rules": [
                {"apiGroups": ["apps"], "resources": ["deployments", "*/status"], "verbs": ["get", "patch"]},
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["*"]},
            ]}),
            json!({"kind": "Role", "metadata": {"namespace": "here"}, "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            ]}),
        ];
        let permissions = Permissions::of(&roles);
        let missing = |method: Method, path: &str, media_type: &str| {
            let missing = permissions.missing(&call(method, path, media_type), false);
            missing.map(|needed| needed.to_string())
        };
        let (get, apply) = (Method::GET, "application/apply-patch+yaml");
        let one = "/apis/apps/v1/namespaces/here/deployments/a";
        assert_eq!(missing(get.clone(), one, ""), None);
        assert_eq!(missing(Method::PATCH, &format!("{one}/status"), "x"), None);
        assert_eq!(
            missing(Method::PATCH, one, apply).unwrap(),
            "`create` on deployments (+kbr:rbac:groups=apps,resources=deployments,verbs=create)"
        );
        assert!(missing(get.clone(), "/apis/apps/v1/deployments", "").is_some());
        assert_eq!(
            missing(get.clone(), "/api/v1/namespaces/here/pods", ""),
            None
        );
        assert!(missing(get.clone(), "/api/v1/namespaces/there/pods", "").is_some());
        assert_eq!(
            missing(get.clone(), "/api/v1/namespaces/a/secrets/one", ""),
            None
        );
        assert!(missing(get, "/api/v1/namespaces/a/secrets/two", "").is_some());
    }
}
