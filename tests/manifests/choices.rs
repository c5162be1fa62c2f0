//! The flags, and the table `[manifests]` of PROJECT.

use serde_json::{Value, json};

use super::{CRD, PROJECT, crd, fails, project, read, succeeds, write};

fn described() -> Value {
    let mut long = crd("Captain", "v1");
    long["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] =
        json!("The first sentence. And another one.");
    long
}

#[test]
fn descriptions_are_truncated_on_request() {
    let root = project(&json!([described()]));
    succeeds(&root, &["--max-description-length", "25"]);
    let cut = read(&root, CRD);
    assert!(cut.contains("description: The first sentence.\n"), "{cut}");
    succeeds(&root, &["--max-description-length=0"]);
    assert!(!read(&root, CRD).contains("description"));
}

#[test]
fn descriptions_are_truncated_as_set_in_project_and_a_flag_overrides_it() {
    let root = project(&json!([described()]));
    let table = "[manifests]\nmax_description_length = 25\n";
    write(&root, "PROJECT", &format!("{PROJECT}\n{table}"));
    succeeds(&root, &[]);
    assert!(read(&root, CRD).contains("description: The first sentence.\n"));
    succeeds(&root, &["--check"]);
    fails(&root, &["--check", "--max-description-length=0"]);
    succeeds(&root, &["--max-description-length=0"]);
    assert!(!read(&root, CRD).contains("description"));
}

/// A kind with a rule.
fn ruled(rule: &str) -> Value {
    let mut crd = crd("Captain", "v1");
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
        "type": "object", "properties": { "spec": { "type": "object",
            "properties": { "name": { "type": "string", "maxLength": 9 } },
            "x-kubernetes-validations": [{ "rule": rule, "optionalOldSelf": true }],
        } },
    });
    crd
}

#[test]
fn unknown_names_are_an_error_unless_project_allows_them() {
    let crds = json!([ruled("future.sail(self.name) && oldSelf.hasValue()")]);
    let root = project(&crds);
    let marker = "// +kbr:rbac:groups=apps,resources=fleets,verbs=get\nfn main() {}\n";
    write(&root, "src/main.rs", marker);
    let (_, printed) = fails(&root, &[]);
    assert!(
        printed.contains("2 problems, nothing was written"),
        "{printed}"
    );
    for id in ["unknown-function", "unknown-resource"] {
        let help = format!(
            "    help: if your Kubernetes is newer than this kbr and has it, write above it `// +kbr:lint:allow={id}`"
        );
        assert!(printed.contains(&help), "{printed}");
    }

    let allow = "[manifests]\nallow = [\"unknown-function\", \"unknown-resource\"]\n";
    write(&root, "PROJECT", &format!("{PROJECT}\n{allow}"));
    succeeds(&root, &[]);
    succeeds(&root, &["--check"]);
    succeeds(&root, &["--check", "--crd-only"]);
}

#[test]
fn project_can_only_allow_known_findings_that_are_allowable() {
    let root = project(&json!([ruled("self.name.oops")]));
    let allow = "[manifests]\nallow = [\"unknown-funktion\", \"rule\"]\n";
    write(&root, "PROJECT", &format!("{PROJECT}\n{allow}"));
    let (_, printed) = fails(&root, &[]);
    let unknown = "  `PROJECT`: `unknown-funktion` is not a finding that can be allowed\n    help: did you mean `unknown-function`\n";
    assert!(printed.contains(unknown), "{printed}");
    let error = "  `PROJECT`: `rule` is an error that cannot be allowed\n";
    assert!(printed.contains(error), "{printed}");
    assert!(
        printed.contains("a string has no field `oops`"),
        "{printed}"
    );
}

#[test]
fn a_cache_of_all_config_maps_is_a_warning_unless_it_is_configured_or_project_allows_it() {
    let root = project(&json!([crd("Captain", "v1")]));
    let register = |cache: &str| {
        let code = format!(
            "use k8s_openapi::api::core::v1::ConfigMap;\n\
             // +kbr:rbac:groups=core,resources=configmaps,verbs=list;watch\n\
             fn register() {{\n    {cache}\n    controller.reads(kind::<ConfigMap>());\n}}\n"
        );
        write(&root, "src/controllers/captain.rs", &code);
        succeeds(&root, &[])
    };
    let talk = register("");
    let reads = "warning: `src/controllers/captain.rs:5`: `kind::<ConfigMap>()` caches every ConfigMap in the cluster";
    assert!(talk.contains(reads), "{talk}");
    assert!(talk.contains("+kbr:lint:allow=unselective-watch"), "{talk}");
    let talk = register("manager.cache::<ConfigMap>().with_label(\"crew\", \"whaler\");");
    assert!(!talk.contains("caches every"), "{talk}");
    let table = "[manifests]\nallow = [\"unselective-watch\"]\n";
    write(&root, "PROJECT", &format!("{PROJECT}\n{table}"));
    let talk = register("");
    assert!(!talk.contains("caches every"), "{talk}");
}

#[test]
fn a_missing_permission_is_a_warning_unless_project_allows_it() {
    let root = project(&json!([crd("Captain", "v1")]));
    let code = "use k8s_openapi::api::batch::v1::Job;\nfn register() {\n    manager\n        \
        .controller::<api::crew::v1::Captain>(\"captain\")\n        .owns(kind::<Job>());\n}\n";
    write(&root, "src/controllers/captain.rs", code);
    let talk = succeeds(&root, &[]);
    let owns = "`src/controllers/captain.rs:5`: `kind::<Job>()` needs to list and watch `jobs`";
    assert!(talk.contains(owns), "{talk}");
    for resource in [
        "groups=crew.example.com,resources=captains",
        "groups=batch,resources=jobs",
    ] {
        let comment = format!("`// +kbr:rbac:{resource},verbs=list;watch`");
        assert!(talk.contains(&comment), "{talk}");
    }
    let table = "[manifests]\nallow = [\"missing-permission\"]\n";
    write(&root, "PROJECT", &format!("{PROJECT}\n{table}"));
    let talk = succeeds(&root, &[]);
    assert!(!talk.contains("needs to"), "{talk}");
}
