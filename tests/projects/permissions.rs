//! The operator's permissions in the cluster.

use std::fs;

use serde_yaml_ng::Value;

use super::{
    place::{Place, place},
    project::{Project, before_a_release},
    support::{KBR, write},
};

/// A controller that needs each of its permissions.
const CONTROLLER: &str = r#"//! The `captain` controller for `Captain`.

use std::{sync::Arc, time::Duration};

use api::crew::v1::Captain;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{ResourceExt, api::PartialObjectMeta, core::ObjectMeta};
use manager::{Action, Context, Manager, metadata, Cleanup};

// +kbr:rbac:groups=crew.example.com,resources=captains,verbs=get;list;watch;patch;update
// +kbr:rbac:groups=crew.example.com,resources=captains/status,verbs=patch
// +kbr:rbac:groups=core,resources=configmaps,verbs=get;list;watch;create;patch
// +kbr:rbac:groups=core,resources=secrets,verbs=get;create;patch;delete
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .owns(metadata::<ConfigMap>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer("crew.example.com/captain", cleanup)
        .reconcile(reconcile);
}

async fn reconcile(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    cx.event("Boarded", "the captain is on board");
    // With an old version, so that the API server reports a conflict and the object is read again.
    let mut old = Captain::clone(&captain);
    old.metadata.resource_version = Some("1".to_owned());
    let mark = |captain: &mut Captain| {
        captain.annotations_mut().insert("crew.example.com/seen".to_owned(), "true".to_owned());
    };
    cx.update(&old, mark).await?;
    // It is applied once, and read from the cache afterwards.
    let cached = cx.get::<PartialObjectMeta<ConfigMap>>(cx.name())?.is_some();
    cx.apply(&ConfigMap { metadata: named(&cx), ..ConfigMap::default() }).await?;
    if !cached {
        return Ok(Action::requeue(Duration::from_millis(50)));
    }
    cx.apply(&Secret { metadata: named(&cx), ..Secret::default() }).await?;
    cx.ready("Applied", "the actual state matches the spec");
    // After ten seconds, the event is updated with its count.
    Ok(Action::requeue(Duration::from_secs(1)))
}

async fn cleanup(_: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Cleanup> {
    cx.delete(&Secret { metadata: named(&cx), ..Secret::default() }).await?;
    Ok(Cleanup::Done)
}

fn named(cx: &Context<Captain>) -> ObjectMeta {
    ObjectMeta { name: Some(cx.name().to_owned()), ..ObjectMeta::default() }
}
"#;

/// Tests that fail without any one of the permissions.
const TESTS: &str = r#"//! Uses each of the operator's permissions.

use std::time::Duration;

use kbr_testing::Cluster;
use tokio::time::sleep;

/// Waits until the output of `kubectl get` matches.
async fn shown(cluster: &Cluster, args: &[&str], wanted: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let mut last = String::new();
    for _ in 0..600 {
        last = cluster.kubectl(&[&["get"], args].concat())?;
        if wanted(&last) {
            return Ok(());
        }
        sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("{args:?} shows {last}")
}

fn sample(cluster: &Cluster, kind: &str) -> anyhow::Result<String> {
    let sample = format!("config/samples/crew_v1_{kind}.yaml");
    cluster.kubectl(&["apply", "-f", &sample])?;
    cluster.kubectl(&["wait", "--for=condition=Ready", "--timeout=60s", "-f", &sample])?;
    Ok(sample)
}

#[tokio::test]
async fn captains_board() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_crew"))?;
    let captain = sample(&cluster, "captain")?;
    let events = ["events.v1.events.k8s.io", "-o", "jsonpath={.items[*].series.count}"];
    shown(&cluster, &events, |counts| !counts.is_empty()).await?;
    let lease = ["leases", "-o", "jsonpath={.items[*].spec.acquireTime} {.items[*].spec.renewTime}"];
    let renewed = |times: &str| times.split_once(' ').is_some_and(|(acquired, renewed)| acquired != renewed);
    shown(&cluster, &lease, renewed).await?;
    cluster.kubectl(&["delete", "--timeout=60s", "-f", &captain])?;
    shown(&cluster, &["secrets", "-o", "name"], str::is_empty).await?;
    cluster.close().await
}

#[tokio::test]
async fn ships_sail() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_crew"))?;
    sample(&cluster, "ship")?;
    let events = ["events", "-n", "default", "-o", "jsonpath={.items[*].reason}"];
    shown(&cluster, &events, |reasons| reasons.contains("Launched")).await?;
    cluster.close().await
}
"#;

