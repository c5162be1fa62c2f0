//! The objects.

use super::*;

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
