//! Projects in every state that commands produce.

use std::{
    num::NonZeroUsize,
    process::{Child, Command},
    thread,
};

use super::{
    generator,
    place::place,
    project::{Project, before_a_release},
    support::write,
};

#[test]
fn a_project_passes_all_checks_in_every_state() {
    let place = place();
    let project = place.project("captains");
    project.kbr("init --domain example.com");
    project.builds_without_a_warning();
    if before_a_release() {
        project.library_is_silent_under_any_lint();
    }
    project.checked_before_a_release();

    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    project.lint();
    project.test();
    generator::shares_the_operators_compiled_dependencies(&project);

    project.create_api("--group crew --version v2 --kind Captain --resource --controller=false");
    project.checked_before_a_release();
    let webhooks = "create webhook --group crew --kind Captain";
    project.kbr(&format!("{webhooks} --version v1 --validation"));
    project.kbr(&format!("{webhooks} --version v2 --conversion"));
    project.lint();
    project.test();
    project.create_api("--group crew --version v1 --kind Ship --namespaced=false --short-name sh --resource --controller");
    project.checked_before_a_release();
    project.create_api("--group galley --version v1alpha1 --kind Captain --resource --controller");
    project.checked_before_a_release();
    project.kbr(&format!(
        "{webhooks} --version v1 --defaulting --defaulting-path /d"
    ));
    project.kbr("create webhook --group galley --version v1alpha1 --kind Captain --defaulting");
    project.create_api("--group apps --version v1 --kind Deployment --resource=false --controller");
    project.kbr("create webhook --group core --version v1 --kind Pod --defaulting --validation");
    project.create_api("--group core --version v1 --kind Namespace --resource=false --controller");
    project.checked_before_a_release();
    project.create_api("--group core --version v1 --kind Pod --resource=false --controller");
    external_crate(&project);
    project.create_api(
        "--group widgets.example.org --domain= --version v1 --kind Widget --plural widgets --resource=false --controller \
         --external-crate ./widgets --external-type widgets::Widget",
    );
    project
        .kbr("create webhook --group widgets.example.org --version v1 --kind Widget --validation");
    // cargo adds the crate once, as kbr's note announces.
    project.run("cargo", &["metadata", "--format-version", "1"]);
    project.lint();
    project.create_api("--group crew --version v1 --kind Captain --controller-name captain-backup --resource=false --controller");
    project.create_api("--group crew --version v1 --kind Log --resource --controller=false");
    project.lint();
    project.test();

    // tests/makefile covers the rest. No operator serves the webhooks here, so samples would be rejected.
    project.cluster(
        "make install deploy IMG=registry.example.com/captains:v1
         kubectl get deployment -n captains-system captains-controller-manager -o yaml | grep registry.example.com/captains:v1",
    );
}

#[test]
fn unusual_names_compile() {
    let place = place();
    let project = place.project("odd-names");
    project.kbr("init --project-name o2-odd-names --domain example.com");
    let kinds = [
        "--group crew --version v1 --kind IPPool",
        "--group crew --version v1 --kind A",
        "--group crew --version v1 --kind Type",
        "--group crew --version v1 --kind Match",
        "--group crew --version v1 --kind Context",
        "--group crew --version v1 --kind Condition",
        "--group crew --version v1 --kind Cx",
        "--group crew --version v1 --kind FakeApi",
        "--group crew --version v1 --kind Foo",
        "--group crew --version v1 --kind Clone",
        "--group crew --version v1 --kind Result",
        "--group v1 --version v1 --kind Box",
        "--group bin --version v1 --kind Serialize",
        "--group crew --version v1 --kind K8S2GoX",
        "--group crew --version v1 --kind Abcdefghijklmnopqrstuvwx",
        "--group type --version v1beta1 --kind Captain",
        "--group 3scale --version v2alpha13 --kind Captain",
        "--group sea-creatures.deep --version v12 --kind Captain",
        "--group foo.policy --version v1 --kind HealthCheckPolicy",
        "--group kube --version v1 --kind Kube",
        "--group std --version v1 --kind Std",
        "--group serde --version v1 --kind Serde",
        "--group abcdefghijklmnopqrstuvwx --version v12345678alpha1234567890 --kind Zbcdefghijklmnopqrstuvwx",
    ];
    for words in kinds {
        project.create_api(&format!("{words} --resource --controller"));
        project.kbr(&format!("create webhook {words} --defaulting --validation"));
    }
    project.lint();
    if before_a_release() {
        // Of each simulation only the first histories: this is about names.
        project.run("sh", &["-c", "KBR_SIMULATE=0s make test"]);
        // No deadline of a test holds on an idle machine only.
        let _busy = Busy::start();
        (0..10).for_each(|_| project.test());
    }
}

/// Programs that keep all cores busy, two for each core.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Self {
        let cores = thread::available_parallelism().map_or(2, NonZeroUsize::get);
        let spin = |_| {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", "while :; do :; done"])
                .spawn()
                .expect("sh runs")
        };
        Self((0..2 * cores).map(spin).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for process in &mut self.0 {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

/// An external crate that defines a kind.
pub fn external_crate(project: &Project) {
    let manifest = r#"[package]
name = "widgets"
version = "0.1.0"
edition = "2024"

[dependencies]
k8s-openapi = { version = "0.29", default-features = false, features = ["schemars"] }
kube = { version = "5.0", default-features = false, features = ["derive"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
"#;
    let source = r#"//! Widgets.

/// A widget.
#[derive(kube::CustomResource, schemars::JsonSchema, Clone, Debug, serde::Serialize, serde::Deserialize)]
#[kube(group = "widgets.example.org", version = "v1", kind = "Widget", namespaced)]
pub struct WidgetSpec {
    /// How large.
    pub size: i32,
}
"#;
    write(&project.0.join("widgets/Cargo.toml"), manifest.as_bytes());
    write(&project.0.join("widgets/src/lib.rs"), source.as_bytes());
    project.run("rustfmt", &["--edition", "2024", "widgets/src/lib.rs"]);
}