/// Runs the tests with each role in `roles/`, and keeps their output next to it.
const LOOP: &str = r"
rbac=config/rbac
for role in roles/*.yaml; do
  name=$(basename $role .yaml)
  cp -r $rbac kept
  cp $role $rbac/${name##*-}.yaml
  # One after another, because every operator reconciles the ships of all tests.
  cargo test --quiet --features envtest --test integration -- --test-threads 1 captains_board ships_sail \
    > roles/$name.out 2>&1 && touch roles/$name.passed
  # Ships are cluster-scoped, so they are not removed with a namespace of the test.
  kubectl delete ships --all
  rm -r $rbac
  mv kept $rbac
done || true
";

/// A role without one verb of one of its rules, and the error that a test without it must print.
struct Incomplete {
    role: Value,
    wanted: String,
}

/// Every way to leave out one verb on one resource.
fn incomplete(role: &Value) -> Vec<Incomplete> {
    let mut rules = Vec::new();
    for rule in list(&role["rules"]) {
        for resource in list(&rule["resources"]) {
            for verb in list(&rule["verbs"]) {
                let mut single = rule.clone();
                single["resources"] = Value::Sequence(vec![resource.clone()]);
                single["verbs"] = Value::Sequence(vec![verb.clone()]);
                rules.push(single);
            }
        }
    }
    let without = |at: usize| {
        let mut left = rules.clone();
        let removed = left.remove(at);
        let mut role = role.clone();
        role["rules"] = Value::Sequence(left);
        let text = |key: &str| removed[key][0].as_str().expect("text");
        let group = Some(text("apiGroups")).filter(|group| !group.is_empty());
        let wanted = format!(
            "+kbr:rbac:groups={},resources={},verbs={}`",
            group.unwrap_or("core"),
            text("resources"),
            text("verbs"),
        );
        Incomplete { role, wanted }
    };
    (0..rules.len()).map(without).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_sequence().expect("a list")
}

/// A project in which each permission is needed.
fn crew(place: &Place) -> Project {
    let project = place.project("crew");
    project.kbr("init --domain example.com");
    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    project.create_api(
        "--group crew --version v1 --kind Ship --namespaced=false --resource --controller",
    );
    let captain = "src/controllers/captain.rs";
    write(&project.0.join(captain), CONTROLLER.as_bytes());
    let ship = "src/controllers/ship.rs";
    project.replace(
        ship,
        "    cx.ready(",
        "    cx.event(\"Launched\", \"the ship is in the water\");\n    cx.ready(",
    );
    project.replace(
        ship,
        "    manager\n",
        "    if std::env::var_os(\"NO_SHIPS\").is_some() {\n        return;\n    }\n    manager\n",
    );
    let tests = "tests/integration/permissions.rs";
    write(&project.0.join(tests), TESTS.as_bytes());
    project.replace(
        "tests/integration/main.rs",
        "// +kbr:scaffold:modules",
        "mod permissions;\n// +kbr:scaffold:modules",
    );
    // Like the other controller, it reads a ship only after a conflict.
    project.replace(ship, "verbs=get;list;watch", "verbs=list;watch");
    project.run("make", &["manifests"]);
    project
}

/// Restricts the operator to the namespaces that the component lists.
fn confine(project: &Project) {
    project.replace(
        "config/default/kustomization.yaml",
        "components:\n",
        "components:\n  - ../namespaced\n",
    );
}

#[test]
fn the_operators_role_is_sufficient_and_a_test_fails_for_each_rule_that_is_missing() {
    let place = place();
    let project = crew(&place);
    suffices_for_the_cluster(&project);
    is_needed_rule_by_rule(&project);
    confine(&project);
    suffices_for_one_namespace(&project);
    is_needed_in_one_namespace(&project);
}

/// Integration tests run the operator as its service account, so that a missing rule is found before deployment. All rules are left out
/// before a release, and each fifth one otherwise.
fn is_needed_rule_by_rule(project: &Project) {
    let read = |file: &str| {
        let text = fs::read_to_string(project.0.join("config/rbac").join(file));
        let text = text.expect("a role");
        let role: Value = serde_yaml_ng::from_str(&text).expect("YAML");
        (text, role)
    };
    let folder = project.0.join("roles");
    let mut wanted = Vec::new();
    for file in ["role", "leader_election_role"] {
        let (text, role) = read(&format!("{file}.yaml"));
        write(&folder.join(format!("whole-{file}.yaml")), text.as_bytes());
        let every = if before_a_release() { 1 } else { 5 };
        for (number, one) in incomplete(&role).into_iter().enumerate().step_by(every) {
            let text = serde_yaml_ng::to_string(&one.role).expect("YAML");
            let name = format!("{number}-{file}");
            write(&folder.join(format!("{name}.yaml")), text.as_bytes());
            wanted.push((name, one.wanted));
        }
    }
    let least = if before_a_release() { 16 } else { 4 };
    assert!(wanted.len() >= least, "{}", wanted.len());
    project.cluster(LOOP);

    let printed = |name: &str| {
        let printed = fs::read_to_string(folder.join(format!("{name}.out"))).expect("output");
        (folder.join(format!("{name}.passed")).exists(), printed)
    };
    for name in ["whole-role", "whole-leader_election_role"] {
        let (passed, printed) = printed(name);
        assert!(passed, "with all permissions:\n{printed}");
    }
    let mut wrong = String::new();
    for (name, wanted) in wanted {
        let (passed, printed) = printed(&name);
        if passed || !printed.contains(&wanted) {
            wrong = format!("{wrong}\n{name}: without `{wanted}, passed: {passed}\n{printed}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn is_needed_in_one_namespace(project: &Project) {
    let confined =
        "NO_SHIPS=1 cargo test --quiet --features envtest --test integration -- captains_board";
    let audited = ["run", "--audit", "audit.log", "--", "sh", "-e", "-c"];
    project.run(KBR, &[&["envtest"], &audited[..], &[confined]].concat());
    // It agrees with the tests above: each permission is used, except those for ships and for readers of the metrics.
    let report = project.run(KBR, &["manifests", "permissions", "audit.log"]);
    let lines = report.lines().filter(|line| line.starts_with("  "));
    let (ships, others): (Vec<_>, Vec<_>) =
        lines.partition(|line| line.starts_with("  src/controllers/ship.rs:"));
    assert_eq!(ships.len(), 2, "{report}");
    let metrics = "  ClusterRole `crew-metrics-auth-role`: groups=";
    let expected = [
        "authentication.k8s.io,resources=tokenreviews",
        "authorization.k8s.io,resources=subjectaccessreviews",
    ]
    .map(|reviews| format!("{metrics}{reviews},verbs=create"));
    assert_eq!(others, expected, "{report}");
}

/// Reads the metrics as an authorized user, until the operator is forbidden to review that access.
const METRICS: &str = r#"
port=$(sed -n 's/.*serving metrics.*127.0.0.1:\([0-9]*\).*/\1/p' operator.log)
kubectl create serviceaccount reader -n default
kubectl create clusterrolebinding reader --clusterrole=crew-metrics-reader --serviceaccount=default:reader
# With a new token each time, because results are cached.
scrape() {
  kubectl --kubeconfig /dev/null --server https://127.0.0.1:$port --insecure-skip-tls-verify \
    --token "$(kubectl create token reader -n default)" get --raw /metrics
}
for _ in $(seq 300); do
  if scrape > metrics; then break; fi
  sleep 0.1
