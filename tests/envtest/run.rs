//! The environment, signals and exit code of the command.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::place::{Place, is_running, text};

const WIDGETS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: not-a-crd }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.demo.example.com }
spec:
  group: demo.example.com
  scope: Namespaced
  names: { kind: Widget, plural: widgets, singular: widget }
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: { spec: { type: object, properties: { on: { type: string, enum: ["no", "1.0"] } } } }
"#;

#[test]
fn the_api_server_is_ready_for_all_requests_about_installed_kinds() {
    let place = Place::new();
    for number in 0..20 {
        let crd = WIDGETS.replace("widgets", &format!("widgets{number}"));
        let crd = crd.replace("Widget", &format!("Widget{number}"));
        let crd = crd.replace("singular: widget", &format!("singular: widget{number}"));
        place.write(&format!("crds/{number}.yaml"), &crd);
    }
    let list = r#"
        for number in $(seq 0 19); do
            kubectl get --raw "/apis/demo.example.com/v1/widgets$number?fieldSelector=metadata.name%3Dnone"
        done
    "#;
    let run = [
        "run", "--crds", "crds", "--audit", "audit", "--", "sh", "-e", "-c", list,
    ];
    let output = place.kbr(&run).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let audit = fs::read_to_string(place.path("audit")).unwrap();
    let kubectl = audit.lines().filter(|line| line.contains("kubectl"));
    let rejected: Vec<_> = kubectl
        .filter(|line| line.contains("\"code\":429"))
        .collect();
    assert!(rejected.is_empty(), "{rejected:#?}");
}

#[test]
fn the_command_finds_an_api_server_with_the_crds_of_the_project() {
    let place = Place::new();
    place.write("PROJECT", "");
    place.write("config/crd/bases/widgets.yaml", WIDGETS);
    fs::create_dir(place.path("src")).unwrap();
    let script = r#"
        kubectl get namespace default --output=name
        kubectl get widgets --output=name
        kubectl get customresourcedefinitions --output=name
        kubectl get configmap not-a-crd --ignore-not-found
        kubectl get clusterrole view --output=name
        kubectl auth can-i '*' '*'
        echo "$KBR_ENVTEST"
        find "$(dirname "$KUBECONFIG")" -name '*.key' ! -perm 600
        test "$(command -v kubectl)" = "$KUBEBUILDER_ASSETS/kubectl" && cat
        exit 7
    "#;
    let mut kbr = place.kbr(&["run", "--keep-logs", "logs", "--", "sh", "-c", script]);
    let output = kbr.current_dir(place.path("src")).output().unwrap();
    let expected = "namespace/default\n\
        customresourcedefinition.apiextensions.k8s.io/widgets.demo.example.com\n\
        clusterrole.rbac.authorization.k8s.io/view\nyes\n1\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
    assert!(place.path("src/logs/kube-apiserver.log").exists());
}

/// A second version, and conversion by a Service, as of a deployed operator.
const CONVERTED: &str = r"  - name: v2
    served: true
    storage: false
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: { service: { name: demo-webhook, namespace: demo-system, path: /convert } }
";

#[test]
fn a_kind_with_conversion_is_readable_and_kbr_reports_that_it_is_unconverted() {
    let place = Place::new();
    place.write("PROJECT", "");
    let crd = [WIDGETS, CONVERTED].concat();
    place.write("config/crd/bases/widgets.yaml", &crd);
    place.write(
        "widget.yaml",
        "apiVersion: demo.example.com/v2\nkind: Widget\nmetadata: { name: a }\nspec: { on: \"no\" }\n",
    );
    let output = place.run(
        "kubectl create -f widget.yaml --output=name
        kubectl get widgets.v1.demo.example.com,widgets.v2.demo.example.com --output=name",
    );
    let stderr = text(&output.stderr);
    let widget = "widget.demo.example.com/a\n";
    assert_eq!(text(&output.stdout), widget.repeat(3), "{stderr}");
    let said = "without conversion: no operator serves it yet; `kbr dev` starts one";
    let line = format!("installed `widgets.demo.example.com` {said}\n");
    assert_eq!(stderr.matches(&line).count(), 1, "{stderr}");
}

