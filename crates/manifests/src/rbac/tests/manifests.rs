//! The objects.

use super::*;

#[test]
fn manifests_are_valid_role_objects() {
    let (roles, _) = roles(&[
        "urls=/a,verbs=get",
        "groups=g,resources=a,resourceNames=x,verbs=get,namespace=n",
    ]);
    let account = json!({ "kind": "ServiceAccount", "name": "operator", "namespace": "system" });
    let manifests = roles.manifests("manager-role", &account, &[]);
    let [cluster, role, binding] = &manifests[..] else {
        panic!("two roles and a binding");
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
    assert_eq!(binding["kind"], "RoleBinding");
    assert_eq!(binding["metadata"], role["metadata"]);
    assert_eq!(binding["subjects"], json!([account]));
}

#[test]
fn each_role_is_bound_to_the_operator_unless_a_file_binds_it() {
    let (roles, problems) = roles(&[
        "groups=apps,resources=deployments,verbs=get",
        "groups=apps,resources=deployments,verbs=get,roleName=extra",
        "groups=apps,resources=deployments,verbs=get,namespace=infra",
        "groups=apps,resources=deployments,verbs=get,namespace=infra,roleName=extra",
    ]);
    assert_eq!(problems, [""; 0]);
    let shown = |bindings: &[Value]| {
        let manifests = roles.manifests("manager-role", &json!({}), bindings);
        let bindings = manifests.iter().filter(|it| it["roleRef"].is_object());
        let shown = bindings.map(|it| {
            let reference = &it["roleRef"];
            assert_eq!(it["metadata"]["name"], reference["name"]);
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            [
                &it["kind"],
                &it["metadata"]["namespace"],
                &reference["kind"],
                &reference["name"],
            ]
            .map(text)
            .join(" ")
        });
        shown.collect::<Vec<_>>()
    };
    let all = [
        "ClusterRoleBinding - ClusterRole extra",
        "RoleBinding infra Role extra",
        "RoleBinding infra Role manager-role",
    ];
    assert_eq!(shown(&[]), all);
    let own = |kind: &str, namespace: &str| json!({ "metadata": { "namespace": namespace }, "roleRef": { "kind": kind, "name": "extra" } });
    assert_eq!(shown(&[own("Role", "other")]), all);
    assert_eq!(shown(&[own("Role", "infra")]), [all[0], all[2]]);
    assert_eq!(shown(&[own("ClusterRole", "infra")]), all[1..]);
}

#[test]
fn an_operator_of_namespaces_keeps_the_rules_for_what_is_in_none() {
    let (roles, _) = roles(&[
        "urls=/a,verbs=get",
        "groups=g;h,resources=a;b;b/status,verbs=get",
        "groups=g,resources=b;c,verbs=get,roleName=extra",
        "groups=g,resources=d,verbs=get,namespace=n",
    ]);
    let (role, cluster) = roles.namespaced("manager-role", |group, plural| {
        (group, plural) == ("g", "b")
    });
    let metadata = json!({ "name": "manager-role" });
    assert_eq!(
        (&role["kind"], &role["metadata"]),
        (&json!("Role"), &metadata)
    );
    let expected = json!([
        { "apiGroups": ["g"], "resources": ["a", "c"], "verbs": ["get"] },
        { "apiGroups": ["h"], "resources": ["a", "b", "b/status"], "verbs": ["get"] },
    ]);
    assert_eq!(role["rules"], expected);
    let cluster: Vec<_> = cluster
        .iter()
        .map(|it| (&it["metadata"]["name"], &it["rules"]))
        .collect();
    let wide = json!([
        { "nonResourceURLs": ["/a"], "verbs": ["get"] },
        { "apiGroups": ["g"], "resources": ["b", "b/status"], "verbs": ["get"] },
    ]);
    let of_extra = json!([{ "apiGroups": ["g"], "resources": ["b"], "verbs": ["get"] }]);
    assert_eq!(
        cluster,
        [
            (&json!("extra"), &of_extra),
            (&json!("manager-role"), &wide)
        ]
    );
}
