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

/// A text that a change to the sources brings to generated files.
type Change = (&'static str, &'static [&'static str]);

const ROLE: &str = "config/rbac/role.yaml";
const CHART_ROLE: &str = "dist/chart/templates/rbac/clusterrole-manager-role.yaml";
const CSV: &str = "bundle/manifests/myk8soperator.clusterserviceversion.yaml";

const CRD: &str = "config/crd/bases/samplecontroller.c9g.io_foos.yaml";
const BUNDLED_CRD: &str = "bundle/manifests/samplecontroller.c9g.io_foos.yaml";
const CHART_CRD: &str = "dist/chart/charts/crds/templates/foos.samplecontroller.c9g.io.yaml";
const CHART_DEPLOYMENT: &str = "dist/chart/templates/manager/deployment-controller-manager.yaml";

const PERMISSION: Change = ("drift.example.com", &[ROLE, CHART_ROLE, CSV]);
const FIELD: Change = ("drifted:", &[CRD, CHART_CRD, BUNDLED_CRD]);
const COMPONENT: Change = ("drift: component", &[CSV, CHART_DEPLOYMENT]);

/// Gives a marker, a type and the overlay each a change.
fn change(project: &Project) {
    project.replace(
        "src/controllers/foo.rs",
        "// +kbr:rbac:groups=events.k8s.io",
        "// +kbr:rbac:groups=drift.example.com,resources=drifts,verbs=get\n// +kbr:rbac:groups=events.k8s.io",
    );
    project.replace(
        "api/src/samplecontroller/v1alpha1/foo.rs",
        "pub struct FooSpec {\n",
        "pub struct FooSpec {\n    /// Added.\n    pub drifted: Option<String>,\n\n",
    );
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n  - target: { kind: Deployment }\n    patch: '[{ \"op\": \"add\", \"path\": \"/spec/template/metadata/labels/drift\", \"value\": \"component\" }]'\n";
    let folder = project.0.join("config/team-labels");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("kustomization.yaml"), component).expect("a file");
    project.replace(
        "config/default/kustomization.yaml",
        "\ncomponents:\n",
        "\ncomponents:\n  - ../team-labels\n",
    );
}

/// The check fails, and its diff shows each change in the files that begin with `folder`.
fn fails_for(project: &Project, check: &[&str], changes: &[Change], folder: &str) {
    let diff = project.fails(KBR, check);
    for (text, files) in changes {
        for file in files.iter().filter(|file| file.starts_with(folder)) {
            let (_, of_file) = diff
                .split_once(&format!("+++ b/{file}\n"))
                .unwrap_or_default();
            let of_file = of_file.split("\n--- ").next().unwrap_or_default();
            assert!(of_file.contains(text), "no `{text}` in {file}:\n{diff}");
        }
    }
}

#[test]
fn generated_artifacts_follow_the_code_or_a_check_fails() {
    let place = place();
    let project = created(&place, "foo");
    project.run("make", &["chart", "bundle"]);
    let before = installer(&project);

    // The manifests are behind the code; once they are not, the others are behind the manifests.
    change(&project);
    let changes = [PERMISSION, FIELD, COMPONENT];
    fails_for(&project, CHECKS[0], &changes, "config/");
    project.run("make", &["manifests"]);
    fails_for(&project, CHECKS[1], &changes, "dist/");
    fails_for(&project, CHECKS[2], &changes, "bundle/");
    project.run("make", &["manifests", "chart", "bundle"]);
    for (text, files) in changes {
        for file in files {
            let found = fs::read_to_string(project.0.join(file)).expect("a file");
            assert!(found.contains(text), "{file} has no `{text}`");
        }
    }

    for check in CHECKS {
        project.run(KBR, check);
    }
    let after = installer(&project);
    for (text, _) in changes {
        assert!(!before.contains(text) && after.contains(text), "{text}");
    }
}
