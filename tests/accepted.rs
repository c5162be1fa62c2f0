//! A real API server accepts the output of `kbr manifests`.

#[path = "support/mod.rs"]
mod support;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use support::{KBR, write};

const PROJECT: &str =
    "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";

/// A project without kinds, with `source` in its code and the generated manifests.
fn project(name: &str, source: &str) -> std::path::PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::remove_dir_all(&root).ok();
    let manifest =
        "[package]\nname = \"captains\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let files = [
        ("PROJECT", PROJECT),
        ("Cargo.toml", manifest),
        ("src/main.rs", source),
    ];
    for (path, text) in files {
        write(&root.join(path), text.as_bytes());
    }
    run(&root, &["manifests"]);
    root
}

fn run(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new(KBR)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .expect("kbr runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    let data = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{data}\n{talk}");
    data
}

/// Uses every argument of each marker.
#[test]
fn webhook_configurations_and_roles_are_accepted() {
    let rest = "failurePolicy=ignore,sideEffects=NoneOnDryRun,groups=core;apps;crew.example.com,resources=pods;deployments/scale,verbs=create;update;delete;connect,versions=v1;v1beta1,admissionReviewVersions=v1;v1beta1,webhookVersions=v1,matchPolicy=exact,timeoutSeconds=3";
    let patch = r#"{"namespaceSelector":{"matchLabels":{"a":"b"}},"objectSelector":{"matchExpressions":[{"key":"c","operator":"Exists"}]},"matchConditions":[{"name":"x.io/y","expression":"request.operation != 'DELETE'"}]}"#;
    let source = format!(
        "// +kbr:webhook:path=/a,mutating=true,name=a.crew.example.com,reinvocationPolicy=ifneeded,serviceName=s,serviceNamespace=n,servicePort=8443,{rest}
// +kbr:webhook:path=/b,mutating=true,name=b.crew.example.com,serviceName=s,{rest},patch=`{patch}`
// +kbr:webhook:url=\"https://example.com:8443/c\",mutating=false,name=a.crew.example.com,{rest}
// +kbr:webhook:path=/,mutating=false,name=d.crew.example.com,serviceName=s,{rest}
// +kbr:webhookconfiguration:mutating=false,name=validators.captains
// +kbr:rbac:groups=apps;core,resources=deployments;pods/log,verbs=get;list
// +kbr:rbac:urls=/metrics,verbs=get
// +kbr:rbac:groups=core,resources=secrets,resourceNames=one,verbs=*,namespace=default,roleName=secrets
fn main() {{}}
"
    );
    let root = project("accepted", &source);
    let shown = run(
        &root,
        &[
            "envtest",
            "run",
            "--",
            "kubectl",
            "apply",
            "--dry-run=server",
            "-f",
            "config/webhook/manifests.yaml",
            "-f",
            "config/rbac/role.yaml",
        ],
    );
    for created in [
        "mutatingwebhookconfiguration.admissionregistration.k8s.io/captains-mutating-webhook-configuration created",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/validators.captains created",
        "clusterrole.rbac.authorization.k8s.io/captains-manager-role created",
        "role.rbac.authorization.k8s.io/secrets created",
    ] {
        assert!(shown.contains(created), "{created:?} is not in:\n{shown}");
    }
}
