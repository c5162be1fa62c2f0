//! `kbr manifests compare`: sources, lines of Rust, comments that allow, output.

use serde_json::{Value, json};

use crate::project::{Project, definition};

const WARNING: &str = "\
warning: `api/src/ship.rs:9`: `Ship` of `crew.example.com/v1`, `.spec.engine.power`: maximum changed from 9 to 5 [values-restricted]
    help: existing objects can still be updated, but new ones with such a value are rejected: keep the range, or restrict it in a new version
    help: if this is intended, write above it `// +kbr:lint:allow=values-restricted`
";
const ERROR: &str = "\
error: incompatible CRD changes: 1 problem
  `api/src/ship.rs:3`: `Ship` of `crew.example.com/v1`, `.spec.size`: the field was removed: the API server drops its content [field-removed]
    help: keep the field, or remove it in a new version with conversion
    help: if this is intended, write above it `// +kbr:lint:allow=field-removed`
";

/// The schemas of the fields of an engine, whose power is at most this.
fn power(maximum: u32) -> Value {
    json!({ "power": { "type": "integer", "maximum": maximum } })
}

/// A project that had a field `size` and more power than its types have now.
fn changed() -> Project {
    let size = json!({ "size": { "type": "string" } });
    let project = Project::new(&definition("v1", &size, &power(9)));
    project.types(&[definition("v1", &json!({}), &power(5))]);
    project
}

#[test]
fn a_git_ref_shows_each_change_at_its_line_and_what_to_do() {
    let project = changed();
    let before = project.tree();
    let printed = project.manifests(&["compare", "main"]);
    let expected = format!("{WARNING}compared 1 CRD with git ref `main`\n{ERROR}");
    assert_eq!((printed.works, printed.stderr), (false, expected));
    assert_eq!(project.tree(), before);
}

#[test]
fn findings_are_json_for_programs() {
    let printed = changed().manifests(&["compare", "main", "--output", "json"]);
    let found: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let expected = json!({
        "rule": "field-removed", "severity": "error",
        "group": "crew.example.com", "kind": "Ship", "version": "v1", "path": ".spec.size",
        "file": "api/src/ship.rs", "line": 3,
        "message": "the field was removed: the API server drops its content",
        "help": ["keep the field, or remove it in a new version with conversion"],
    });
    assert_eq!((printed.works, &found[0]), (false, &expected));
    assert_eq!(
        (&found[1]["severity"], &found[2]),
        (&json!("warning"), &Value::Null)
    );
}

#[test]
fn comments_and_project_allow_findings() {
    let project = changed();
    project.comment(
        "#[derive(CustomResource)]",
        "// +kbr:lint:allow=field-removed",
    );
    let printed = project.manifests(&["compare", "main"]);
    assert!(printed.works, "{printed:?}");
    assert!(
        printed
            .stderr
            .starts_with("warning: `api/src/ship.rs:10`: "),
        "{printed:?}"
    );
    project.comment(
        "    pub power: u32,",
        "    // +kbr:lint:allow=values-restricted",
    );
    project.allow("field-removed");
    let printed = project.manifests(&["compare", "main"]);
    assert_eq!(
        (printed.works, &*printed.stderr),
        (true, "compared 1 CRD with git ref `main`: no findings\n")
    );
    project.allow("version-still-stored");
    let printed = project.manifests(&["compare", "main"]);
    assert!(
        printed
            .stderr
            .contains("`version-still-stored` is an error that cannot be allowed"),
        "{printed:?}"
    );
}

#[test]
fn a_folder_may_have_crds_or_a_project_and_those_of_others_do_not_count() {
    let project = changed();
    let other = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "certificates.cert.io" }, "spec": { "group": "cert.io", "names": { "kind": "Certificate" } },
    });
    let text = format!(
        "kind: Namespace\n---\n{other}\n---\n{}\n",
        definition("v1", &json!({}), &power(5))
    );
    project.write("released/all.yml", &text);
    let printed = project.manifests(&["compare", "./released"]);
    assert_eq!(
        (printed.works, &*printed.stderr),
        (
            true,
            "compared 1 CRD with folder `./released`: no findings\n"
        )
    );
    let printed = project.manifests(&["compare", "../operator"]);
    assert!(
        !printed.works && printed.stderr.contains("[field-removed]"),
        "{printed:?}"
    );
}

#[test]
fn a_kind_that_is_gone_is_an_error_unless_a_user_keeps_its_crd() {
    let old = definition("v1", &json!({}), &power(9));
    let project = Project::new(&old);
    project.types(&[]);
    let printed = project.manifests(&["compare", "HEAD"]);
    assert!(!printed.works, "{printed:?}");
    assert!(
        printed
            .stderr
            .contains("`Ship` of group `crew.example.com`: the type was removed"),
        "{printed:?}"
    );
    project.write("config/crd/bases/mine.yaml", &old.to_string());
    let printed = project.manifests(&["compare", "HEAD"]);
    assert_eq!(
        (printed.works, &*printed.stderr),
        (true, "compared 1 CRD with git ref `HEAD`: no findings\n")
    );
}

#[test]
fn sources_that_do_not_exist_are_explained() {
    let project = changed();
    project.write("released/notes.txt", "");
    project.git(&["rm", "--quiet", "-r", "--cached", "operator/config"]);
    project.git(&["commit", "--quiet", "--message=none"]);
    for (from, expected) in [
        (
            "mian",
            "error: git has no commit `mian`\nhelp: pass a branch, tag or commit that this repository has",
        ),
        ("--all", "error: git has no commit `--all`\n"),
        (
            "released",
            "error: git has no commit `released`\nhelp: to compare with the folder, pass `./released`\n",
        ),
        (
            "./released",
            "error: no CRDs found in `./released`\nhelp: pass the folder that contains the CRDs",
        ),
        (
            "./gone",
            "error: `./gone` is not a folder\nhelp: pass a folder with CRDs",
        ),
    ] {
        let printed = project.manifests(&["compare", "--", from]);
        assert!(
            !printed.works && printed.stderr.starts_with(expected),
            "{from}: {printed:?}"
        );
    }
    let printed = project.manifests(&["compare", "main"]);
    let expected = "no CRDs of this project found in git ref `main`: nothing to compare\n";
    assert_eq!((printed.works, &*printed.stderr), (true, expected));
}

#[test]
fn a_cluster_knows_in_which_versions_objects_are_stored() {
    let old = definition("v1", &json!({}), &power(9));
    let project = Project::new(&old);
    project.types(&[definition("v2", &json!({}), &power(9))]);
    let script = "
        kubectl apply --filename config/crd/bases >&2
        kubectl wait --for=condition=Established crd --all >&2
        $KBR manifests compare cluster";
    let printed = project.with_control_plane(script);
    assert!(!printed.works, "{printed:?}");
    let expected = "version `v1` was removed, but is in `status.storedVersions`: objects may be stored in it [version-still-stored]";
    assert!(printed.stderr.contains(expected), "{printed:?}");
    assert!(
        printed.stderr.contains("compared 1 CRD with the cluster\n"),
        "{printed:?}"
    );
    assert!(
        !printed.stderr.contains("allow=version-still-stored"),
        "{printed:?}"
    );
}
