use crate::golang::{self, Found};

/// A definition with the version `v1`.
fn crd(group: &str, kind: &str) -> String {
    let plural = kind.to_lowercase() + "s";
    format!(
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {plural}.{group}\nspec:\n  group: {group}\n  \
         scope: Namespaced\n  names:\n    kind: {kind}\n    plural: {plural}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
         schema: {{openAPIV3Schema: {{type: object}}}}\n"
    )
}

/// A project with this text at the end of PROJECT, and these files.
fn read(project: &str, files: &[(&str, String)]) -> anyhow::Result<Found> {
    let project = format!("version: '3'\nlayout: [go.kubebuilder.io/v4]\n{project}");
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.clone()));
    golang::read(&files.chain([("PROJECT".to_owned(), project)]).collect())
}

/// PROJECT with own kinds `crew.example.com/v1`.
fn own(kinds: &[&str]) -> String {
    let one = |kind: &&str| {
        format!("- {{api: {{}}, group: crew, domain: example.com, version: v1, kind: {kind}}}\n")
    };
    let kinds: String = kinds.iter().map(one).collect();
    format!("domain: example.com\nresources:\n{kinds}")
}

fn kinds(found: &Found) -> Vec<&str> {
    found
        .definitions
        .iter()
        .map(|it| it.kind.as_str())
        .collect()
}

#[test]
fn definitions_are_found_wherever_they_are() {
    let (captain, mate) = (
        crd("crew.example.com", "Captain"),
        crd("crew.example.com", "Mate"),
    );
    let both = captain.clone() + &mate;
    for (path, text, elsewhere) in [
        ("config/crd/bases/all.yaml", &both, None),
        ("config/crd/all.yml", &both, None),
        (
            "config/components/crd/bases/a.yaml",
            &both,
            Some("config/components/crd/bases"),
        ),
        (
            "config/crd-hub/bases/a.yaml",
            &both,
            Some("config/crd-hub/bases"),
        ),
        ("config/crds/a.yaml", &both, Some("config/crds")),
        ("deploy/base/crds/a.yaml", &both, Some("deploy/base/crds")),
        (
            "releases/v2.13.0/crds.yaml",
            &both,
            Some("releases/v2.13.0"),
        ),
    ] {
        let found = read(&own(&["Captain"]), &[(path, text.clone())]).unwrap();
        // PROJECT need not name all kinds.
        assert_eq!(kinds(&found), ["Captain", "Mate"], "{path}");
        assert_eq!(found.elsewhere.first().map(String::as_str), elsewhere);
        assert!(found.left.is_empty(), "{:?}", found.left);
    }
}

#[test]
fn the_folder_with_most_of_the_kinds_is_chosen() {
    let crds = |kinds: &[&str]| {
        kinds
            .iter()
            .map(|kind| crd("crew.example.com", kind))
            .collect::<String>()
    };
    let all = crds(&["Captain", "Mate", "Cook"]);
    let chosen = |files: &[(&str, String)]| {
        let found = read(&own(&["Captain", "Mate", "Cook"]), files).unwrap();
        assert_eq!(found.definitions.len(), 3);
        found.elsewhere
    };
    let part = crds(&["Captain", "Mate"]);
    let cook = crds(&["Cook"]);
    // Two parts of one project, such as a hub and its spokes.
    assert_eq!(
        chosen(&[
            ("config/crd-hub/a.yaml", part.clone()),
            ("deploy/a.yaml", cook.clone()),
            ("test/a.yaml", cook.clone())
        ]),
        ["config/crd-hub", "deploy"]
    );
    assert_eq!(
        chosen(&[
            ("config/crd/bases/a.yaml", part.clone()),
            ("deploy/a.yaml", all.clone())
        ]),
        ["deploy"]
    );
    assert_eq!(
        chosen(&[
            ("deploy/a.yaml", all.clone()),
            ("config/b/a.yaml", all.clone()),
            ("config/a/a.yaml", part)
        ]),
        ["config/b"]
    );
    assert_eq!(
        chosen(&[
            ("deploy/a.yaml", all.clone()),
            ("releases/v2/a.yaml", all.clone())
        ]),
        ["deploy"]
    );
    assert_eq!(
        chosen(&[
            ("releases/v1.9/a.yaml", all.clone()),
            ("releases/v1.10/a.yaml", all)
        ]),
        ["releases/v1.10"]
    );
}

