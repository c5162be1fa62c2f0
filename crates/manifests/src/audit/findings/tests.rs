use super::super::event::{Decision, Verdict};
use super::super::granted::permissions;
use super::*;
use crate::markers::markers;
use crate::overlay::Identity;
use crate::rbac;
use kbr_scaffold::rust::Source;
use serde_json::{Value, json};

const ALLOWED: &str =
    "RBAC: allowed by ClusterRoleBinding \"manager-test-a\" of ClusterRole \"manager-test-a\"";

/// The operator's roles: one with the rules, and one for leader election.
fn objects(rules: &Value) -> Vec<Value> {
    let election = json!([{
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"],
    }]);
    let role = |kind: &str, name: &str, rules: &Value| json!({ "kind": kind, "metadata": { "name": name, "namespace": "crew-system" }, "rules": rules });
    let binding = |kind: &str, namespace: Option<&str>, name: &str| {
        json!({
            "kind": format!("{kind}Binding"),
            "metadata": { "name": name, "namespace": namespace },
            "roleRef": { "kind": kind, "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": "crew", "namespace": "crew-system" }],
        })
    };
    vec![
        role("ClusterRole", "manager", rules),
        role("Role", "election", &election),
        binding("ClusterRole", None, "manager"),
        binding("Role", Some("crew-system"), "election"),
    ]
}

/// `+` or `-`, then group, resource, verb and name, or URL and verb, then `@` and the namespace.
fn decision(line: &str) -> Decision {
    let (line, namespace) = line.split_once(" @").unwrap_or((line, ""));
    let words: Vec<&str> = line.split(' ').collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default().to_owned();
    let access = if words[1].starts_with('/') {
        Access {
            url: word(1),
            verb: word(2),
            ..Access::default()
        }
    } else {
        Access {
            group: word(1).replace("core", ""),
            resource: word(2),
            verb: word(3),
            name: word(4),
            url: String::new(),
        }
    };
    let verdict = match words[0] {
        "+" => Verdict::Allowed(ALLOWED.to_owned()),
        "system" => {
            let everybody = "RBAC: allowed by ClusterRoleBinding \"system:basic-user\" of X";
            Verdict::Allowed(everybody.to_owned())
        }
        _ => Verdict::Denied(format!("no {}", words[1..].join(" "))),
    };
    Decision {
        access,
        namespace: namespace.to_owned(),
        verdict,
    }
}

