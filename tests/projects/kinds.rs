//! Webhooks for kinds with similar names, and for built-in and external kinds, called by a real API server.

use std::fs;

use super::{place::place, project::Project, support::write};

/// A kind that another operator owns.
const WIDGETS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.widgets.example.org }
spec:
  group: widgets.example.org
  names: { kind: Widget, plural: widgets, singular: widget, listKind: WidgetList }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: {
        size: { description: How large., type: integer, minimum: 1 } } } } } }
";

/// The behavior visible to users of the operator.
const TEST: &str = r#"//! The webhooks of all kinds, called by the API server.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::ErrorResponse;
use kbr_testing::{Cluster, eventually};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(180);

const WIDGETS: &str = include_str!("../../widgets.yaml");

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

fn object<K: serde::de::DeserializeOwned>(name: &str, spec: &Value) -> K {
    let object = json!({ "metadata": { "name": name }, "spec": spec });
    serde_json::from_value(object).expect("an object of this kind")
}

fn rejection<T>(result: kube::Result<T>) -> Option<ErrorResponse> {
    match result {
        Err(kube::Error::Api(status)) => Some(*status),
        _ => None,
    }
}

#[tokio::test]
async fn each_kind_has_its_own_webhooks_file() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let file = std::env::temp_dir().join(cluster.namespace());
    std::fs::write(&file, WIDGETS)?;
    cluster.kubectl(&["apply", "--filename", &file.to_string_lossy()])?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_harbour"))?;

    // The same kind and version in two groups.
    let crew: Api<api::crew::v1::Captain> = cluster.api();
    let galley: Api<api::galley::v1::Captain> = cluster.api();
    let none = json!({});
    let of_crew = eventually(LIMIT, "a default", || async {
        Ok(crew.create(&dry_run(), &object("a", &none)).await?.spec.message)
    });
    assert_eq!(of_crew.await?, "from the crew");
    let of_galley = eventually(LIMIT, "a default", || async {
        Ok(galley.create(&dry_run(), &object("a", &none)).await?.spec.message)
    });
    assert_eq!(of_galley.await?, "from the galley");
    let long = "a".repeat(64);
    let rejected = eventually(LIMIT, "a rejection", || async {
        Ok(rejection(crew.create(&dry_run(), &object(&long, &none)).await))
    });
    let rejected = rejected.await?;
    assert_eq!((rejected.code, rejected.reason.as_str()), (422, "Invalid"), "{rejected:?}");
    assert!(rejected.message.contains("vcaptain-v1.crew.example.com"), "{rejected:?}");

    // One second exceeds the first webhook's timeout; the second one's failure policy ignores it.
    let late = rejection(crew.create(&dry_run(), &object("slow", &none)).await);
    let late = late.expect("no answer is a rejection");
    assert!(late.message.contains("failed calling webhook \"mcaptain-v1.crew.example.com\""), "{late:?}");
    let ignored = galley.create(&dry_run(), &object("slow", &none)).await?;
    assert_eq!(ignored.spec.message, None);

    // An external kind.
    let widgets: Api<widgets::widgets_example_org::v1::Widget> = cluster.api();
    let size = json!({ "size": 1 });
    let rejected = eventually(LIMIT, "a rejection", || async {
        Ok(rejection(widgets.create(&dry_run(), &object(&long, &size)).await))
    });
    assert_eq!(rejected.await?.reason, "Invalid");
    widgets.create(&dry_run(), &object("right", &size)).await?;

    // A built-in kind: only in the selected namespaces, for the selected objects, under the conditions.
    let pods: Api<Pod> = cluster.api();
    let called = async |name: &str, labels: Value| {
        let mut pod: Pod = object(name, &json!({ "containers": [{ "name": "main", "image": "a" }] }));
        pod.metadata.labels = serde_json::from_value(labels)?;
        let made = pods.create(&dry_run(), &pod).await?;
        anyhow::Ok(made.metadata.annotations.is_some_and(|all| all.contains_key("harbour")))
    };
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let label = async |labels: Value| {
        let change = Patch::Merge(json!({ "metadata": { "labels": labels } }));
        namespaces.patch(cluster.namespace(), &PatchParams::default(), &change).await
    };
    assert!(!called("a", json!({})).await?, "the namespace has no label yet");
    label(json!({ "team": "deck" })).await?;
    eventually(LIMIT, "the webhook is called", async || {
        Ok(called("a", json!({})).await?.then_some(()))
    })
    .await?;
    assert!(!called("a", json!({ "legacy": "" })).await?, "the object selector excludes it");
    assert!(!called("unseen", json!({})).await?, "the match condition excludes it");
    // A label that a tenant may set exempts nothing. The other label shows that the API server has noticed it.
    label(json!({ "team": "hold", "app.kubernetes.io/name": "harbour" })).await?;
    eventually(LIMIT, "the namespace is no longer selected", async || {
        Ok((!called("a", json!({})).await?).then_some(()))
    })
    .await?;
    label(json!({ "team": "deck" })).await?;
    eventually(LIMIT, "the webhook is called again", async || {
        Ok(called("a", json!({})).await?.then_some(()))
    })
    .await?;
    cluster.close().await
}
"#;

