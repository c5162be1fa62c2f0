//! Values that kustomize has no word for arrive in the Deployment, and what is not a value is refused.

use serde_json::{Value, json};

use crate::peer::{Rendered, render};
use crate::{chart, kbr, support};

fn deployment(rendered: &Rendered) -> &Value {
    let Rendered::Objects(objects) = rendered else {
        panic!("{rendered:?}")
    };
    objects
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap()
}

fn container(rendered: &Rendered) -> &Value {
    &deployment(rendered)["spec"]["template"]["spec"]["containers"][0]
}

/// The messages of `kbr chart`, which must fail.
fn failure(project: &std::path::Path, args: &[&str]) -> String {
    let output = kbr(project, args);
    assert_eq!(output.status.code(), Some(1));
    support::stderr(&output, project)
}

#[test]
fn values_arrive_where_they_belong_and_others_are_refused() {
    let project = support::example("foo");
    let own = "manager:\n  replicas: 3\nteam: crew\n";
    support::write(
        &project.path().join("config/chart/values.patch.yaml"),
        own.as_bytes(),
    );
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.team }}\n";
    support::write(
        &project.path().join("config/chart/templates/team.yaml"),
        template.as_bytes(),
    );
    chart(project.path());
    let cases = [
        json!({}),
        json!({ "manager": { "image": { "repository": "a/b", "tag": "sha256:0" }, "replicas": null } }),
        json!({ "manager": { "image": { "repository": "a/b@sha256:0" } } }),
        json!({ "manager": { "args": ["--leader-elect=false", "--own"], "env": [{ "name": "POD_NAME", "value": "x" }] } }),
        json!({ "manager": { "extraVolumes": [{ "name": "v" }], "tolerations": [{ "operator": "Exists" }] } }),
        json!({ "manager": { "pod": { "labels": { "control-plane": "other", "team": "x" } } } }),
        json!({ "fullnameOverride": "other", "team": "second" }),
        json!({ "manager": { "replica": 2 } }),
        json!({ "manager": { "replicas": "two" } }),
        json!({ "managr": {} }),
        json!({ "global": { "anything": 1 } }),
    ];
    let rendered = render(&project.path().join("dist/chart"), &cases);
    assert_eq!(deployment(&rendered[0])["spec"]["replicas"], 3);
    assert_eq!(container(&rendered[0])["image"], "controller:latest");
    assert_eq!(container(&rendered[1])["image"], "a/b@sha256:0");
    assert_eq!(deployment(&rendered[1])["spec"]["replicas"], 1);
    assert_eq!(container(&rendered[2])["image"], "a/b@sha256:0");
    let args = json!([
        "--metrics-bind-address=:8443",
        "--health-probe-bind-address=:8081",
        "--leader-elect=false",
        "--own"
    ]);
    assert_eq!(container(&rendered[3])["args"], args);
    let variables = container(&rendered[3])["env"].as_array().unwrap();
    let names: Vec<_> = variables
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["POD_NAMESPACE", "POD_NAME"]);
    let pod = &deployment(&rendered[4])["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"], json!([{ "name": "v" }]));
    assert_eq!(pod["tolerations"], json!([{ "operator": "Exists" }]));
    // The selector of a Deployment cannot change, so neither may these labels.
    let labels = &deployment(&rendered[5])["spec"]["template"]["metadata"]["labels"];
    assert_eq!(
        labels,
        &json!({ "app.kubernetes.io/name": "myk8soperator", "control-plane": "controller-manager", "team": "x" })
    );
    assert_eq!(
        deployment(&rendered[6])["metadata"]["name"],
        "other-controller-manager"
    );
    let Rendered::Objects(objects) = &rendered[6] else {
        panic!()
    };
    assert!(
        objects
            .iter()
            .any(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == "second")
    );
    for (number, part) in [(7, "'replica'"), (8, "/manager/replicas"), (9, "'managr'")] {
        assert!(
            matches!(&rendered[number], Rendered::Error(error) if error.contains(part)),
            "{:?}",
            rendered[number]
        );
    }
    assert_eq!(container(&rendered[10])["image"], "controller:latest");
}

/// Own values of `config/chart/values.patch.yaml`, and a flag with one of them.
const OWN: &str = r"
# Flags of this operator.
manager:
  args:
    - --harbor={{ .Values.harbor.url }}
    - --leader-elect=false
  env:
    - name: TIDE
      value: low
harbor:
  # Where ships are looked for:
  # a URL of HTTPS.
  url: https://harbor.example.com
  berths: 3

# Labels of the ships.
ships:
  example.com/fleet: first
";

/// The schema of one of them: it may have one of two values.
const SCHEMA: &str =
    r#"{ "properties": { "tide": { "properties": { "level": { "enum": ["low", "high"] } } } } }"#;

