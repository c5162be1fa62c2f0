use super::controller::{Controller, default_names};
use super::*;

fn wanted(group: &str, domain: &str, version: &str, kind: &str) -> Wanted {
    Wanted {
        group: group.to_owned(),
        domain: domain.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        namespaced: true,
        ..Wanted::default()
    }
}

fn resource(group: &str, domain: &str, version: &str, kind: &str) -> Resource {
    Resource::new(&wanted(group, domain, version, kind)).unwrap()
}

fn refusal(group: &str, domain: &str, version: &str, kind: &str) -> String {
    Resource::new(&wanted(group, domain, version, kind))
        .unwrap_err()
        .to_string()
}

/// Group, domain, version and kind; then full group, plural, file of the type, type, and the controller's file, import and finalizer.
#[test]
fn every_name_follows_from_group_version_and_kind() {
    let table = [
        (
            ["crew", "example.com", "v1", "Captain"],
            [
                "crew.example.com",
                "captains",
                "api/src/crew/v1/captain.rs",
                "api::crew::v1::Captain",
                "src/controllers/captain.rs",
                "use api::crew::v1::Captain;",
                "crew.example.com/captain",
            ],
        ),
        (
            ["tsi", "tiduyun.com", "v1alpha1", "IPPool"],
            [
                "tsi.tiduyun.com",
                "ippools",
                "api/src/tsi/v1alpha1/ippool.rs",
                "api::tsi::v1alpha1::IPPool",
                "src/controllers/ippool.rs",
                "use api::tsi::v1alpha1::IPPool;",
                "tsi.tiduyun.com/ippool",
            ],
        ),
        (
            ["cnat.programming-kubernetes.info", "", "v1alpha1", "At"],
            [
                "cnat.programming-kubernetes.info",
                "ats",
                "api/src/cnat_programming_kubernetes_info/v1alpha1/at.rs",
                "api::cnat_programming_kubernetes_info::v1alpha1::At",
                "src/controllers/at.rs",
                "use api::cnat_programming_kubernetes_info::v1alpha1::At;",
                "cnat.programming-kubernetes.info/at",
            ],
        ),
        (
            ["", "hopegi.com", "v1", "EcsBinding"],
            [
                "hopegi.com",
                "ecsbindings",
                "api/src/hopegi_com/v1/ecsbinding.rs",
                "api::hopegi_com::v1::EcsBinding",
                "src/controllers/ecsbinding.rs",
                "use api::hopegi_com::v1::EcsBinding;",
                "hopegi.com/ecsbinding",
            ],
        ),
        (
            ["3scale", "net", "v2beta3", "Type"],
            [
                "3scale.net",
                "types",
                "api/src/g3scale/v2beta3/type_.rs",
                "api::g3scale::v2beta3::Type",
                "src/controllers/type_.rs",
                "use api::g3scale::v2beta3::Type;",
                "3scale.net/type",
            ],
        ),
        (
            ["bin", "my.domain", "v1", "Action"],
            [
                "bin.my.domain",
                "actions",
                "api/src/bin_/v1/action.rs",
                "api::bin_::v1::Action",
                "src/controllers/action.rs",
                "use api::bin_::v1::Action as ActionKind;",
                "bin.my.domain/action",
            ],
        ),
    ];
    for ([group, domain, version, kind], expected) in table {
        let resource = resource(group, domain, version, kind);
        let controller = Controller::own(resource.kind_lower(), &resource);
        let names = [
            resource.full_group.clone(),
            resource.plural.clone(),
            resource.path(),
            resource.type_path(),
            controller.path(),
            controller.type_use(),
            controller.finalizer("captains.example.com"),
        ];
        assert_eq!(names, expected);
    }
}

#[test]
fn a_kind_of_somebody_else_has_the_operators_own_finalizer() {
    let pod = kubernetes::find("core", "v1", "Pod").unwrap();
    let controller = Controller::kubernetes("pod".to_owned(), &pod);
    assert_eq!(
        controller.finalizer("captains.example.com"),
        "captains.example.com/pod"
    );
    assert_eq!(
        controller.type_use(),
        "use k8s_openapi::api::core::v1::Pod;"
    );
    assert_eq!(
        (controller.group.as_str(), controller.full_group.as_str()),
        ("core", "")
    );
}

