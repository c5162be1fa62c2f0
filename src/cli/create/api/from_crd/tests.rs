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
    let notes = notes(&definition, &definition.types());
    assert!(
        notes.contains("the type of version v2 drops fields beside `spec`"),
        "{notes}"
    );
}

#[test]
fn what_the_types_leave_out_is_noted() {
    let definition = definition("crew.example.com", ", listKind: Tides");
    let notes = notes(&definition, &definition.types());
    assert!(
        notes.contains("the list kind `Tides` becomes `TideList`"),
        "{notes}"
    );
    assert!(
        notes.contains("left out the labels of the CRD: `app`"),
        "{notes}"
    );
}
