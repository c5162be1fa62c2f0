//! `kbr envtest run --audit` and `kbr manifests permissions`, with a real API server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::place::{Place, text};

/// The comments in the operator's sources.
const MARKERS: &str = "\
// +kbr:rbac:groups=core,resources=configmaps,verbs=create;delete;get;patch;watch
// +kbr:rbac:groups=core,resources=secrets,verbs=patch
// +kbr:rbac:groups=apps,resources=*,verbs=get
// +kbr:rbac:groups=crew.example.com,resources=captains/finalizers,verbs=update
";

/// The role that `kbr manifests` generates from them.
const ROLE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: crew-manager-role }
rules:
- { apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, patch, watch] }
- { apiGroups: [""], resources: [secrets], verbs: [patch] }
- { apiGroups: [apps], resources: ["*"], verbs: [get] }
- { apiGroups: [crew.example.com], resources: [captains/finalizers], verbs: [update] }
"#;

/// Deploys the operator's permissions, and acts as the operator. The watch is never closed.
const SCRIPT: &str = r#"
kubectl apply --server-side --kustomize config/default > applied
crew() { kubectl --as system:serviceaccount:crew-system:crew-controller-manager "$@"; }
for _ in $(seq 300); do
  if crew auth can-i get deployments > answer && crew auth can-i watch configmaps > answer; then break; fi
  sleep 0.1
done

crew get --raw '/api/v1/namespaces/default/configmaps?watch=1' > watched &
for _ in $(seq 300); do
  if grep '"verb":"watch"' ../audit.log > found; then break; fi
  sleep 0.1
done
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n' > map.yaml
crew apply --server-side -f map.yaml
crew get deployment crew-controller-manager -n crew-system --output=name
crew delete secret a || true
crew delete secret b || true
sed s/ConfigMap/Secret/ map.yaml > secret.yaml
crew apply --server-side -f secret.yaml || true
"$KBR" manifests permissions ../audit.log > report || true
# The last request, just before the API server is stopped.
crew get configmap a --output=name
"#;

const REPORT: &str = r#"denied; write these comments where the controller is registered:
  // +kbr:rbac:groups=core,resources=secrets,verbs=create;delete
      1 request: secrets "a" is forbidden: User "system:serviceaccount:crew-system:crew-controller-manager" cannot create resource "secrets" in API group "" in the namespace "default"
      2 requests: secrets "a" is forbidden: User "system:serviceaccount:crew-system:crew-controller-manager" cannot delete resource "secrets" in API group "" in the namespace "default"

wider than used:
  src/rbac.rs:3: groups=apps,resources=*,verbs=get
      used: groups=apps,resources=deployments,verbs=get

never used in these tests:
  src/rbac.rs:1: groups=core,resources=configmaps,verbs=delete
  ClusterRole `crew-metrics-auth-role`: groups=authentication.k8s.io,resources=tokenreviews,verbs=create
  ClusterRole `crew-metrics-auth-role`: groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
  Role `crew-leader-election-role`: groups=coordination.k8s.io,resources=leases,verbs=create
  Role `crew-leader-election-role`: groups=coordination.k8s.io,resources=leases,resourceNames=crew.example.com,verbs=get;update

not logged: the API server checks these within other requests:
  src/rbac.rs:4: groups=crew.example.com,resources=captains/finalizers,verbs=update

permissions used: 6 of 12
"#;