#[test]
fn versions_are_those_of_kubernetes() {
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
        let error = refusal("crew", "example.com", bad, "Captain");
        assert!(
            error.starts_with(&format!("`{bad}` is not a version of an API")),
            "{error}"
        );
        assert!(
            error.ends_with(&format!("help: `--version {proposal}` would do")),
            "{error}"
        );
    }
}

#[test]
fn kinds_that_no_file_can_bear_are_refused_with_another_name() {
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
        let error = refusal("crew", "example.com", "v1", bad);
        assert!(
            error.ends_with(&format!("help: `--kind {proposal}` would do")),
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
fn groups_that_the_api_server_refuses_are_refused() {
    for (group, domain, reason) in [
        ("", "", "group and domain are both empty"),
        ("Crew", "example.com", "`Crew.example.com` is not a group"),
        ("crew", "-example.com", "`crew.-example.com` is not a group"),
        ("a_b", "example.com", "`a_b.example.com` is not a group"),
        ("crew", "", "`crew` is not a whole group"),
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
        let error = refusal(group, domain, "v1", "Captain");
        assert!(error.starts_with(reason), "{error}");
    }
    resource("crew", "x-k8s.io", "v1", "Captain");
    resource("crew", "mykubernetes.io", "v1", "Captain");
}

#[test]
fn everything_wrong_is_said_at_once() {
    let error = refusal("Crew", "example.com", "1", "captain");
    assert!(
        error.starts_with("3 problems, nothing was written\n"),
        "{error}"
    );
    assert_eq!(error.matches("\nhelp: ").count(), 3, "{error}");
}

#[test]
fn names_for_kubectl_are_labels() {
    let check = |change: fn(&mut Wanted)| {
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
    assert!(
        error.ends_with("help: `--plural captains` would do"),
        "{error}"
    );
    let error = check(|wanted| wanted.singular = Some("1cap".to_owned())).unwrap_err();
    assert!(
        error.ends_with("help: `--singular cap` would do"),
        "{error}"
    );
    let error = check(|wanted| wanted.short_names = vec!["CAP".to_owned()]).unwrap_err();
    assert!(
        error.ends_with("help: `--short-name cap` would do"),
        "{error}"
    );
    let error = check(|wanted| wanted.short_names = vec!["cap".to_owned(); 2]).unwrap_err();
    assert!(
        error.starts_with("the short name `cap` is given twice"),
        "{error}"
    );
}

fn clash(new: &Resource, old: &Resource) -> String {
    new.check_among(std::slice::from_ref(old))
        .map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn apis_that_would_share_a_name_are_refused() {
    let at = |group, version, kind| resource(group, "example.com", version, kind);
    let captain = at("crew", "v1", "Captain");
    for (new, reason) in [
        (
            at("crew", "v1", "CAPTAIN"),
            "`CAPTAIN` and `Captain` are one name to Kubernetes",
        ),
        (
            at("crew", "v2", "CapTain"),
            "`CapTain` and `Captain` are one name to Kubernetes",
        ),
        (
            at("crew", "v1", "CaptainSpec"),
            "the type `CaptainSpec` is the spec of the kind `Captain`",
        ),
        (
            at("crew", "v1", "CaptainStatus"),
            "the type `CaptainStatus` is the status of the kind `Captain`",
        ),
        (
            at("crew", "v1", "Captains"),
            "`captains.crew.example.com` is a name of `Captain` already",
        ),
        (
            resource("crew", "other.io", "v1", "Captain"),
            "the groups `crew.other.io` and `crew.example.com` would be one module",
        ),
    ] {
        let error = clash(&new, &captain);
        assert!(error.starts_with(reason), "{error}");
    }
    assert!(
        clash(&captain, &at("crew", "v1", "CaptainSpec")).starts_with("the type `CaptainSpec`")
    );
    let (dots, dashes) = (at("a.b", "v1", "A"), at("a-b", "v1", "B"));
    assert!(clash(&dots, &dashes).ends_with("help: use another `--group`"));
    let error = clash(&resource("crew", "other.io", "v1", "Captain"), &captain);
    assert!(
        error.ends_with("module `crew_other_io`: `--group crew.other.io --domain ''`"),
        "{error}"
    );
    for fine in [
        at("crew", "v2", "Captain"),
        at("crew", "v2", "CaptainSpec"),
        at("crew", "v1", "Ship"),
        at("other", "v1", "Captain"),
        captain.clone(),
    ] {
        assert_eq!(clash(&fine, &captain), "");
    }
}

#[test]
fn all_versions_of_a_kind_share_names_and_scope() {
    let old = resource("crew", "example.com", "v1", "Captain");
    let mut new = resource("crew", "example.com", "v2", "Captain");
    new.namespaced = false;
    new.plural = "captain".to_owned();
    let error = clash(&new, &old);
    assert!(
        error.starts_with("2 problems, nothing was written"),
        "{error}"
    );
    assert!(
        error.contains("`Captain` v1 has plural `captains`, not `captain`"),
        "{error}"
    );
    assert!(error.contains("help: leave `--namespaced` out"), "{error}");
}

#[test]
fn a_controllers_name_is_a_label_and_its_field_manager_fits() {
    let captain = resource("crew", "example.com", "v1", "Captain");
    let check = |name: &str, manager_id: &str| {
        let mut problems = Problems::default();
        Controller::own(name.to_owned(), &captain).check(manager_id, &mut problems);
        problems.into_result().map_err(|error| error.to_string())
    };
    check("captain-backup", "captains.example.com").unwrap();
    let error = check("Captain_Backup", "captains.example.com").unwrap_err();
    assert!(
        error.ends_with("help: `--controller-name captain-backup` would do"),
        "{error}"
    );
    check("a", &"m".repeat(126)).unwrap();
    let error = check("ab", &"m".repeat(126)).unwrap_err();
    assert!(error.contains("is longer than 128 characters"), "{error}");
}

#[test]
fn a_controller_is_named_by_its_kind_then_by_its_group() {
    assert_eq!(
        default_names("crew", "crew.example.com", "Captain"),
        ["captain", "crew-captain", "crew-example-com-captain"]
    );
    assert_eq!(
        default_names("3scale.net", "3scale.net", "Backend"),
        ["backend", "g3scale-net-backend"]
    );
}

#[test]
fn the_table_of_kubernetes_kinds_is_what_k8s_openapi_has() {
    let kinds: Vec<_> = kubernetes::kinds().collect();
    assert_eq!(kinds.len(), 88);
    for kind in &kinds {
        assert!(
            kind.type_path
                .ends_with(&format!("::{}::{}", kind.version, kind.kind))
        );
    }
    // The sources are there on every machine that has built an operator; the table was made from them.
    let Some(sources) = kubernetes_sources() else {
        return;
    };
    for kind in kinds {
        let folders = kind.type_path.split("::").skip(1);
        let folder = folders.fold(sources.clone(), |folder, part| folder.join(part));
        let folder = folder.parent().unwrap();
        let found = std::fs::read_dir(folder).unwrap().any(|file| {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            text.contains(&format!("impl crate::ListableResource for {} ", kind.kind))
                && text.contains(&format!("GROUP: &'static str = \"{}\"", kind.group))
                && text.contains(&format!(
                    "URL_PATH_SEGMENT: &'static str = \"{}\"",
                    kind.plural
                ))
                && text.contains("type Scope = crate::NamespaceResourceScope") == kind.namespaced
        });
        assert!(found, "{kind:?}");
    }
}

fn kubernetes_sources() -> Option<std::path::PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::home_dir().map(|home| home.join(".cargo")),
        |home| Some(home.into()),
    )?;
    let registries = std::fs::read_dir(cargo.join("registry/src")).ok()?;
    registries
        .filter_map(Result::ok)
        .map(|registry| registry.path().join("k8s-openapi-0.29.0/src/v1_36"))
        .find(|sources| sources.is_dir())
}
