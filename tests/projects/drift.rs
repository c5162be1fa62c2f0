//! What is generated from the code cannot fall behind it unnoticed: the role and the CRDs, the chart, the bundle, the installer.

use std::fs;

use super::{examples::created, place::place, project::Project, support::KBR};

/// The checks of CI, each by the command that repairs it.
const CHECKS: [&[&str]; 3] = [
    &["manifests", "--check"],
    &["chart", "--check"],
    &["bundle", "--image", "controller:latest", "--check"],
];

fn installer(project: &Project) -> String {
    project.run("make", &["build-installer"]);
    fs::read_to_string(project.0.join("dist/install.yaml")).expect("a file")
}

/// Each artifact has `text` after `make manifests chart bundle`, and `checks` of [`CHECKS`] fail before.
fn drifts(project: &Project, checks: &[usize], text: &str, files: &[&str]) {
    for number in checks {
        project.fails(KBR, CHECKS[*number]);
    }
    project.run("make", &["manifests", "chart", "bundle"]);
    for file in files {
        let found = fs::read_to_string(project.0.join(file)).expect("a file");
        assert!(found.contains(text), "{file} has no `{text}`");
    }
}

const ROLE: &str = "config/rbac/role.yaml";
const CHART_ROLE: &str = "dist/chart/templates/rbac/clusterrole-manager-role.yaml";
const CSV: &str = "bundle/manifests/myk8soperator.clusterserviceversion.yaml";

#[test]
fn generated_artifacts_follow_the_code_or_a_check_fails() {
    let place = place();
    let project = created(&place, "foo");
    project.run("make", &["chart", "bundle"]);
    let before = installer(&project);

    // A permission. The manifests are behind the code; once they are not, the others are behind the manifests.
    project.replace(
        "src/controllers/foo.rs",
        "// +kbr:rbac:groups=events.k8s.io",
        "// +kbr:rbac:groups=drift.example.com,resources=drifts,verbs=get\n// +kbr:rbac:groups=events.k8s.io",
    );
    project.fails(KBR, CHECKS[0]);
    project.run("make", &["manifests"]);
    drifts(
        &project,
        &[1, 2],
        "drift.example.com",
        &[ROLE, CHART_ROLE, CSV],
    );

    // A field.
    let path = "api/src/samplecontroller/v1alpha1/foo.rs";
    project.replace(
        path,
        "pub struct FooSpec {\n",
        "pub struct FooSpec {\n    /// Added.\n    pub drifted: Option<String>,\n\n",
    );
    project.fails(KBR, CHECKS[0]);
    project.run("make", &["manifests"]);
    let crd = "samplecontroller.c9g.io_foos.yaml";
    let crds = [
        format!("config/crd/bases/{crd}"),
        format!("bundle/manifests/{crd}"),
        "dist/chart/charts/crds/templates/foos.samplecontroller.c9g.io.yaml".to_owned(),
    ];
    drifts(
        &project,
        &[1, 2],
        "drifted:",
        &crds.each_ref().map(String::as_str),
    );

    // A component.
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels:\n  - pairs: { drift: component }\n";
    let folder = project.0.join("config/team-labels");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("kustomization.yaml"), component).expect("a file");
    project.replace(
        "config/default/kustomization.yaml",
        "\ncomponents:\n",
        "\ncomponents:\n  - ../team-labels\n",
    );
    drifts(
        &project,
        &[1, 2],
        "drift: component",
        &[
            CSV,
            "dist/chart/templates/manager/deployment-controller-manager.yaml",
        ],
    );

    for check in CHECKS {
        project.run(KBR, check);
    }
    let after = installer(&project);
    for text in ["drift.example.com", "drifted:", "drift: component"] {
        assert!(!before.contains(text) && after.contains(text), "{text}");
    }
}