done
grep controller_runtime_reconcile_total metrics
"#;

const FORBIDDEN: &str = r#"
role=clusterrole/crew-metrics-auth-role
forbidden() {
  for _ in $(seq 600); do
    scrape > metrics 2>&1 || true
    if grep "cannot create resource.*$1" operator.log; then return; fi
    sleep 0.1
  done
  echo "no test fails without $1"
  exit 1
}
kubectl patch $role --type=json -p '[{"op":"remove","path":"/rules/1"}]'
forbidden subjectaccessreviews
kubectl patch $role --type=json -p '[{"op":"remove","path":"/rules/0"}]'
forbidden tokenreviews
"#;

/// Runs the operator with the permissions of `make deploy`, by its service account's token.
fn as_deployed(project: &Project) -> String {
    project.run("make", &["build"]);
    let operator = project.operator("crew");
    format!(
        r#"
        make deploy IMG=registry.example.com/crew:v1
        cp "$KUBECONFIG" deployed.kubeconfig
        token=$(kubectl create token crew-controller-manager -n crew-system)
        kubectl --kubeconfig deployed.kubeconfig config set-credentials deployed --token="$token"
        kubectl --kubeconfig deployed.kubeconfig config set-context --current --user=deployed
        KUBECONFIG=deployed.kubeconfig POD_NAMESPACE=crew-system {} --leader-elect \
            --health-probe-bind-address 127.0.0.1:0 --metrics-bind-address 127.0.0.1:0 >operator.log 2>&1 &
        trap 'kill $!; cat operator.log' EXIT
        kubectl apply -n crew-system -f config/samples/crew_v1_captain.yaml
        kubectl wait -n crew-system --for=condition=Ready --timeout=60s captain/captain-sample
        kubectl get lease -n crew-system crew.example.com
        "#,
        operator.display()
    )
}

fn suffices_for_the_cluster(project: &Project) {
    let as_deployed = as_deployed(project);
    let ship = "kubectl apply -f config/samples/crew_v1_ship.yaml
        kubectl wait --for=condition=Ready --timeout=60s ship/ship-sample";
    let log = project.cluster(&format!("{as_deployed}\n{ship}\n{METRICS}"));
    assert!(!log.contains("orbidden"), "nothing is forbidden: {log}");
    // The role for that is the operator's, too.
    project.cluster(&format!("{as_deployed}\n{METRICS}\n{FORBIDDEN}"));
}

fn suffices_for_one_namespace(project: &Project) {
    let confined = as_deployed(project).replace(
        "POD_NAMESPACE=",
        "NO_SHIPS=1 WATCH_NAMESPACE=crew-system POD_NAMESPACE=",
    );
    let log = project.cluster(&confined);
    assert!(!log.contains("orbidden"), "nothing is forbidden: {log}");
}
