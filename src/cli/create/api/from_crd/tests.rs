mod fuzz;

use super::super::tests::project;
use super::*;

fn definition(group: &str, spec: &str) -> Definition {
    imported::read(&text(group, spec), None).unwrap()
}

fn text(group: &str, spec: &str) -> String {
    let version = |name: &str, storage: bool| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {storage}\n    schema: {{ openAPIV3Schema: {{ type: object }} }}\n"
        )
    };
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: x, labels: {{ app: x }} }}\nspec:\n  group: {group}\n  scope: Cluster\n  names: {{ kind: Tide, plural: tides, shortNames: [td]{spec} }}\n  versions:\n{}{}",
        version("v1", false),
        version("v2", true)
    )
}

#[test]
fn the_stored_version_comes_first_and_the_names_are_those_of_the_crd() {
    let apis = apis(&definition("crew.example.com", ""), &project("example.com")).unwrap();
    let versions: Vec<&str> = apis.iter().map(|api| api.version.as_str()).collect();
    assert_eq!(versions, ["v2", "v1"]);
    let api = &apis[0];
    assert_eq!(api.path(), "api/src/crew/v2/tide.rs");
    assert_eq!(
        (api.full_group.as_str(), api.namespaced),
        ("crew.example.com", false)
    );
    assert_eq!(
        (api.plural.as_str(), &api.short_names[..]),
        ("tides", &["td".to_owned()][..])
    );
}

#[test]
fn a_group_outside_of_the_domain_or_of_kubernetes_is_accepted() {
    for (group, module) in [
        ("ship.other.org", "ship_other_org"),
        ("snapshot.storage.k8s.io", "snapshot_storage_k8s_io"),
    ] {
        let apis = apis(&definition(group, ""), &project("example.com")).unwrap();
        assert_eq!(
            (apis[0].full_group.as_str(), apis[0].group_module().as_str()),
            (group, module)
        );
    }
}

#[test]
fn versions_and_kinds_that_only_an_api_server_accepts_are_imported() {
    for version in ["v0", "v1alpha08", "v1api20230101", "v1api20230101storage"] {
        let mut definition = definition("crew.example.com", "");
        definition.versions[1].name = version.to_owned();
        let apis = apis(&definition, &project("example.com")).unwrap();
        let path = format!("api/src/crew/{version}/tide.rs");
        assert_eq!(apis[0].path(), path);
    }
    let mut definition = definition("crew.example.com", "");
    definition.kind = "AccessList".to_owned();
    let apis = apis(&definition, &project("example.com")).unwrap();
    assert_eq!(apis[0].path(), "api/src/crew/v2/accesslist.rs");
}

/// No help says to change what the CRD fixes: `--version` and `--kind` contradict it.
#[test]
fn names_that_no_type_can_have_are_errors_with_another_way() {
    for (kind, version, expected) in [
        ("Tide", "stable", "the version `stable` cannot be a module"),
        (
            "Tide",
            "v1-beta",
            "the version `v1-beta` cannot be a module",
        ),
        ("Option", "v1", "a kind cannot be named `Option`"),
        ("Value", "v1", "a kind cannot be named `Value`"),
        ("My-Kind", "v1", "`My-Kind` is not a kind"),
    ] {
        let mut definition = definition("crew.example.com", "");
        definition.kind = kind.to_owned();
        definition.versions[1].name = version.to_owned();
        let error = apis(&definition, &project("example.com")).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(expected), "{error}");
        let help = "help: use `kube::core::DynamicObject` for its objects";
        assert!(error.ends_with(help), "{error}");
    }
}

#[test]
fn an_address_is_an_error_with_the_command_that_downloads_it() {
    let error = super::text(Path::new("https://example.com/crd.yaml")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`https://example.com/crd.yaml` is not a file\nhelp: download it: `curl -fsSL https://example.com/crd.yaml | kbr create api --from-crd -`"
    );
}

#[test]
fn a_kind_in_lower_case_is_an_error() {
    let mut definition = definition("crew.example.com", "");
    definition.kind = "tide".to_owned();
    let error = apis(&definition, &project("example.com")).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`tide` begins in lower case"), "{error}");
}

#[test]
fn fields_beside_the_spec_that_the_types_leave_out_are_noted() {
    let open = "x-kubernetes-preserve-unknown-fields: true, properties: { spec: { type: object } }";
    let text = text("crew.example.com", "")
        .replace("{ type: object }", &format!("{{ type: object, {open} }}"));
    let definition = imported::read(&text, None).unwrap();
    let notes = notes(&definition, &definition.types()).join("\n");
    assert!(
        notes.contains("the type of version v2 drops fields beside `spec`"),
        "{notes}"
    );
}

#[test]
fn what_the_types_leave_out_is_noted() {
    let definition = definition("crew.example.com", ", listKind: Tides");
    let notes = notes(&definition, &definition.types()).join("\n");
    assert!(
        notes.contains("the list kind `Tides` becomes `TideList`"),
        "{notes}"
    );
    assert!(
        notes.contains("left out the labels of the CRD: `app`"),
        "{notes}"
    );
}
