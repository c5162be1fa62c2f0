use super::super::access::arguments;
use super::*;
use crate::markers::markers;
use crate::rbac;
use kbr_scaffold::rust::Source;
use serde_json::json;

fn role(kind: &str, namespace: Option<&str>, name: &str, rules: &Value) -> Value {
    let meta = json!({ "name": name, "namespace": namespace });
    json!({ "kind": kind, "metadata": meta, "rules": rules })
}

fn binding(kind: &str, namespace: Option<&str>, name: &str, account: &str) -> Value {
    json!({
        "kind": format!("{kind}Binding"),
        "metadata": { "name": name, "namespace": namespace },
        "roleRef": { "kind": if name == "shared" { "ClusterRole" } else { kind }, "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": "crew-system" }],
    })
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

/// Each permission as its location, its marker's arguments, and its namespaces.
fn check(objects: &[Value], source: &str, expected: &[&str]) {
    let identity = Identity {
        namespace: "crew-system".to_owned(),
        account: "crew".to_owned(),
        watched: None,
    };
    let markers = markers(&Source::new("a.rs", source), &mut Vec::new());
    let sources = rbac::sources("manager", &markers);
    let shown = |permission: Permission| {
        let all = [&permission.access].into_iter().collect();
        let spaces: Vec<_> = permission.namespaces.iter().map(String::as_str).collect();
        let arguments = arguments(&all).join("");
        format!("{}: {arguments} {}", permission.at, spaces.join(" "))
    };
    let found = permissions(objects, &identity, &sources);
    let found: Vec<_> = found.into_iter().map(shown).collect();
    let found: Vec<_> = found.iter().map(|line| line.trim_end()).collect();
    assert_eq!(found, expected);
}

#[test]
fn only_roles_that_are_bound_to_the_operator_count() {
    let pods = &json!([rule("", &["pods"], &["get"])]);
    let secrets = &json!([rule("", &["secrets"], &["get"])]);
    let objects = [
        role("ClusterRole", None, "viewer", secrets),
        role("ClusterRole", None, "manager", pods),
        role("ClusterRole", None, "other", secrets),
        binding("ClusterRole", None, "manager", "crew"),
        binding("ClusterRole", None, "other", "prometheus"),
        binding("ClusterRole", None, "view", "crew"),
    ];
    let get = "ClusterRole `manager`: groups=core,resources=pods,verbs=get";
    check(&objects, "", &[get]);
}

#[test]
fn a_rule_is_one_permission_for_each_verb_resource_name_and_url() {
    let rules = json!([
        rule("apps", &["deployments", "deployments/status"], &["get", "patch"]),
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get"] },
        { "nonResourceURLs": ["/a", "/b/*"], "verbs": ["get"] },
    ]);
    let objects = [
        role("ClusterRole", None, "x", &rules),
        binding("ClusterRole", None, "x", "crew"),
    ];
    let expected = [
        "urls=/a,verbs=get",
        "urls=/b/*,verbs=get",
        "groups=core,resources=secrets,resourceNames=a,verbs=get",
        "groups=core,resources=secrets,resourceNames=b,verbs=get",
        "groups=apps,resources=deployments,verbs=get",
        "groups=apps,resources=deployments,verbs=patch",
        "groups=apps,resources=deployments/status,verbs=get",
        "groups=apps,resources=deployments/status,verbs=patch",
    ];
    let expected = expected.map(|it| format!("ClusterRole `x`: {it}"));
    check(&objects, "", &expected.each_ref().map(String::as_str));
}

#[test]
fn a_permission_names_the_markers_that_grant_it() {
    let rules = json!([
        rule("", &["pods"], &["get", "list"]),
        rule("batch", &["jobs"], &["*"]),
    ]);
    let objects = [
        role("ClusterRole", None, "manager", &rules),
        binding("ClusterRole", None, "manager", "crew"),
    ];
    let source = "// +kbr:rbac:groups=core,resources=pods,verbs=get\n\
        // +kbr:rbac:groups=core,resources=pods;secrets,verbs=get;list\n\
        // +kbr:rbac:groups=batch,resources=jobs,verbs=get;*\n\
        // +kbr:rbac:groups=core,resources=pods,verbs=list,roleName=another\n";
    let expected = [
        "a.rs:1, a.rs:2: groups=core,resources=pods,verbs=get",
        "a.rs:2: groups=core,resources=pods,verbs=list",
        "a.rs:3: groups=batch,resources=jobs,verbs=*",
    ];
    check(&objects, source, &expected);
}

#[test]
fn a_role_for_several_namespaces_is_granted_in_each() {
    let rules = json!([rule("", &["pods"], &["get"])]);
    let objects = [
        role("Role", Some("team-a"), "manager", &rules),
        role("Role", Some("team-b"), "manager", &rules),
        role("ClusterRole", None, "shared", &rules),
        binding("Role", Some("team-a"), "manager", "crew"),
        binding("Role", Some("team-b"), "manager", "crew"),
        binding("Role", Some("team-c"), "shared", "crew"),
    ];
    let source = "// +kbr:rbac:groups=core,resources=pods,verbs=get\n";
    let expected = [
        "a.rs:1: groups=core,resources=pods,verbs=get team-a team-b",
        "ClusterRole `shared`: groups=core,resources=pods,verbs=get team-c",
    ];
    check(&objects, source, &expected);
}

#[test]
fn a_role_counts_in_its_namespace_and_in_that_of_a_test() {
    let asked = Access {
        resource: "pods".to_owned(),
        verb: "get".to_owned(),
        ..Access::default()
    };
    let covers = |granted: &str, namespace: &str| {
        let permission = Permission {
            at: Place::Role(String::new()),
            access: asked.clone(),
            namespaces: BTreeSet::from([granted.to_owned()]),
        };
        permission.covers(&asked, namespace, "test-a")
    };
    assert!(covers("", "") && covers("", "zoo"));
    assert!(covers("zoo", "zoo") && covers("crew-system", "test-a"));
    assert!(!covers("zoo", "") && !covers("zoo", "park"));
}
