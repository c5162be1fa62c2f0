//! Webhook configurations.

use serde_json::json;

use super::{crd, fails, project, read, succeeds, write};

const WEBHOOKS: &str = "config/webhook/manifests.yaml";

#[test]
fn webhook_configurations_come_with_their_comments_and_are_empty_when_those_are_gone() {
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
    let (_, talk) = fails(&root, &[]);
    assert!(
        talk.contains("`src/webhooks/crew_v1_captain.rs:2`: no validator is served at `/validate-craw-example-com-v1-captain`\n    help: did you mean `/validate-crew-example-com-v1-captain`"),
        "{talk}"
    );

    write(&root, "src/webhooks/crew_v1_captain.rs", "");
    succeeds(&root, &[]);
    let found = read(&root, WEBHOOKS);
    // It is still there, so that the next deployment empties the one in the cluster.
    assert!(
        found.ends_with(
            "\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: captains-validating-webhook-configuration\nwebhooks: []\n"
        ),
        "{found}"
    );
    succeeds(&root, &["--check"]);
}
