//! `config/` of an imported project, whose Deployment has a selector of its own.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::compare::{self, Names};
use super::consistent::{check, of_kind};
use super::known::Known;
use super::project::{CRD, DEFAULT, enable, kbr, render, rendered, write};

/// A project in Go whose `config` has what people add to that of kubebuilder.
fn fixture() -> tempfile::TempDir {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/import/captains");
    let go = tempfile::tempdir().unwrap();
    let mut copy = std::process::Command::new("cp");
    let copied = copy.arg("-RT").arg(fixture).arg(go.path()).status();
    assert!(copied.unwrap().success());
    for (path, text) in DEPLOYED {
        write(&go, path, text);
    }
    go
}

/// What is added, by its file.
const DEPLOYED: [(&str, &str); 8] = [
    (
        DEFAULT,
        "namespace: crew\nnamePrefix: sea-\ncommonLabels: {fleet: north}\nresources: [../crd, ../rbac, ../manager, ../extra]\n\
         patches:\n- path: tide_patch.yaml\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --tide=high}\n\
         patchesStrategicMerge:\n- |-\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: controller-manager, namespace: system}\n  \
         spec: {template: {spec: {priorityClassName: mates, containers: [{name: manager, imagePullPolicy: Always}]}}}\n",
    ),
    (
        "config/default/tide_patch.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: controller-manager, namespace: system}\nspec:\n  strategy: {type: Recreate}\n  template:\n    \
         spec:\n      serviceAccountName: mate\n      tolerations: [{key: sea, operator: Exists}]\n      nodeSelector: {deck: \"1\"}\n      \
         volumes: [{name: chart, configMap: {name: chart}}]\n      containers:\n      - name: manager\n        ports: [{name: metrics, containerPort: 9090}, {name: tide, containerPort: 7000}]\n        volumeMounts: [{name: chart, mountPath: /chart}]\n        \
         startupProbe: {httpGet: {path: /ready, port: 8081}, failureThreshold: 9}\n        livenessProbe: {httpGet: {path: /healthz, port: 8081}, periodSeconds: 7, initialDelaySeconds: 15}\n      - name: cook\n        image: cook:1\n",
    ),
    (
        "config/crd/kustomization.yaml",
        "resources: [bases/crew.example.com_captains.yaml]\nlabels:\n- pairs: {contract: v1}\npatches:\n- patch: |-\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: captains.crew.example.com, labels: {moves: \"1\"}, annotations: {api-approved.kubernetes.io: unapproved, cert-manager.io/inject-ca-from: a/b}}\n    spec: {conversion: {strategy: Webhook}}\n",
    ),
    (
        "config/rbac/kustomization.yaml",
        "resources: [account.yaml, role.yaml]\n",
    ),
    (
        "config/rbac/account.yaml",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: mate, namespace: system, annotations: {cloud: role}}\n",
    ),
    (
        "config/rbac/role.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: by-hand, labels: {aggregates: \"1\"}}\nrules:\n- {apiGroups: [\"\"], resources: [nodes], verbs: [get, list]}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: by-hand}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: by-hand}\n\
         subjects: [{kind: ServiceAccount, name: mate, namespace: system}]\n",
    ),
    ("config/extra/kustomization.yaml", "resources: [all.yaml]\n"),
    (
        "config/extra/all.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart, namespace: system}\ndata: {north: up}\n---\n\
         apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mates}\nvalue: 7\n---\n\
         apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: daemon, namespace: system}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: elsewhere}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n\
         subjects: [{kind: ServiceAccount, name: daemon, namespace: harbour}]\n",
    ),
];