/// A project of `kbr init` with these permissions.
fn project() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("crew")).unwrap();
    let mut init = place.command("init");
    let output = init
        .args(["--project-name", "crew", "--domain", "example.com"])
        .current_dir(place.path("crew"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    place.write("crew/src/rbac.rs", MARKERS);
    place.write("crew/config/rbac/role.yaml", ROLE);
    place
}

/// `kbr manifests permissions ../audit.log`.
fn check(place: &Place) -> Output {
    let mut kbr = place.command("manifests");
    kbr.args(["permissions", "../audit.log"])
        .current_dir(place.path("crew"));
    kbr.output().unwrap()
}

#[test]
fn permissions_are_compared_with_what_the_api_server_logged() {
    let place = project();
    place.write("audit.log", "of an earlier run\n");
    let output = place
        .kbr(&[
            "run",
            "--audit",
            "../audit.log",
            "--",
            "sh",
            "-e",
            "-c",
            SCRIPT,
        ])
        .current_dir(place.path("crew"))
        .env("KBR", env!("CARGO_BIN_EXE_kbr"))
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let next = "logged all requests; next: `kbr manifests permissions ../audit.log`";
    assert!(stderr.contains(next), "{stderr}");

    let before = fs::read_to_string(place.path("crew/report")).unwrap();
    let missing = "  src/rbac.rs:1: groups=core,resources=configmaps,verbs=delete;get\n";
    assert!(before.contains(missing), "{before}");

    let checked = check(&place);
    assert_eq!(text(&checked.stdout), REPORT, "{}", text(&checked.stderr));
    let error = "error: 2 permissions were denied\n\
        help: add the comments, run `kbr manifests`, and test again with `--audit`\n";
    assert_eq!(text(&checked.stderr), error);
    assert_eq!(checked.status.code(), Some(1));
}

/// A request of a user that was allowed.
fn request(user: &str) -> String {
    let allowed = r#"{"authorization.k8s.io/decision":"allow"}"#;
    let map = r#"{"resource":"configmaps","namespace":"a","name":"a","apiVersion":"v1"}"#;
    format!(
        r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"get","user":{{"username":"{user}"}},"objectRef":{map},"annotations":{allowed}}}"#
    )
}

#[test]
fn a_log_that_says_nothing_about_the_operator_is_an_error_with_the_command_to_type() {
    let place = project();
    let help = "\nhelp: run `kbr envtest run --audit ../audit.log -- cargo test --workspace --features envtest`";
    let fails = |expected: &str| {
        let output = check(&place);
        let found = (text(&output.stdout), text(&output.stderr));
        assert_eq!(found, (String::new(), format!("error: {expected}\n")));
        assert_eq!(output.status.code(), Some(1));
    };
    let missing = "No such file or directory (os error 2)";
    fails(&format!(
        "cannot read the audit log `../audit.log`: {missing}{help}"
    ));
    place.write("audit.log", "");
    fails(&format!("`../audit.log` is empty{help}"));
    place.write("audit.log", "I0101 kube-apiserver started\n");
    fails("`../audit.log`: line 1 is not an audit event: expected value");
    let of_another = request("system:serviceaccount:a:another");
    place.write(
        "audit.log",
        &format!("{}\n{of_another}\n", request("admin")),
    );
    let account = "the operator's ServiceAccount `crew-controller-manager`";
    let must = "; the tests must start the operator";
    fails(&format!(
        "no request by {account} found in `../audit.log`{help}{must}"
    ));

    let own = request("system:serviceaccount:a:crew-controller-manager");
    place.write("audit.log", &format!("{own}\n{}", &own[..50]));
    let output = check(&place);
    let warning = "warning: ignored the last line of `../audit.log`, which is incomplete\n";
    assert_eq!(text(&output.stderr), warning);
    assert!(output.status.success());
    let end = "\npermissions used: 1 of 12\n";
    assert!(text(&output.stdout).ends_with(end));

    fs::remove_dir_all(place.path("crew/config/default")).unwrap();
    fails(
        "no `config/default` found, so the operator has no ServiceAccount\nhelp: without a ServiceAccount, tests run the operator as administrator",
    );
}

#[test]
fn the_log_is_private_and_its_folder_is_created() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
    let log = |path: &str| {
        let mut kbr = place.kbr(&["run", "--audit", path, "--", "true"]);
        kbr.output().unwrap()
    };
    assert!(log("audit.log").status.success());
    let mode = place.path("audit.log").metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    assert!(log("missing/audit.log").status.success());
    assert!(place.path("missing/audit.log").is_file());
    let output = log("audit.log/audit.log");
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("error: cannot write the audit log `")
            && stderr.contains("audit.log/audit.log`: "),
        "{stderr}"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(place.left_over().is_empty());
}
