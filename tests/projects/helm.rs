//! Releases of the examples' charts on a cluster, by Helm itself.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    examples::{OTHERS, TESTED, created},
    place::place,
    project::Project,
    support::{KBR, repository},
};

/// The module of each major version of Helm, and its version.
const HELM: [(&str, &str); 2] = [
    ("helm.sh/helm/v4/cmd/helm", "v4.3.1"),
    ("helm.sh/helm/v3/cmd/helm", "v3.22.0"),
];

/// Builds Helm, once.
fn helm((module, version): (&str, &str)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("helm-{version}"));
    let installed = Command::new("go")
        .args(["install", "-trimpath", &format!("{module}@{version}")])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("GOBIN", &folder)
        .env("GOWORK", "off")
        .status()
        .expect("Go is not installed; install it from https://go.dev/dl/");
    assert!(installed.success(), "{module}@{version}");
    folder.join("helm")
}

/// Runs a script of this folder in a built project, on a cluster.
fn released(project: &Project, script: &str, helm: &Path) {
    let text = fs::read_to_string(project.0.join("PROJECT")).expect("a file");
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let name = name.expect("a name");
    project.run("cargo", &["build"]);
    let script = repository().join("tests/projects").join(script);
    let operator = project.operator(name);
    let [script, operator, helm] = [&script, &operator, helm].map(|it| it.to_str().expect("UTF-8"));
    let words = [
        "envtest",
        "run",
        "--cluster",
        "--",
        "sh",
        "-eu",
        script,
        helm,
        operator,
        name,
    ];
    let printed = project.run(KBR, &words);
    println!("{printed}");
}

#[test]
#[ignore = "`make test-release` runs it: it builds Helm and all operators"]
fn a_release_of_each_example_is_installed_upgraded_rolled_back_and_uninstalled() {
    let place = place();
    let helm = HELM.map(helm);
    for example in TESTED.into_iter().chain(OTHERS) {
        let project = created(&place, example);
        released(&project, "helm.sh", &helm[0]);
    }
    released(&created(&place, "home"), "helm.sh", &helm[1]);
}

#[test]
#[ignore = "`make test-release` runs it: it builds Helm and an operator"]
fn two_releases_share_a_cluster_and_its_crds() {
    let place = place();
    let project = created(&place, "home");
    released(&project, "two.sh", &helm(HELM[0]));
}