#[test]
fn what_a_project_in_go_deploys_is_deployed_by_the_imported_one_or_named() {
    let (go, project) = (fixture(), tempfile::tempdir().unwrap());
    let manager = go.path().join("config/manager/manager.yaml");
    fs::write(
        go.path().join("config/manager/kustomization.yaml"),
        "resources: [manager.yaml]\n",
    )
    .unwrap();
    assert!(manager.exists());
    kbr(&project, &format!("import {} --yes", go.path().display()));
    let crd = fs::read_to_string(go.path().join(CRD)).unwrap();
    write(&project, CRD, &crd);
    let names = Names {
        prefix: "sea-".to_owned(),
        namespace: "crew".to_owned(),
        deployment: "sea-controller-manager".to_owned(),
    };
    let objects = |folder: &tempfile::TempDir| {
        let rendered = rendered(folder, "config/default");
        compare::objects(&rendered, &names).unwrap()
    };
    let (theirs, ours) = (objects(&go), objects(&project));
    let report = fs::read_to_string(project.path().join("IMPORT.md")).unwrap();
    let known = Known::of_others();
    let found = compare::differences(&theirs, &ours, &known);
    let silent = known.silent(found, &report);
    assert_eq!(silent, [""; 0], "{report}");
    let deployment = &ours["Deployment P-controller-manager"]["spec"];
    let pod = &deployment["template"]["spec"];
    assert_eq!(deployment["strategy"], json!({ "type": "Recreate" }));
    assert_eq!(pod["priorityClassName"], "P-mates");
    assert_eq!(pod["containers"].as_array().unwrap().len(), 2);
    assert_eq!(pod["containers"][0]["livenessProbe"]["periodSeconds"], 7);
    assert!(ours.contains_key("ServiceAccount P-daemon"));
    let subjects = &ours["ClusterRoleBinding P-elsewhere"]["subjects"];
    assert_eq!(subjects[0]["namespace"], "harbour");
    let ports = pod["containers"][0]["ports"].as_array().unwrap();
    let ports: Vec<_> = ports.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(ports, ["tide", "metrics", "probes"]);
    assert!(report.contains("`metrics` (9090)"), "{report}");
    let conversion = "a single version, which converts nothing: `Captain`";
    assert!(report.contains(conversion), "{report}");
    let crd = &ours["CustomResourceDefinition captains.crew.example.com"]["metadata"];
    assert_eq!(crd["labels"]["moves"], "1");
    assert_eq!(
        crd["annotations"]["api-approved.kubernetes.io"],
        "unapproved"
    );
    let account = &ours["ServiceAccount P-mate"]["metadata"];
    assert_eq!(account["annotations"], json!({ "cloud": "role" }));
    let main = fs::read_to_string(project.path().join("src/main.rs")).unwrap();
    let permission = "// +kbr:rbac:groups=core,resources=nodes,verbs=get;list\n";
    assert!(main.contains(permission), "{main}");
    assert!(report.contains("to another role: `aggregates`"), "{report}");
    assert!(
        report.contains("`kubectl delete clusterrole sea-by-hand`"),
        "{report}"
    );
}

#[test]
fn an_imported_project_with_a_selector_of_its_own_renders() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/import/captains");
    let (go, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copied = format!("cp -R {} {}", fixture.display(), go.path().display());
    let mut words = copied.split(' ');
    let copy = std::process::Command::new(words.next().unwrap())
        .args(words)
        .status();
    assert!(copy.unwrap().success());
    let go = go.path().join("captains");
    let manager = go.join("config/manager/manager.yaml");
    let text = fs::read_to_string(&manager).unwrap();
    let theirs = "control-plane: \"1\"\n      app.kubernetes.io/name: sea";
    let text = text.replacen("control-plane: controller-manager", theirs, 1);
    fs::write(&manager, text).unwrap();
    kbr(&project, &format!("import {} --yes", go.display()));
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "captains.crew.example.com" },
    });
    write(&project, CRD, &crd.to_string());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    for components in [
        &[][..],
        &["prometheus", "network-policy", "high-availability"],
    ] {
        enable(&project, &default, components);
        let objects = render(&project, "config/default");
        check(&objects, "captains-system");
        let selector = &of_kind(&objects, "Deployment")[0]["spec"]["selector"]["matchLabels"];
        let expected =
            json!({ "control-plane": "1", "app.kubernetes.io/name": "sea", "team": "crew" });
        assert_eq!(*selector, expected);
        assert_eq!(of_kind(&objects, "Service").len(), 2);
        let all = format!("{objects:?}");
        assert!(
            !all.contains("captains,control-plane=controller-manager"),
            "{all}"
        );
    }
}
