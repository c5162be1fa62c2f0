//! Invalid names, and the suggested replacements.

use super::*;

#[test]
fn versions_follow_the_rules_of_kubernetes() {
    for good in ["v1", "v2", "v10", "v1alpha1", "v2beta3", "v11beta22"] {
        resource("crew", "example.com", good, "Captain");
    }
    for (bad, proposal) in [
        ("1", "v1"),
        ("v1.2", "v1"),
        ("V1", "v1"),
        ("v1alpha", "v1alpha1"),
        ("v0", "v1"),
        ("v01", "v1"),
        ("v1alpha0", "v1alpha1"),
        ("v1-beta1", "v1beta1"),
        ("v2Beta3", "v2beta3"),
        ("alpha", "v1alpha1"),
        ("v1gamma1", "v1"),
        ("v1alpha1beta1", "v1alpha1"),
        ("v1 ", "v1"),
        ("v１", "v1"),
        ("", "v1"),
    ] {
        let error = rejection("crew", "example.com", bad, "Captain");
        assert!(
            error.starts_with(&format!("`{bad}` is not an API version")),
            "{error}"
        );
        assert!(
            error.ends_with(&format!("help: try `--version {proposal}`")),
            "{error}"
        );
    }
}

#[test]
fn kinds_that_clash_with_the_generated_code_are_rejected_with_another_name() {
    let long = format!("K{}", "k".repeat(59));
    for (bad, proposal) in [
        ("captain", "Captain"),
        ("my-kind", "MyKind"),
        ("My_Kind", "MyKind"),
        ("3Scale", "Scale"),
        ("Käse", "KSe"),
        ("", "Captain"),
        ("日本", "Captain"),
        ("Self", "AppSelf"),
        ("self", "AppSelf"),
        ("Option", "AppOption"),
        ("String", "AppString"),
        ("FooList", "Foo"),
        ("List", "Listing"),
        ("FooListList", "Foo"),
        ("OptionList", "AppOption"),
        (long.as_str(), &long[..59]),
    ] {
        let error = rejection("crew", "example.com", "v1", bad);
        assert!(
            error.ends_with(&format!("help: try `--kind {proposal}`")),
            "{bad}: {error}"
        );
    }
    for good in [
        "A",
        "Type",
        "Box",
        "Result",
        "Some",
        "Clone",
        "B2",
        "HTTPRoute",
        "ABCDEFGH",
    ] {
        resource("crew", "example.com", "v1", good);
    }
}

#[test]
fn groups_that_the_api_server_would_reject_are_rejected() {
    for (group, domain, reason) in [
        ("", "", "both group and domain are empty"),
        ("Crew", "example.com", "`Crew.example.com` is not a group"),
        ("crew", "-example.com", "`crew.-example.com` is not a group"),
        ("a_b", "example.com", "`a_b.example.com` is not a group"),
        ("crew", "", "`crew` is not a full group"),
        (
            "crew",
            "k8s.io",
            "`crew.k8s.io` belongs to the Kubernetes project",
        ),
        (
            "kubernetes.io",
            "",
            "`kubernetes.io` belongs to the Kubernetes project",
        ),
    ] {
        let error = rejection(group, domain, "v1", "Captain");
        assert!(error.starts_with(reason), "{error}");
    }
    resource("crew", "x-k8s.io", "v1", "Captain");
    resource("crew", "mykubernetes.io", "v1", "Captain");
}

#[test]
fn all_errors_are_reported_at_once() {
    let error = rejection("Crew", "example.com", "1", "captain");
    assert!(error.starts_with("3 problems\n"), "{error}");
    assert_eq!(error.matches("\nhelp: ").count(), 3, "{error}");
}

#[test]
fn names_for_kubectl_are_labels() {
    let check = |change: fn(&mut ApiFlags)| {
        let mut wanted = wanted("crew", "example.com", "v1", "Captain");
        change(&mut wanted);
        Resource::new(&wanted).map_err(|error| error.to_string())
    };
    let same = check(|wanted| wanted.plural = Some("captain".to_owned())).unwrap();
    assert_eq!(
        (same.plural.as_str(), same.singular.as_str()),
        ("captain", "captain")
    );
    let error = check(|wanted| wanted.plural = Some("Captains".to_owned())).unwrap_err();
    assert!(error.ends_with("help: try `--plural captains`"), "{error}");
    let error = check(|wanted| wanted.singular = Some("1cap".to_owned())).unwrap_err();
    assert!(error.ends_with("help: try `--singular cap`"), "{error}");
    let error = check(|wanted| wanted.short_names = vec!["CAP".to_owned()]).unwrap_err();
    assert!(error.ends_with("help: try `--short-name cap`"), "{error}");
    let error = check(|wanted| wanted.short_names = vec!["cap".to_owned(); 2]).unwrap_err();
    assert!(error.starts_with("duplicate short name `cap`"), "{error}");
}

fn rejection(group: &str, domain: &str, version: &str, kind: &str) -> String {
    Resource::new(&wanted(group, domain, version, kind))
        .unwrap_err()
        .to_string()
}