#[test]
fn a_crd_that_the_api_server_rejects_is_an_error_with_the_reason() {
    let place = Place::new();
    place.write(
        "crds/widgets.yaml",
        &WIDGETS.replace("name: widgets.demo", "name: gadgets.demo"),
    );
    let output = place
        .kbr(&["run", "--crds", "crds", "--", "echo", "never"])
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("error: the API server rejects the CRDs:\n"),
        "{stderr}"
    );
    assert!(
        stderr.contains(r#"must be spec.names.plural+"."+spec.group"#),
        "{stderr}"
    );
    assert_eq!(
        (text(&output.stdout), output.status.code()),
        (String::new(), Some(1))
    );
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

/// A child that would block the deletion of its owner, created by a user who may only create children.
const BLOCKING: &str = r#"
cat > owned.json <<END
{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "child", "ownerReferences": [
  { "apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1", "blockOwnerDeletion": true } ] } }
END
kubectl create clusterrole maps --verb=create --resource=configmaps > created
kubectl create clusterrolebinding maps --clusterrole=maps --user=carol >> created
for _ in $(seq 300); do
  if kubectl --as carol create -f owned.json > said 2>&1; then break; fi
  if grep 'cannot set blockOwnerDeletion' said; then break; fi
  sleep 0.1
done
cat said
"#;

#[test]
fn owners_are_protected_as_in_clusters_with_the_strictest_admission() {
    let place = Place::new();
    let output = place.run(BLOCKING);
    let said = text(&output.stdout);
    let reason = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
    assert!(said.contains(reason), "{said}{}", text(&output.stderr));
}

#[test]
fn the_exit_code_of_a_command_ended_by_a_signal_is_128_plus_its_number() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
    assert_eq!(place.run("kill -9 $$").status.code(), Some(137));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn a_missing_command_exits_with_127_as_in_a_shell() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
    let output = place
        .kbr(&["run", "--", "no-such-program"])
        .output()
        .unwrap();
    assert!(text(&output.stderr).contains("error: cannot run `no-such-program`: "));
    assert_eq!(output.status.code(), Some(127));
}

#[test]
fn control_c_reaches_the_command_and_sigterm_is_forwarded() {
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM")] {
        let place = Place::new();
        place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
        let script =
            format!("trap 'kubectl && exit 9' {name}; echo up; while :; do sleep 0.02; done");
        let mut kbr = place.start(&script);
        let servers = place.servers();
        let pid = Pid::from_child(&kbr.0);
        if signal == Signal::INT {
            // Like a terminal, signals all processes in the foreground.
            kill_process_group(pid, signal).unwrap();
        } else {
            kill_process(pid, signal).unwrap();
        }
        assert_eq!(kbr.0.wait().unwrap().code(), Some(9), "{name}");
        assert!(servers.into_iter().all(|pid| !is_running(pid)));
        assert_eq!(place.left_over(), Vec::<PathBuf>::new());
    }
}

#[test]
fn signals_that_were_ignored_when_kbr_started_stay_ignored() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
    let kbr = place.kbr(&[
        "run",
        "--",
        "sh",
        "-c",
        "for signal in HUP INT QUIT; do kill -s $signal $$ $PPID; done; exit 6",
    ]);
    let mut ignoring = Command::new("sh");
    ignoring
        .args(["-c", "trap '' HUP INT QUIT; exec \"$0\" \"$@\""])
        .arg(kbr.get_program())
        .args(kbr.get_args())
        .env("TMPDIR", place.path("tmp"))
        .env("KUBEBUILDER_ASSETS", place.path("assets"));
    assert_eq!(ignoring.status().unwrap().code(), Some(6));
}

#[test]
fn missing_binaries_are_an_error_with_the_command_to_run() {
    let place = Place::new();
    fs::create_dir(place.path("assets")).unwrap();
    for command in [&["run", "--", "true"][..], &["path"][..]] {
        let mut kbr = place.kbr(command);
        kbr.env_remove("KUBEBUILDER_ASSETS")
            .env("XDG_DATA_HOME", place.path("data"));
        let output = kbr.env("HOME", place.path("home")).output().unwrap();
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains(
                "` lacks `etcd`, `kube-apiserver`, `kubectl`\nhelp: run kbr envtest build, or kbr envtest use "
            ),
            "{stderr}"
        );
        assert_eq!(
            (text(&output.stdout), output.status.code()),
            (String::new(), Some(1))
        );
    }
}
