//! Webhook configurations.

use serde_json::json;
use tempfile::TempDir;

use super::{crd, fails, project, read, succeeds, write};

const WEBHOOKS: &str = "config/webhook/manifests.yaml";

#[test]
fn webhook_configurations_are_generated_from_markers_and_emptied_without_them() {
    let root = project(&json!([crd("Captain", "v1")]));
    succeeds(&root, &[]);
    assert!(!root.path().join(WEBHOOKS).exists());

    let code = "use api::crew::v1::Captain;
// +kbr:webhook:path=/validate-crew-example-com-v1-captain,mutating=false,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=vcaptain-v1.crew.example.com,admissionReviewVersions=v1
pub fn register(manager: &mut Manager) {
    manager.validator::<Captain>(CaptainWebhook);
}
";
    write(&root, "src/webhooks/crew_v1_captain.rs", code);
    succeeds(&root, &[]);
    let found = read(&root, WEBHOOKS);
    assert!(
        found.contains("\n  name: captains-validating-webhook-configuration\n"),
        "{found}"
    );
    assert!(
        found.contains(
            "    service:\n      name: captains-webhook\n      namespace: captains-system\n"
        ),
        "{found}"
    );

    let wrong = code.replace("path=/validate-crew", "path=/validate-craw");
    write(&root, "src/webhooks/crew_v1_captain.rs", &wrong);
    let (_, printed) = fails(&root, &[]);
    assert!(
        printed.contains("`src/webhooks/crew_v1_captain.rs:2`: no validator is registered at `/validate-craw-example-com-v1-captain`\n    help: did you mean `/validate-crew-example-com-v1-captain`"),
        "{printed}"
    );

    write(&root, "src/webhooks/crew_v1_captain.rs", "");
    succeeds(&root, &[]);
    let found = read(&root, WEBHOOKS);
    // The configuration stays in the file, so that the next deployment empties the one in the cluster.
    assert!(
        found.ends_with(
            "\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: captains-validating-webhook-configuration\nwebhooks: []\n"
        ),
        "{found}"
    );
    succeeds(&root, &["--check"]);
}

/// `kbr delete webhook` relies on it: `make deploy` generates, and applies without removing anything.
#[test]
fn a_configuration_that_loses_its_last_webhook_stays_empty_beside_the_other() {
    let root = project(&json!([]));
    let marker = |mutating: bool| {
        format!(
            "// +kbr:webhook:url=https://a.example.com/,mutating={mutating},failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create,versions=v1,name=a{mutating}.crew.example.com,admissionReviewVersions=v1\n"
        )
    };
    let both = [marker(true), marker(false)].concat();
    write(&root, "src/webhooks.rs", &both);
    succeeds(&root, &[]);
    write(&root, "src/webhooks.rs", &marker(false));
    succeeds(&root, &[]);
    let found = read(&root, WEBHOOKS);
    let empty = "\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: captains-mutating-webhook-configuration\nwebhooks: []\n";
    assert!(found.contains(empty), "{found}");
    assert!(found.contains("name: afalse.crew.example.com"), "{found}");
}

/// A project whose only webhook was removed.
fn with_a_removed_webhook() -> TempDir {
    let root = project(&json!([crd("Captain", "v1")]));
    let code = "// +kbr:webhook:url=https://a.example.com/,mutating=false,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create,versions=v1,name=vcaptain-v1.crew.example.com,admissionReviewVersions=v1\n";
    write(&root, "src/webhooks.rs", code);
    succeeds(&root, &[]);
    write(&root, "src/webhooks.rs", "");
    root
}

#[test]
fn a_merge_conflict_in_the_generated_file_loses_no_configuration() {
    let root = with_a_removed_webhook();
    let before = read(&root, WEBHOOKS);
    let conflict = before.replace("webhooks:\n", "webhooks:\n<<<<<<< HEAD\n");
    assert_ne!(conflict, before);
    write(&root, WEBHOOKS, &conflict);
    for arguments in [&[][..], &["--check"]] {
        let (_, printed) = fails(&root, arguments);
        assert!(
            printed.contains("error: cannot read `config/webhook/manifests.yaml`"),
            "{printed}"
        );
        assert!(
            printed.contains("; nothing was written\n    line 7 ")
                && printed.contains("\nhelp: choose either side of a merge conflict"),
            "{printed}"
        );
    }
    assert_eq!(read(&root, WEBHOOKS), conflict);

    write(&root, WEBHOOKS, &before);
    succeeds(&root, &[]);
    let empty = "  name: captains-validating-webhook-configuration\nwebhooks: []\n";
    assert!(read(&root, WEBHOOKS).ends_with(empty));
}
