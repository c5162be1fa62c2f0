//! Samples: repaired, or validated once the user has edited them.

use serde_json::{Value, json};

use crate::{crd, fails, project, read, succeeds, write};

const SAMPLE: &str = "config/samples/crew_v1_captain.yaml";

/// A CRD whose objects need an image, and have at most this many replicas.
fn strict() -> Value {
    let mut strict = crd("Captain", "v1");
    strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
        "type": "object", "required": ["spec"], "properties": { "spec": {
            "type": "object", "required": ["image"], "properties": {
                "image": { "type": "string", "minLength": 1 },
                "replicas": { "type": "integer", "minimum": 1 },
            },
        } },
    });
    strict
}

#[test]
fn a_sample_is_repaired_unless_it_was_edited_and_otherwise_validated() {
    let root = project(&json!([strict()]));
    let head =
        "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata:\n  name: captain-sample\n";
    // The first digits of the SHA-256 of the body.
    write(
        &root,
        SAMPLE,
        &format!("# kbr:sample a47eb369bbb7: a checksum\n{head}spec: {{}}\n"),
    );
    let (diff, _) = fails(&root, &["--check"]);
    assert!(
        diff.contains("-spec: {}\n+spec:\n+  image: example\n"),
        "{diff}"
    );
    assert!(succeeds(&root, &[]).contains(&format!("      update {SAMPLE}\n")));
    let repaired = read(&root, SAMPLE);
    assert!(
        repaired.ends_with(&format!("\n{head}spec:\n  image: example\n")),
        "{repaired}"
    );
    assert!(!succeeds(&root, &["--check"]).contains("warning"));

    let edited = repaired.replace("image: example", "image: mine\n  replicas: 0\n  replica: 1");
    write(&root, SAMPLE, &edited);
    let printed = succeeds(&root, &[]);
    for expected in [
        format!("warning: `{SAMPLE}:8`: `.spec.replicas` is below 1\n"),
        format!(
            "warning: `{SAMPLE}:9`: `.spec.replica` is an unknown field, did you mean `replicas`\n"
        ),
    ] {
        assert!(printed.contains(&expected), "{printed}");
    }
    assert_eq!(read(&root, SAMPLE), edited);
}