#[test]
fn definitions_of_others_and_templates_are_not_those_of_the_project() {
    let captain = crd("crew.example.com", "Captain");
    let certificate = crd("cert-manager.io", "Certificate");
    let all = certificate.clone() + &captain;
    let files = [
        ("deploy/charts/captains/templates/a.yaml", captain.clone()),
        ("deploy/all.yaml", all),
        (
            "deploy/broken.yaml",
            "kind: CustomResourceDefinition\n{{ if }}\nkind: Captain\n".to_owned(),
        ),
        ("hack/cert-manager.yaml", certificate),
    ];
    let found = read(&own(&["Captain"]), &files).unwrap();
    assert_eq!(kinds(&found), ["Captain"]);
    assert_eq!(found.elsewhere, ["deploy"]);
    let files = [(
        "config/crds/a.yaml",
        captain.clone() + &crd("navy.example.com", "Admiral"),
    )];
    let found = read(&own(&["Captain"]), &files).unwrap();
    assert_eq!(kinds(&found), ["Captain", "Admiral"]);
    let found = read("", &[("deploy/a.yaml", captain)]).unwrap();
    assert!(found.definitions.is_empty());
}

#[test]
fn files_beside_the_definitions_are_no_error() {
    let files = [
        (
            "config/crd/bases/kustomization.yaml",
            "resources: [a.yaml]\n".to_owned(),
        ),
        (
            "config/crd/bases/a.yaml",
            crd("crew.example.com", "Captain"),
        ),
    ];
    assert_eq!(
        kinds(&read(&own(&["Captain"]), &files).unwrap()),
        ["Captain"]
    );
    let broken = "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1\n";
    let error = read("", &[("config/crd/bases/a.yaml", broken.to_owned())]).unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.contains("`config/crd/bases/a.yaml`") && error.contains("v1beta1"),
        "{error}"
    );
}

/// The groups of the resources with this text, and the domain of their project, if the only CRD is `definition`.
fn corrected(head: &str, resource: &str, definition: &str) -> (String, String) {
    let (group, kind) = definition.split_once(' ').unwrap();
    let project =
        format!("{head}\nresources: [{{api: {{}}, kind: Captain, version: v1, {resource}}}]\n");
    let found = read(&project, &[("config/crd/bases/a.yaml", crd(group, kind))]).unwrap();
    (
        found.project.resources[0].full_group(),
        found.project.domain,
    )
}

#[test]
fn the_definitions_decide_the_group_of_a_kind_and_the_domain_of_a_project_without_one() {
    for (head, resource, definition, domain) in [
        (
            "domain: sea.com",
            "group: sea.com, domain: sea.com",
            "sea.com Captain",
            "sea.com",
        ),
        (
            "domain: crew.sea.com",
            "group: crew, domain: crew.sea.com",
            "crew.sea.com Captain",
            "crew.sea.com",
        ),
        (
            "domain: sea.com",
            "group: core, domain: sea.com",
            "core.sea.com Captain",
            "sea.com",
        ),
        ("", "group: sea.com", "sea.com Captain", "sea.com"),
        ("", "group: crew", "crew.sea.com Captain", "sea.com"),
        (
            "domain: kubernetes.io",
            "group: crew, domain: kubernetes.io",
            "crew.kubernetes.io Captain",
            "kubernetes.io",
        ),
    ] {
        let (group, _) = definition.split_once(' ').unwrap();
        let expected = (group.to_owned(), domain.to_owned());
        assert_eq!(corrected(head, resource, definition), expected);
    }
    // Another kind does not count.
    let (group, _) = corrected(
        "domain: sea.com",
        "group: crew, domain: sea.com",
        "core.sea.com Mate",
    );
    assert_eq!(group, "crew.sea.com");
}

#[test]
fn a_group_is_corrected_only_if_there_is_no_choice() {
    let group = |kinds: &[&str]| {
        let files: String = kinds.iter().map(|group| crd(group, "Captain")).collect();
        let found = read(&own(&["Captain"]), &[("config/crd/bases/a.yaml", files)]).unwrap();
        found.project.resources[0].full_group()
    };
    assert_eq!(group(&["navy.example.com"]), "navy.example.com");
    assert_eq!(
        group(&["crew.example.com", "navy.example.com"]),
        "crew.example.com"
    );
    assert_eq!(
        group(&["army.example.com", "navy.example.com"]),
        "crew.example.com"
    );
    // A kind of Kubernetes keeps its group, whatever the project defines.
    let text = "resources: [{group: apps, version: v1, kind: Deployment, controller: true}]\n";
    let files = [(
        "config/crd/bases/a.yaml",
        crd("crew.example.com", "Deployment"),
    )];
    assert_eq!(
        read(text, &files).unwrap().project.resources[0].full_group(),
        "apps"
    );
}
