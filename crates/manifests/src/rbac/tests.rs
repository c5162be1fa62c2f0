use super::super::markers::markers;
use super::*;
use kbr_scaffold::rust::Source;

mod golden;

fn roles(markers_text: &[&str]) -> (Roles, Vec<String>) {
    let lines: Vec<String> = markers_text
        .iter()
        .map(|text| format!("// +kbr:rbac:{text}"))
        .collect();
    let source = lines.join("\n");
    let mut problems = Vec::new();
    let found = markers(&Source::new("a.rs", &source), &mut problems);
    let roles = Roles::new("manager-role", &found, &own(), &mut problems);
    (roles, problems.iter().map(ToString::to_string).collect())
}

/// The project's own kinds.
fn own() -> Vec<(String, String)> {
    vec![("crew.example.com".to_owned(), "captains".to_owned())]
}

/// Each rule as `groups / resources / names / urls : verbs`, under its role as `namespace/name`.
fn check(markers: &[&str], expected: &[&str]) {
    let (roles, problems) = roles(markers);
    assert_eq!(problems, [""; 0]);
    let join = |set: &Set| set.iter().map(String::as_str).collect::<Vec<_>>().join(";");
    let shown: Vec<String> = roles
        .0
        .iter()
        .flat_map(|((namespace, name), rules)| {
            let head = format!("= {namespace}/{name}");
            let lines = rules.iter().map(|r| {
                let of = [&r.groups, &r.resources, &r.names, &r.urls].map(join);
                format!("{} : {}", of.join(" / "), join(&r.verbs))
            });
            std::iter::once(head).chain(lines).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shown, expected);
}

fn rejected(marker: &str, reason: &str) {
    let (_, problems) = roles(&[marker]);
    let [problem] = &problems[..] else {
        panic!("one problem with {marker}, not {problems:?}");
    };
    assert!(
        problem.starts_with("`a.rs:1`: ") && problem.contains(reason),
        "{problem}"
    );
}

#[test]
fn a_project_without_rules_has_an_empty_role() {
    check(&[], &["= /manager-role"]);
}

#[test]
fn verbs_of_the_same_resource_are_united() {
    check(
        &[
            "groups=g,resources=a,verbs=get;list",
            "groups=g,resources=a,verbs=watch;get",
        ],
        &["= /manager-role", "g / a /  /  : get;list;watch"],
    );
}

#[test]
fn resources_with_the_same_verbs_are_one_rule() {
    check(
        &[
            "groups=g,resources=b,verbs=get",
            "groups=g,resources=a,verbs=get",
            "groups=g,resources=c,verbs=list",
        ],
        &[
            "= /manager-role",
            "g / a;b /  /  : get",
            "g / c /  /  : list",
        ],
    );
}

#[test]
fn resources_of_one_marker_are_separated_when_their_verbs_differ() {
    check(
        &[
            "groups=g,resources=a;b,verbs=get",
            "groups=g,resources=b,verbs=list",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : get",
            "g / b /  /  : get;list",
        ],
    );
}

#[test]
fn rules_that_differ_only_in_their_group_are_merged() {
    check(
        &[
            "groups=g1.x.io,resources=a,verbs=get",
            "groups=g2.x.io;g2.x.io,resources=a,verbs=get",
        ],
        &["= /manager-role", "g1.x.io;g2.x.io / a /  /  : get"],
    );
}

#[test]
fn urls_with_the_same_verbs_are_one_rule_and_come_first() {
    check(
        &[
            "groups=core,resources=pods,verbs=get",
            "urls=/b,verbs=get",
            "urls=/a,verbs=get",
        ],
        &[
            "= /manager-role",
            " /  /  / /a;/b : get",
            " / pods /  /  : get",
        ],
    );
}

#[test]
fn core_is_the_empty_group_before_anything_is_merged() {
    check(
        &[
            "groups=core,resources=pods,verbs=list",
            "groups=\"\",resources=secrets,verbs=list",
            "groups=core;\"\";x.io,resources=secrets,verbs=list;get",
        ],
        &[
            "= /manager-role",
            " / pods;secrets /  /  : list",
            ";x.io / secrets /  /  : get;list",
        ],
    );
}

#[test]
fn a_rule_with_resource_names_is_not_merged() {
    check(
        &[
            "groups=g,resources=a,verbs=get",
            "groups=g,resources=a,resourceNames=y;x,verbs=get",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : get",
            "g / a / x;y /  : get",
        ],
    );
}

#[test]
fn all_verbs_are_one_verb_but_do_not_absorb_other_rules() {
    check(
        &[
            "groups=g,resources=a,verbs=get;*",
            "groups=g,resources=b,verbs=*",
            "groups=g,resources=c,verbs=get",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : *",
            "g / b /  /  : *",
            "g / c /  /  : get",
        ],
    );
}

#[test]
fn subresources_are_resources_and_sort_behind_their_resource() {
    check(
        &[
            "groups=g,resources=a/status,verbs=patch",
            "groups=g,resources=a,verbs=get",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : get",
            "g / a/status /  /  : patch",
        ],
    );
}

#[test]
fn equal_merged_groups_lose_no_verb() {
    check(
        &[
            "groups=a;b,resources=r,verbs=get",
            "groups=c,resources=r,verbs=get",
            "groups=a,resources=r,verbs=list",
            "groups=b;c,resources=r,verbs=list",
        ],
        &["= /manager-role", "a;b;c / r /  /  : get;list"],
    );
}

#[test]
fn each_namespace_and_role_name_is_a_separate_role() {
    check(
        &[
            "groups=g,resources=a,verbs=get,namespace=zoo",
            "groups=h,resources=a,verbs=get,namespace=zoo",
            "groups=g,resources=a,verbs=get,namespace=park,roleName=ranger",
            "groups=g,resources=a,verbs=get,roleName=other",
        ],
        &[
            "= /manager-role",
            "= /other",
            "g / a /  /  : get",
            "= park/ranger",
            "g / a /  /  : get",
            "= zoo/manager-role",
            "g;h / a /  /  : get",
        ],
    );
}

#[test]
fn rules_that_the_api_server_would_reject_are_rejected() {
    rejected("groups=g,resources=a", "`verbs` is missing");
    rejected("groups=g,verbs=get", "`resources` or `urls` is missing");
    rejected("resources=a,verbs=get", "`groups` is missing");
    rejected("groups=,resources=a,verbs=get", "`groups` is missing");
    rejected("groups=g,resources=a,urls=/a,verbs=get", "not for both");
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
        "`read` is not a verb",
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
fn manifests_are_valid_role_objects() {
    let (roles, _) = roles(&[
        "urls=/a,verbs=get",
        "groups=g,resources=a,resourceNames=x,verbs=get,namespace=n",
    ]);
    let [cluster, role] = &roles.manifests()[..] else {
        panic!("two roles");
    };
    assert_eq!(cluster["kind"], "ClusterRole");
    assert_eq!(
        cluster["rules"],
        json!([{ "nonResourceURLs": ["/a"], "verbs": ["get"] }])
    );
    assert_eq!(
        role["metadata"],
        json!({ "name": "manager-role", "namespace": "n" })
    );
    let expected = json!([{ "apiGroups": ["g"], "resources": ["a"], "resourceNames": ["x"], "verbs": ["get"] }]);
    assert_eq!((&role["kind"], &role["rules"]), (&json!("Role"), &expected));
}

#[test]
fn an_operator_of_namespaces_keeps_the_rules_for_what_is_in_none() {
    let (roles, _) = roles(&[
        "urls=/a,verbs=get",
        "groups=g;h,resources=a;b;b/status,verbs=get",
    ]);
    let [role, cluster] = roles.namespaced("manager-role", |group, plural| {
        (group, plural) == ("g", "b")
    });
    let metadata = json!({ "name": "manager-role" });
    assert_eq!(
        (&role["kind"], &role["metadata"]),
        (&json!("Role"), &metadata)
    );
    let expected = json!([
        { "apiGroups": ["g"], "resources": ["a"], "verbs": ["get"] },
        { "apiGroups": ["h"], "resources": ["a", "b", "b/status"], "verbs": ["get"] },
    ]);
    assert_eq!(role["rules"], expected);
    assert_eq!(
        (&cluster["kind"], &cluster["metadata"]),
        (&json!("ClusterRole"), &metadata)
    );
    let expected = json!([
        { "nonResourceURLs": ["/a"], "verbs": ["get"] },
        { "apiGroups": ["g"], "resources": ["b", "b/status"], "verbs": ["get"] },
    ]);
    assert_eq!(cluster["rules"], expected);
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
