//! Webhooks of generated projects, called by a real API server.

use super::{
    project::{Project, alone},
    support::write,
};

/// Asks as users do, and waits where the API server takes its time to notice a new configuration.
const ADMISSION: &str = r#"//! The webhooks, called by the API server.

use std::time::Duration;

use api::GROUP::v1::KIND;
use kube::api::{Api, DeleteParams, PatchParams, Patch, PostParams};
use manager::testing::{Cluster, eventually};

fn object(name: &str, message: Option<&str>) -> KIND {
    let mut object = KIND::default();
    object.metadata.name = Some(name.to_owned());
    object.spec.message = message.map(str::to_owned);
    object
}

#[tokio::test]
async fn objects_are_defaulted_refused_and_kept() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_PROJECT"))?;
    let api: Api<KIND> = cluster.api();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let refused = eventually(Duration::from_secs(30), "a refusal", || async {
        Ok(api.create(&dry_run, &object("a", Some("wrong"))).await.err())
    })
    .await?;
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{status:?}");
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<_> = causes.map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["spec.message"], "{status:?}");
    assert!(status.message.contains("spec.message: Invalid value: \"wrong\""), "{status:?}");

    let made = eventually(Duration::from_secs(30), "a default", || async {
        let made = api.create(&dry_run, &object("a", None)).await?;
        Ok(made.spec.message)
    })
    .await?;
    assert_eq!(made, "ahoy");

    api.create(&PostParams::default(), &object("keep", None)).await?;
    let change = serde_json::json!({ "spec": { "message": "wrong" } });
    let refused = api.patch("keep", &PatchParams::default(), &Patch::Merge(&change)).await;
    assert!(refused.unwrap_err().to_string().contains("spec.message"));
    let refused = api.delete("keep", &DeleteParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("it is to be kept"), "{refused}");
    let change = serde_json::json!({ "spec": { "message": "go" } });
    api.patch("keep", &PatchParams::default(), &Patch::Merge(&change)).await?;
    api.delete("keep", &DeleteParams::default()).await?;
    cluster.close().await
}
"#;