/// The user's code in a validator.
const SHORT: &str = r#"    let mut errors = webhook::FieldErrors::default();
    if name.len() > 63 {
        tracing::debug!(uid = object.metadata.uid, "too long");
        errors.push(webhook::FieldError::too_long("metadata.name", 63));
    }
    errors.check()?;"#;

/// The user's code in a defaulter, which the scaffolded test survives.
fn edit(project: &Project, file: &str, line: &str) {
    project.implement(file, "default", &format!("let _ = cx;\n{line}"));
    project.run("cargo", &["fmt", "--all"]);
}

#[test]
fn built_in_and_external_kinds_have_their_own_webhooks() {
    let place = place();
    let project = place.project("harbour");
    project.kbr("init --domain example.com");
    // Before the project has its own kind.
    project.kbr(
        "create webhook --group core --version v1 --kind Pod --defaulting --namespace-selector team=deck \
         --object-selector !legacy --match-condition seen=object.metadata.name!='unseen'",
    );
    let annotate = "object.metadata.annotations.get_or_insert_default().insert(\"harbour\".to_owned(), String::new());";
    edit(&project, "src/webhooks/core_v1_pod.rs", annotate);
    for (group, more) in [
        ("crew", "--timeout 1"),
        ("galley", "--timeout 1 --failure-policy ignore"),
    ] {
        let kind = format!("--group {group} --version v1 --kind Captain");
        project.create_api(&format!("{kind} --resource --controller=false"));
        project.kbr(&format!("create webhook {kind} --defaulting {more}"));
        let default = format!(
            "if cx.name() == \"slow\" {{ tokio::time::sleep(std::time::Duration::from_secs(5)).await; }}
             object.spec.message.get_or_insert_with(|| \"from the {group}\".to_owned());"
        );
        edit(
            &project,
            &format!("src/webhooks/{group}_v1_captain.rs"),
            &default,
        );
    }

    // A second webhook in a file with the user's code: all of the user's lines remain, in their order.
    let file = project.0.join("src/webhooks/crew_v1_captain.rs");
    let before = fs::read_to_string(&file).expect("a file");
    project.kbr("create webhook --group crew --version v1 --kind Captain --validation");
    let after = fs::read_to_string(&file).expect("a file");
    let mut lines = after.lines();
    for line in before.lines() {
        assert!(lines.any(|it| it == line), "{line:?} is gone:\n{after}");
    }
    project.implement("src/webhooks/crew_v1_captain.rs", "check", SHORT);

    write(&project.0.join("widgets.yaml"), WIDGETS.as_bytes());
    project.kbr(
        "create api --from-crd widgets.yaml --external --external-crate ./widgets --controller",
    );
    project.kbr(
        "create webhook --group widgets.example.org --version v1 --kind Widget --validation \
         --external-crate ./widgets --external-type widgets::widgets_example_org::v1::Widget",
    );
    let file = "src/webhooks/widgets_example_org_v1_widget.rs";
    project.implement(file, "check", SHORT);
    // cargo adds the crate once, as kbr's note announces.
    project.run("cargo", &["metadata", "--format-version", "1"]);
    project.lint();
    write(
        &project.0.join("tests/integration/kinds.rs"),
        TEST.as_bytes(),
    );
    project.replace(
        "tests/integration/main.rs",
        "// +kbr:scaffold:modules",
        "mod kinds;\n// +kbr:scaffold:modules",
    );
    project.run("cargo", &["fmt", "--all"]);
    project.test();
    project.cluster("make install deploy IMG=registry.example.com/harbour:v1");
}