/// The report on these requests in the namespace `test-a`. The role has the rules of the markers.
#[track_caller]
fn check(rules: &[&str], requests: &[&str], denied: usize, expected: &str) {
    let source: Vec<_> = rules
        .iter()
        .map(|rule| format!("// +kbr:rbac:{rule}\n"))
        .collect();
    let mut problems = Vec::new();
    let markers = markers(&Source::new("a.rs", source.concat()), &mut problems);
    let generated = rbac::Roles::new("manager", &markers, &[], &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    let objects = objects(&generated.manifests("manager-role", &Value::Null, &[])[0]["rules"]);
    let identity = Identity {
        namespace: "crew-system".to_owned(),
        account: "crew".to_owned(),
        watched: None,
    };
    let sources = rbac::sources("manager", &markers);
    let permissions = permissions(&objects, &identity, &sources);
    let mut usage = Usage::new(&permissions);
    for request in requests {
        usage.add("test-a", &decision(request));
    }
    let found = report(&usage);
    assert_eq!(found.text, expected);
    assert_eq!(found.denied, denied);
}

const LEASE: &str = "+ coordination.k8s.io leases create @test-a";

#[test]
fn nothing_but_the_number_is_reported_if_every_permission_was_used() {
    check(
        &[
            "groups=core,resources=pods;pods/status,verbs=get",
            "urls=/metrics,verbs=get",
        ],
        &[
            LEASE,
            "+ core pods get a @b",
            "+ core pods/status get a @b",
            "+ /metrics get",
        ],
        0,
        "permissions used: 4 of 4\n",
    );
}

#[test]
fn permissions_that_were_never_used_are_reported_at_their_markers() {
    check(
        &[
            "groups=core,resources=pods;secrets,verbs=get;list;watch",
            "groups=core,resources=configmaps,resourceNames=a;b,verbs=get",
        ],
        &[
            "+ core pods list",
            "+ core configmaps get a @b",
            "+ core configmaps list a @b",
        ],
        0,
        "never used in these tests:\n  \
           a.rs:1: groups=core,resources=pods,verbs=get;watch\n  \
           a.rs:1: groups=core,resources=secrets,verbs=get;list;watch\n  \
           a.rs:2: groups=core,resources=configmaps,resourceNames=b,verbs=get\n  \
           Role `election`: groups=coordination.k8s.io,resources=leases,verbs=create\n\n\
         granted by roles outside of `config/default`:\n  \
           groups=core,resources=configmaps,verbs=list: allowed by ClusterRoleBinding \"manager-test-a\" of ClusterRole \"manager-test-a\"\n\n\
         permissions used: 2 of 9\n",
    );
}

#[test]
fn denied_requests_are_reported_with_the_comment_to_add() {
    check(
        &["groups=core,resources=pods,verbs=list"],
        &[
            LEASE,
            "+ core pods list",
            "- core secrets delete a @b",
            "- core secrets get a @b",
            "- core secrets delete c @b",
            "- apps deployments/scale patch a @b",
            "- /healthz get",
        ],
        4,
        "denied; write these comments where the controller is registered:\n  \
           // +kbr:rbac:urls=/healthz,verbs=get\n      \
               1 request: no /healthz get\n  \
           // +kbr:rbac:groups=core,resources=secrets,verbs=delete;get\n      \
               2 requests: no core secrets delete a\n      \
               1 request: no core secrets get a\n  \
           // +kbr:rbac:groups=apps,resources=deployments/scale,verbs=patch\n      \
               1 request: no apps deployments/scale patch a\n\n\
         permissions used: 2 of 2\n",
    );
}

#[test]
fn denied_requests_that_the_roles_grant_by_now_are_no_failure_and_no_use() {
    check(
        &["groups=core,resources=pods,verbs=get"],
        &[LEASE, "- core pods get a @b"],
        0,
        "denied, but now granted: the roles changed, or were not yet in effect:\n  \
           groups=core,resources=pods,verbs=get: 1 request\n\n\
         never used in these tests:\n  \
           a.rs:1: groups=core,resources=pods,verbs=get\n\n\
         permissions used: 1 of 2\n",
    );
}

#[test]
fn rules_with_wildcards_are_compared_with_what_was_used() {
    check(
        &[
            "groups=apps,resources=*,verbs=*",
            "groups=core,resources=pods,verbs=*",
            "urls=/debug/*,verbs=get",
        ],
        &[
            LEASE,
            "+ apps deployments list",
            "+ apps deployments patch a @b",
            "+ apps deployments patch c @b",
            "+ apps deployments/status get a @b",
            "+ /debug/a get",
        ],
        0,
        "wider than used:\n  \
           a.rs:1: groups=apps,resources=*,verbs=*\n      \
               used: groups=apps,resources=deployments,verbs=list;patch\n      \
               used: groups=apps,resources=deployments/status,verbs=get\n  \
           a.rs:3: urls=/debug/*,verbs=get\n      \
               used: urls=/debug/a,verbs=get\n\n\
         never used in these tests:\n  \
           a.rs:2: groups=core,resources=pods,verbs=*\n\n\
         permissions used: 3 of 4\n",
    );
}

#[test]
fn permissions_that_no_log_shows_do_not_count_as_unused() {
    check(
        &[
            "groups=a.b,resources=captains/finalizers,verbs=update",
            "groups=rbac.authorization.k8s.io,resources=roles,verbs=bind",
        ],
        &[LEASE],
        0,
        "not logged: the API server checks these within other requests:\n  \
           a.rs:1: groups=a.b,resources=captains/finalizers,verbs=update\n  \
           a.rs:2: groups=rbac.authorization.k8s.io,resources=roles,verbs=bind\n\n\
         permissions used: 1 of 1\n",
    );
}

#[test]
fn what_kubernetes_grants_to_everybody_is_not_reported() {
    check(
        &[],
        &[
            LEASE,
            "system authorization.k8s.io selfsubjectaccessreviews create",
            "system /version get",
        ],
        0,
        "permissions used: 1 of 1\n",
    );
}