/// A project as in the documents of its users: one kind, both webhooks, and rules of their own.
fn admission(folder: &str, init: &str, group: &str, kind: &str) {
    let project = Project::new(folder);
    project.kbr(init);
    let name = format!("--group {group} --version v1 --kind {kind}");
    project.answer_yes(&name);
    project.kbr(&format!(
        "create webhook {name} --defaulting --programmatic-validation"
    ));
    project.lint();
    project.test();

    let file = format!("src/webhooks/{group}_v1_{}.rs", kind.to_lowercase());
    project.replace(
        &file,
        "tracing::debug!(name = cx.name(), generation, \"nothing to default\");",
        "tracing::debug!(name = cx.name(), generation);
        object.spec.message.get_or_insert_with(|| \"ahoy\".to_owned());",
    );
    project.replace(
        &file,
        "    let generation = object.metadata.generation;
    tracing::debug!(name, generation, \"checked\");",
        "    if object.spec.message.as_deref() == Some(\"wrong\") {
        errors.push(webhook::FieldError::invalid(\"spec.message\", \"wrong\", \"is wrong\"));
    }",
    );
    project.replace(
        &file,
        "tracing::debug!(name = cx.name(), generation, \"may be deleted\");",
        "tracing::debug!(generation);
        if cx.name() == \"keep\" && object.spec.message.as_deref() == Some(\"ahoy\") {
            return Err(webhook::Refusal::forbidden(\"it is to be kept\"));
        }",
    );
    project.replace(
        &file,
        "assert_eq!(admitted.object, request[\"request\"][\"object\"]);",
        "assert_eq!(admitted.object[\"spec\"][\"message\"], \"ahoy\");",
    );
    let test = ADMISSION
        .replace("GROUP", group)
        .replace("KIND", kind)
        .replace("PROJECT", folder);
    write(
        &project.0.join("tests/integration/webhooks.rs"),
        test.as_bytes(),
    );
    project.replace(
        "tests/integration/main.rs",
        "// +kbr:scaffold:modules",
        "mod webhooks;\n// +kbr:scaffold:modules",
    );
    project.run("cargo", &["fmt", "--all"]);
    project.test();
}

#[test]
fn the_guestbook_is_defaulted_and_guarded() {
    let _turn = alone();
    admission(
        "guestbook",
        "init --domain my.domain",
        "webapp",
        "Guestbook",
    );
}

/// Three versions, each written and read in each.
const CONVERSION: &str = r#"//! Conversion, asked for by the API server.

use std::time::Duration;

use api::crew::{v1, v2, v3};
use kube::api::{Api, PostParams};
use manager::testing::{Cluster, eventually};

#[tokio::test]
async fn what_is_written_in_one_version_is_read_in_each() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_fleet"))?;
    let (first, second, third): (Api<v1::Captain>, Api<v2::Captain>, Api<v3::Captain>) =
        (cluster.api(), cluster.api(), cluster.api());
    let mut captain = v3::Captain::default();
    captain.metadata.name = Some("of-v3".to_owned());
    captain.spec.message = Some("ahoy".to_owned());
    eventually(Duration::from_secs(30), "a conversion", || async {
        let _ = second.create(&PostParams::default(), &second_of(&captain)).await;
        Ok(third.get_opt("of-v2").await?)
    })
    .await?;
    third.create(&PostParams::default(), &captain).await?;
    for name in ["of-v2", "of-v3"] {
        let messages = [
            first.get(name).await?.spec.message,
            second.get(name).await?.spec.salute,
            third.get(name).await?.spec.message,
        ];
        assert_eq!(messages.map(Option::unwrap_or_default), ["ahoy"; 3], "{name}");
    }
    cluster.close().await
}

fn second_of(captain: &v3::Captain) -> v2::Captain {
    let mut second = v2::Captain::default();
    second.metadata.name = Some("of-v2".to_owned());
    second.spec.salute.clone_from(&captain.spec.message);
    second
}
"#;

#[test]
fn three_versions_of_a_kind_are_converted_through_the_hub() {
    let _turn = alone();
    let project = Project::new("fleet");
    project.kbr("init --domain example.com");
    let create = |version: &str, rest: &str| {
        project.create_api(&format!(
            "--group crew --version {version} --kind Captain --resource {rest}"
        ));
    };
    create("v1", "--controller");
    create("v2", "--controller=false");
    project.kbr("create webhook --group crew --version v2 --kind Captain --conversion --spoke v1");
    create("v3", "--controller=false");
    project.lint();
    project.test();

    // A field with another name in the hub: nothing carries it over, and the scaffolded test finds that.
    project.replace("api/src/crew/v2/captain.rs", "pub message:", "pub salute:");
    project.run("make", &["manifests"]);
    let lost = project.fails("cargo", &["test", "--bins"]);
    assert!(lost.contains("`spec.message` was "), "{lost}");
    assert!(
        lost.contains("nothing_is_lost_between_v1_and_v2 ... FAILED"),
        "{lost}"
    );

    for version in ["v1", "v3"] {
        let file = format!("api/src/crew/{version}/captain_conversion.rs");
        let text = std::fs::read_to_string(project.0.join(&file)).expect("a file");
        let carried = "            spec: carry(&object.spec)?,\n";
        assert_eq!(text.matches(carried).count(), 2, "{text}");
        let text = text
            .replacen(
                carried,
                "            spec: hub::CaptainSpec { salute: object.spec.message },\n",
                1,
            )
            .replacen(
                carried,
                "            spec: super::CaptainSpec { message: object.spec.salute },\n",
                1,
            );
        write(&project.0.join(file), text.as_bytes());
    }
    write(
        &project.0.join("tests/integration/conversion.rs"),
        CONVERSION.as_bytes(),
    );
    project.replace(
        "tests/integration/main.rs",
        "// +kbr:scaffold:modules",
        "mod conversion;\n// +kbr:scaffold:modules",
    );
    project.run("cargo", &["fmt", "--all"]);
    project.test();

    // A version that is served without a conversion does not compile, or is told.
    project.replace("api/src/crew/v3/mod.rs", "mod captain_conversion;\n", "");
    let missing = project.fails("cargo", &["check", "--package", "fleet-api"]);
    assert!(
        missing.contains("no function or associated item named `spoke`"),
        "{missing}"
    );
}
