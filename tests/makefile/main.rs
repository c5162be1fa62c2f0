//! A generated project on a real API server: its Makefile installs, deploys and removes, with checks; and it takes over from another
//! operator.

#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{KBR, repository, shell, stderr, tree, write};

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: captains.crew.example.com
spec:
  group: crew.example.com
  names: { kind: Captain, listKind: CaptainList, plural: captains, singular: captain }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
";

/// One project and one API server for both scripts, so that each command starts where the previous one ended.
#[test]
fn the_makefile_installs_deploys_and_removes_and_a_takeover_is_checked() {
    let project = tempfile::tempdir().expect("a folder");
    let commands = "kbr init --domain example.com --project-name captains
        kbr create api --group crew --version v1 --kind Captain --resource --controller";
    let output = shell(project.path(), commands);
    assert!(
        output.status.success(),
        "{}",
        stderr(&output, project.path())
    );
    let controller = project.path().join("src/controllers/captain.rs");
    let code = fs::read_to_string(&controller).expect("a controller");
    let with = code.replace(
        ".reconcile(reconcile)",
        ".finalizer(FINALIZER, cleanup).reconcile(reconcile)",
    ) + "\nconst FINALIZER: &str = \"crew.example.com/captain\";\n";
    write(&controller, with.as_bytes());
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    write(&project.path().join(crd), CRD.as_bytes());
    let before = tracked(project.path());

    let scripts = repository().join("tests/makefile");
    let both = "sh -e \"$0/script.sh\" && sh -e \"$0/takeover.sh\"";
    let output = Command::new(KBR)
        .args(["envtest", "run", "--", "sh", "-e", "-c", both])
        .arg(scripts)
        .current_dir(project.path())
        .env("KBR_BINARY", KBR)
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .expect("kbr runs");
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        stderr(&output, project.path())
    );
    assert_eq!(before, tracked(project.path()), "a tracked file changed");
}

/// Every file except those in the project's .gitignore.
fn tracked(project: &Path) -> Vec<(String, Vec<u8>)> {
    let ignored = |path: &str| path.starts_with("target/") || path.starts_with("dist/");
    let files = tree(project).into_iter();
    files.filter(|(path, _)| !ignored(path)).collect()
}
