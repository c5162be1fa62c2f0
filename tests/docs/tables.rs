//! Tables that must be complete: commands, flags and plugins of kubebuilder, markers of controller-gen, and what the library logs.

use std::fs;

use super::support::{repository, tree};

/// Commands, flags and plugins of kubebuilder 4.16.
const KUBEBUILDER: &str = "init create api create webhook edit alpha generate alpha update completion version help
    --domain --project-name --repo --owner --license --license-file --fetch-deps --skip-go-version-check --multigroup --namespaced
    --plugins --project-version --group --version --kind --plural --resource --controller --controller-name --ssa --external-api-path
    --external-api-module --external-api-domain --force --make --defaulting --programmatic-validation --conversion --spoke
    --defaulting-path --validation-path --input-dir --output-dir
    go/v4 kustomize/v2 deploy-image/v1-alpha helm/v2-alpha helm/v1-alpha grafana/v1-alpha autoupdate/v1-alpha external plugins";

/// The markers of controller-gen 0.23: those that its packages define, and those that each field or type may have, without the prefix.
const MARKERS: &str = "default groupName k8s:deepcopy-gen k8s:immutable k8s:listMapKey k8s:listType k8s:maxItems k8s:maximum k8s:minimum
    k8s:optional k8s:required k8s:enum kubebuilder:ac kubebuilder:default kubebuilder:deprecatedversion kubebuilder:example
    kubebuilder:externalDocs kubebuilder:metadata kubebuilder:object:generate kubebuilder:object:root kubebuilder:printcolumn
    kubebuilder:pruning:PreserveUnknownFields kubebuilder:rbac kubebuilder:resource kubebuilder:selectablefield kubebuilder:skip
    kubebuilder:skipversion kubebuilder:storageversion kubebuilder:subresource:scale kubebuilder:subresource:status kubebuilder:title
    kubebuilder:unservedversion kubebuilder:validation:EmbeddedResource kubebuilder:webhook kubebuilder:webhookconfiguration listMapKey
    listType mapType nullable optional required structType versionName genclient kubebuilder:scaffold
    Maximum Minimum ExclusiveMaximum ExclusiveMinimum MultipleOf MinProperties MaxProperties MaxLength MinLength Pattern MaxItems
    MinItems UniqueItems Enum Format Type XIntOrString XValidation XEmbeddedResource XPreserveUnknownFields Schemaless Required Optional
    AtMostOneOf ExactlyOneOf AtLeastOneOf items:";

fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs").join(name)).expect("a page")
}

#[test]
fn each_command_flag_and_plugin_of_kubebuilder_has_a_row() {
    let page = page("from-go.md");
    let rows: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .collect();
    for word in KUBEBUILDER.split_whitespace() {
        let named = rows
            .iter()
            .any(|row| row.split(['`', ' ', ',', '(']).any(|part| part == word));
        assert!(named, "`{word}` has no row in docs/from-go.md");
    }
}

#[test]
fn each_marker_of_controller_gen_is_named() {
    let page = page("markers.md");
    let code: Vec<_> = page.split('`').skip(1).step_by(2).collect();
    for marker in MARKERS.split_whitespace() {
        // `k8s:listType` is named as `listType`, "also with `k8s:`".
        let name = marker
            .strip_prefix("k8s:list")
            .map_or(marker, |_| &marker["k8s:".len()..]);
        assert!(
            code.iter().any(|code| code.contains(name)),
            "`{marker}` is not in docs/markers.md"
        );
    }
}

/// The messages of `tracing::error!` and `tracing::warn!` in a file.
fn messages(source: &str) -> Vec<&str> {
    let calls = ["tracing::error!(", "tracing::warn!("].into_iter();
    let arguments = calls.flat_map(|call| source.split(call).skip(1));
    arguments
        .filter_map(|rest| rest.split(");").next())
        // The last text of the call; without one, or with a placeholder, it is not literal.
        .filter_map(|arguments| {
            arguments
                .trim_end_matches([' ', '\n', ','])
                .strip_suffix('"')?
                .rsplit('"')
                .next()
        })
        .filter(|message| !message.contains('{'))
        .collect()
}

#[test]
fn each_message_of_the_library_is_explained() {
    let page = page("operating.md");
    let explained: Vec<_> = page.split('`').skip(1).step_by(2).collect();
    let mut count = 0;
    for (path, bytes) in tree(&repository().join("crates/manager/src")) {
        let source = String::from_utf8(bytes).expect("UTF-8");
        if path.ends_with("tests.rs") {
            continue;
        }
        for message in messages(&source) {
            count += 1;
            assert!(
                explained.contains(&message),
                "crates/manager/src/{path}: `{message}` is not in docs/operating.md"
            );
        }
    }
    assert!(count > 20, "{count} messages");
}
