//! Which markers are rejected, and what their problems say.

use super::*;

#[test]
fn rules_that_the_api_server_would_reject_are_rejected() {
    rejected("groups=g,resources=a", "`verbs` is missing");
    rejected("groups=g,verbs=get", "`resources` or `urls` is missing");
    rejected("resources=a,verbs=get", "`groups` is missing");
    rejected("groups=,resources=a,verbs=get", "`groups` is missing");
    rejected(
        "groups=g,resources=a,urls=/a,verbs=get",
        "both `resources` and `urls`",
    );
    rejected("urls=/a,verbs=get,namespace=n", "cannot have a `namespace`");
    rejected("urls=/a,resourceNames=x,verbs=get", "need `resources`");
    rejected(
        "groups=g,resources=a,verbs=get,namespace=a;b",
        "takes one value",
    );
    rejected("groups=g,resources=a;\"\",verbs=get", "a value is empty");
}

#[test]
fn unknown_arguments_and_verbs_are_rejected_with_the_nearest_name() {
    rejected(
        "groups=g,resources=a,resourceName=x,verbs=get",
        "did you mean `resourceNames`",
    );
    rejected(
        "groups=apps,resources=deployments,verbs=lits",
        "did you mean `list`",
    );
    rejected(
        "groups=apps,resources=deployments,verbs=read",
        "unknown verb `read`",
    );
    rejected(
        "groups=crew.example.com,resources=captains,verbs=GET",
        "did you mean `get`",
    );
}

#[test]
fn verbs_of_constrained_impersonation_are_known() {
    check(
        &["groups=core,resources=users,verbs=impersonate:user-info;impersonate-on:user-info:list"],
        &[
            "= /manager-role",
            " / users /  /  : impersonate-on:user-info:list;impersonate:user-info",
        ],
    );
}

#[test]
fn resources_that_no_group_of_the_rule_has_are_rejected_with_the_nearest_name() {
    rejected(
        "groups=apps,resources=deployment,verbs=get",
        "`deployment` is not a resource of group `apps`\n    help: did you mean `deployments`",
    );
    rejected(
        "groups=core,resources=Pods,verbs=get",
        "did you mean `pods`",
    );
    rejected(
        "groups=networking.k8s.io,resources=ingress/status,verbs=get",
        "did you mean `ingresses`",
    );
    rejected(
        "groups=core,resources=deployments,verbs=get",
        "`deployments` is not a resource of group `core`\n    help: it is in `groups=apps`",
    );
    rejected(
        "groups=apps;core,resources=jobs,verbs=get",
        "`jobs` is not a resource of group `core` or `apps`",
    );
}

