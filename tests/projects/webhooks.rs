//! Webhooks of generated projects, called by a real API server.

use super::{
    place::{Place, place},
    project::Project,
    support::write,
};

/// Sends requests like a user, and waits until the API server has noticed a new configuration.
const ADMISSION: &str = r#"//! Calls the webhooks through a real API server.

use std::time::Duration;

use api::GROUP::v1::KIND;
use kube::{
    Resource as _,
    api::{Api, DeleteParams, PatchParams, Patch, PostParams},
};
use kbr_testing::{Cluster, eventually};

fn object(name: &str, message: Option<&str>) -> KIND {
    let mut object = KIND::default();
    object.metadata.name = Some(name.to_owned());
    object.spec.message = message.map(str::to_owned);
    object
}

#[tokio::test]
async fn objects_are_defaulted_rejected_and_protected() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_PROJECT"))?;
    let api: Api<KIND> = cluster.api();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let rejected = eventually(Duration::from_secs(180), "a rejection", || async {
        Ok(api.create(&dry_run, &object("a", Some(""))).await.err())
    })
    .await?;
    let kube::Error::Api(status) = rejected else { panic!("{rejected}") };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{status:?}");
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<_> = causes.map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["spec.message"], "{status:?}");
    assert!(status.message.contains("spec.message: Invalid value: \"\": must not be empty"), "{status:?}");

    let made = eventually(Duration::from_secs(180), "a default", || async {
        let made = api.create(&dry_run, &object("a", None)).await?;
        Ok(made.spec.message)
    })
    .await?;
    assert_eq!(made, "ahoy");

    let body = serde_json::to_vec(&object("a", Some("loud")))?;
    let path = KIND::url_path(&(), Some(cluster.namespace()));
    let request = kube::core::Request::new(path).create(&dry_run, body)?;
    let answer = cluster.client().send(request.map(kube::client::Body::from)).await?;
    let warning = answer.headers()["warning"].to_str()?;
    assert!(answer.status().is_success() && warning.contains("the message is loud"), "{answer:?}");

    api.create(&PostParams::default(), &object("keep", None)).await?;
    let change = serde_json::json!({ "spec": { "message": "" } });
    let rejected = api.patch("keep", &PatchParams::default(), &Patch::Merge(&change)).await;
    assert!(rejected.unwrap_err().to_string().contains("spec.message"));
    let rejected = api.delete("keep", &DeleteParams::default()).await.unwrap_err();
    assert!(rejected.to_string().contains("it must be kept"), "{rejected}");
    let change = serde_json::json!({ "spec": { "message": "go" } });
    api.patch("keep", &PatchParams::default(), &Patch::Merge(&change)).await?;
    api.delete("keep", &DeleteParams::default()).await?;
    cluster.close().await
}
"#;

/// A project from users' documents: one kind, both webhooks, and custom rules.
fn admission(place: &Place, folder: &'static str, init: &str, group: &str, kind: &str) -> Project {
    let project = place.project(folder);
    project.kbr(init);
    let name = format!("--group {group} --version v1 --kind {kind}");
    project.answer_yes(&name);
    project.kbr(&format!(
        "create webhook {name} --defaulting --programmatic-validation"
    ));
    project.lint();
    project.test();

    let file = format!("src/webhooks/{group}_v1_{}.rs", kind.to_lowercase());
    project.implement(
        &file,
        "default",
        "        let _ = cx;
        object.spec.message.get_or_insert_with(|| \"ahoy\".to_owned());",
    );
    let example = project.example(&file, "check");
    let checks = format!(
        "    let mut errors = webhook::FieldErrors::default();
    {example}
    if object.spec.message.as_deref() == Some(\"loud\") {{
        tracing::debug!(name, \"loud\");
        return Ok(vec![\"the message is loud\".to_owned()]);
    }}
    errors.check()?;"
    );
    project.implement(&file, "check", &checks);
    project.implement(
        &file,
        "validate_delete",
        "        if cx.name() == \"keep\" && object.spec.message.as_deref() == Some(\"ahoy\") {
            return Err(webhook::Rejection::forbidden(\"it must be kept\"));
        }",
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
    project
}

#[test]
#[ignore = "`make test-release` runs it: `Home` is the same, and more"]
fn the_guestbook_is_defaulted_and_validated() {
    let place = place();
    admission(&place, "guestbook", "init", "webapp", "Guestbook");
}

/// `make run` serves webhooks with its own certificate, unless they are disabled in either way. Both bring the sample to
/// `Ready`.
const RUN: &str = r#"
flags='--log-format text --health-probe-bind-address 127.0.0.1:0 --metrics-bind-address 0 --webhook-host 127.0.0.1 --webhook-port 0 --shutdown-delay 0s'
operator=
end() {
  test -z "$operator" || { kill -- "-$operator"; wait "$operator" || true; }
  operator=
}
trap 'end; cat run.log' EXIT
start() {
  setsid "$@" ARGS="$flags" > run.log 2>&1 &
  operator=$!
}
logged() {
  for _ in $(seq 1200); do
    if grep -q "$1" run.log; then return; fi
    sleep 0.1
  done
  echo "not logged: $1"
  exit 1
}
ready() {
  kubectl apply -k config/samples/
  kubectl wait --for=condition=Ready --timeout=60s -f config/samples/ajd_v1_home.yaml
  kubectl delete -k config/samples/
}

kubectl get crd -o wide homes.ajd.my.domain
start make run
logged 'serving webhooks'
ready
address=$(sed -n 's/.*serving webhooks.*address=\([0-9.:]*\).*/\1/p' run.log)
# It answers over TLS. kubectl's request is not a review, because its content type is not JSON.
echo '{}' > nothing.json
answered=
for _ in $(seq 100); do
  kubectl --kubeconfig /dev/null --server "https://$address" --insecure-skip-tls-verify --token none \
    create --raw /validate-ajd-my-domain-v1-home -f nothing.json > answer.txt 2>&1 || true
  if grep 'Unsupported Media Type' answer.txt; then answered=true; break; fi
  sleep 0.1
done
test -n "$answered" || { cat answer.txt; exit 1; }
end

for how in 'env ENABLE_WEBHOOKS=false make run' 'make run ENABLE_WEBHOOKS=false'; do
  start $how
  logged 'webhooks are turned off'
  ready
  if grep 'serving webhooks' run.log; then exit 1; fi
  end
done
"#;

#[test]
fn a_home_is_defaulted_and_validated_and_its_operator_runs_on_the_host() {
    let place = place();
    let home = admission(&place, "home", "init --repo myk8soperator", "ajd", "Home");
    home.cluster(RUN);
}