#[test]
fn values_of_the_projects_own_have_comments_a_schema_and_flags_that_users_add_to() {
    let project = support::example("foo");
    let write = |name: &str, text: &str| {
        let path = project.path().join("config/chart").join(name);
        support::write(&path, text.as_bytes());
    };
    write(
        "values.patch.yaml",
        &format!("{OWN}tide: {{ level: low }}\n"),
    );
    write("values.schema.json", SCHEMA);
    write(
        "templates/ships.tpl",
        "{{ .Values.ships }} {{ .Values.tide.level }}\n",
    );
    chart(project.path());
    let values = project.path().join("dist/chart/values.yaml");
    let values = std::fs::read_to_string(values).unwrap();
    for shown in [
        "  # Where ships are looked for:\n  # a URL of HTTPS.\n  url: https://harbor.example.com\n",
        "# Labels of the ships.\nships:\n  example.com/fleet: first\n",
        "  args: []\n",
    ] {
        assert!(values.contains(shown), "{values}");
    }
    let cases = [
        json!({ "harbor": { "url": "https://other" }, "manager": { "args": ["--own", "--metrics-bind-address=:1"] } }),
        json!({ "manager": { "args": ["--harbor=none"], "env": [{ "name": "TIDE", "value": "high" }] } }),
        json!({ "ships": { "example.com/other": "second" }, "tide": { "level": "high" } }),
        json!({ "harbor": { "ulr": "x" } }),
        json!({ "harbor": { "berths": "three" } }),
        json!({ "tide": { "level": "ebb" } }),
        json!({ "tide": { "levle": "low" } }),
    ];
    let rendered = render(&project.path().join("dist/chart"), &cases);
    let args = |case: usize| container(&rendered[case])["args"].clone();
    let expected = json!([
        "--health-probe-bind-address=:8081",
        "--harbor=https://other",
        "--leader-elect=false",
        "--own",
        "--metrics-bind-address=:1"
    ]);
    assert_eq!(args(0), expected);
    let args = args(1);
    let harbors = args.as_array().unwrap().iter();
    let harbors: Vec<_> = harbors
        .filter(|flag| flag.as_str().unwrap().starts_with("--harbor"))
        .collect();
    assert_eq!(harbors, ["--harbor=none"]);
    let env = container(&rendered[1])["env"].as_array().unwrap();
    let tides: Vec<_> = env.iter().filter(|it| it["name"] == "TIDE").collect();
    assert_eq!(tides, [&json!({ "name": "TIDE", "value": "high" })]);
    assert!(
        matches!(&rendered[2], Rendered::Objects(_)),
        "{:?}",
        rendered[2]
    );
    for (number, part) in [
        (3, "'ulr'"),
        (4, "/harbor/berths"),
        (5, "/tide/level"),
        (6, "'levle'"),
    ] {
        assert!(
            matches!(&rendered[number], Rendered::Error(error) if error.contains(part)),
            "{:?}",
            rendered[number]
        );
    }

    write("templates/ships.tpl", "{{ .Values.tide.level }}\n");
    let message = failure(project.path(), &["chart"]);
    let unread = "`ships` in `config/chart/values.patch.yaml`: the chart has no such value";
    assert!(message.contains(unread), "{message}");

    write("values.schema.json", &SCHEMA.replace("tide", "tides"));
    let message = failure(project.path(), &["chart"]);
    assert!(
        message.contains("`tides` in `config/chart/values.schema.json`"),
        "{message}"
    );
}

#[test]
fn what_is_stale_is_found_and_repaired_and_a_chart_of_the_user_is_left_alone() {
    let project = support::example("foo");
    chart(project.path());
    let before = support::tree(&project.path().join("dist"));
    let output = kbr(project.path(), &["chart", "--check"]);
    assert!(
        output.status.success(),
        "{}",
        support::stderr(&output, project.path())
    );

    let role = project.path().join("config/rbac/metrics_reader_role.yaml");
    let text = std::fs::read_to_string(&role).unwrap();
    std::fs::write(&role, text.replace("/metrics]", "/metrics, /debug]")).unwrap();
    let obsolete = project.path().join("dist/chart/templates/obsolete.yaml");
    support::write(&obsolete, b"a: 1\n");
    assert!(
        failure(project.path(), &["chart", "--check"])
            .starts_with("error: 2 files of the chart differ")
    );
    chart(project.path());
    assert!(!obsolete.exists());
    let output = kbr(project.path(), &["chart", "--check"]);
    assert!(output.status.success());
    std::fs::write(&role, text).unwrap();
    chart(project.path());
    assert_eq!(support::tree(&project.path().join("dist")), before);

    support::write(
        &project.path().join("dist/chart/Chart.yaml"),
        b"name: mine\n",
    );
    let message = failure(project.path(), &["chart"]);
    assert!(
        message.contains("so the chart is yours; nothing was written"),
        "{message}"
    );
}