#[test]
fn groups_that_do_not_exist_are_rejected_with_the_nearest_name() {
    for (group, right) in [
        ("crew", "crew.example.com"),
        ("crew.exampel.com", "crew.example.com"),
        ("networking", "networking.k8s.io"),
        ("apps/v1", "apps"),
        ("app", "apps"),
        ("crew.example.com/v1", "crew.example.com"),
    ] {
        let text = format!("`{group}` is not a known group\n    help: did you mean `{right}`");
        rejected(
            &format!("groups={group},resources=captains,verbs=get"),
            &text,
        );
    }
    let (_, problems) = roles(&[
        "groups=crew.example.org.uk;argoproj.io;metrics.k8s.io;*,resources=a,verbs=get",
        "groups=extensions;cluster.x-k8s.io,resources=a,verbs=get",
    ]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn sub_resources_that_a_kind_does_not_have_are_rejected_with_the_nearest_name() {
    for (resource, right) in [
        (
            "crew.example.com,resources=captains/stauts",
            "did you mean `captains/status`",
        ),
        (
            "crew.example.com,resources=captains/finalizer",
            "did you mean `captains/finalizers`",
        ),
        (
            "crew.example.com,resources=captains/scale",
            "`captains` has no sub-resource `scale`\n    help: it has `status`, `finalizers`",
        ),
        (
            "apps,resources=deployments/stat",
            "`deployments` has no sub-resource `stat`",
        ),
        (
            "apps,resources=deployments/scal",
            "did you mean `deployments/scale`",
        ),
        (
            "apps,resources=daemonsets/scale",
            "`daemonsets` has no sub-resource `scale`",
        ),
        ("core,resources=pods/logs", "did you mean `pods/log`"),
        (
            "core;apps,resources=pods/evict",
            "`pods` has no sub-resource `evict`",
        ),
    ] {
        rejected(&format!("groups={resource},verbs=get"), right);
    }
    let (_, problems) = roles(&[
        "groups=crew.example.com,resources=captains/status;captains/finalizers;captains/*;ships/steer,verbs=get",
        "groups=core,resources=pods/log;pods/eviction;nodes/metrics;nodes/proxy;serviceaccounts/token;services/finalizers,verbs=get",
        "groups=apps,resources=deployments/scale;deployments/status;*/scale,verbs=get",
        "groups=metrics.k8s.io,resources=pods/anything,verbs=get",
    ]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn resources_that_a_group_of_the_rule_has_or_may_have_are_accepted() {
    let (_, problems) = roles(&[
        "groups=apps;core,resources=deployments;pods/exec,verbs=get",
        "groups=apps;extensions,resources=ingresses,verbs=get",
        "groups=authentication.k8s.io,resources=tokenreviews,verbs=create",
        "groups=metrics.k8s.io,resources=pods,verbs=get",
        "groups=core,resources=*;*/scale,verbs=get",
        "groups=*,resources=anything,verbs=get",
        "groups=core,resources=users,verbs=impersonate",
        "groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get",
    ]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn kinds_of_the_project_are_known_and_other_kinds_may_share_their_group() {
    rejected(
        "groups=crew.example.com,resources=captain/status,verbs=get",
        "`captain` is not a resource of group `crew.example.com`\n    help: did you mean `captains`",
    );
    let (_, problems) = roles(&[
        "groups=crew.example.com,resources=captains;captains/status;ships,verbs=get",
        "groups=apps;crew.example.com,resources=boats,verbs=get",
    ]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn external_groups_may_have_verbs_of_their_own() {
    check(
        &["groups=argoproj.io,resources=applications,verbs=override"],
        &[
            "= /manager-role",
            "argoproj.io / applications /  /  : override",
        ],
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let (_, problems) = roles(&[
        "groups=g,resources=a",
        "groups=g,resources=a,verb=get,verbs=gte",
    ]);
    assert_eq!(problems.len(), 3);
    assert!(problems[1].starts_with("`a.rs:2`") && problems[2].starts_with("`a.rs:2`"));
}

#[test]
fn a_name_unknown_to_kbr_is_allowed_by_its_comment() {
    let problems = |source: &str| {
        let mut problems = Vec::new();
        let mut found = markers(&Source::new("a.rs", source), &mut problems);
        found.retain(|marker| marker.name == "rbac");
        Roles::new("manager-role", &found, &own(), &mut problems);
        problems.iter().map(ToString::to_string).collect::<String>()
    };
    let fleets = "// +kbr:rbac:groups=apps,resources=fleets,verbs=get\n";
    let allow = "// +kbr:lint:allow=unknown-resource\n";
    let rejected = "`a.rs:1`: `fleets` is not a resource of group `apps`\n    help: if your Kubernetes is newer than this kbr and has it, write above it `// +kbr:lint:allow=unknown-resource`";
    assert_eq!(problems(fleets), rejected);
    assert_eq!(problems(&format!("{allow}{fleets}")), "");
    assert_eq!(problems(&format!("// Why.\n{allow}//\n{fleets}")), "");
    assert_ne!(
        problems(&format!("{allow}\n{fleets}")),
        "",
        "another comment"
    );
    let verb = "// +kbr:rbac:groups=apps,resources=deployments,verbs=sail\n";
    assert_ne!(problems(&format!("{allow}{verb}")), "", "another finding");
    let allow = "// +kbr:lint:allow=unknown-verb\n";
    assert_eq!(problems(&format!("{allow}{verb}")), "");
}
