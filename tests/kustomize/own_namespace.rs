//! Webhooks for kinds that are not the project's own skip the operator's namespace, in an overlay with another one too.

use std::fs;

use serde_json::{Value, json};

use crate::consistent::{check, of_kind};
use crate::documented;
use crate::project::{create_api, create_webhooks, init, render, write};

const MANIFESTS: &str = "config/webhook/manifests.yaml";
const SELECTED: &str = "/namespaceSelector/matchExpressions";

#[test]
fn the_overlay_in_the_docs_moves_the_namespace_that_webhooks_skip() {
    let project = create_webhooks(create_api(init()));
    // In the first configuration, a second webhook skips the operator's namespace, as in `kbr create webhook --group core --kind Pod`.
    let path = project.path().join(MANIFESTS);
    let text = fs::read_to_string(path).unwrap();
    let (mutating, validating) = text.split_once("\n---\n").unwrap();
    let mut mutating: Value = serde_json::from_str(mutating).unwrap();
    let webhooks = mutating["webhooks"].as_array_mut().unwrap();
    let mut pods = webhooks[0].clone();
    pods["name"] = json!("pods.b.c");
    pods["namespaceSelector"] = json!({ "matchExpressions": [
        { "key": "team", "operator": "In", "values": ["deck"] },
        { "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["captains-system"] },
    ] });
    webhooks.push(pods);
    write(
        &project,
        MANIFESTS,
        &format!("{mutating}\n---\n{validating}"),
    );
    let overlay = documented("source: { kind: Service");
    write(&project, "config/fleet/kustomization.yaml", overlay);

    let objects = render(&project, "config/fleet");
    check(&objects, "fleet");
    let mutating = of_kind(&objects, "MutatingWebhookConfiguration")[0];
    assert_eq!(mutating["webhooks"][0].pointer(SELECTED), None);
    let selected = mutating["webhooks"][1].pointer(SELECTED).unwrap();
    assert_eq!(selected[0]["values"], json!(["deck"]));
    assert_eq!(selected[1]["values"], json!(["fleet"]));
    let all = objects.iter().map(Value::to_string).collect::<String>();
    assert!(!all.contains("captains-system"), "{all}");
}
