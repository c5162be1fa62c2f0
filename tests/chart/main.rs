//! `kbr chart`: Helm renders what kustomize does, with every set of components.

mod components;
mod kubebuilder;
mod names;
mod parts;
mod peer;
mod random;
mod settings;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use peer::{NAMESPACE, Rendered, render};
use serde_json::{Value, json};

#[path = "../support/mod.rs"]
mod support;

/// The components in the order in which a chart applies them (that of `config/default`, then by name), and the values that choose each.
const COMPONENTS: [(&str, &[(&str, bool)]); 6] = [
    (
        "webhook-self-signed",
        &[("webhook", true), ("certManager", false)],
    ),
    ("high-availability", &[("highAvailability", true)]),
    ("namespaced", &[("rbac", true)]),
    ("network-policy", &[("networkPolicy", true)]),
    ("prometheus", &[("prometheus", true)]),
    (
        "webhook-certmanager",
        &[("webhook", true), ("certManager", true)],
    ),
];
const VALUES: [&str; 6] = [
    "prometheus",
    "networkPolicy",
    "rbac",
    "highAvailability",
    "webhook",
    "certManager",
];

fn kbr(project: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args(args)
        .current_dir(project)
        .output()
        .unwrap()
}

fn chart(project: &Path) {
    let output = kbr(project, &["chart"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The example `home` with its chart, which is generated once for all tests.
fn home() -> tempfile::TempDir {
    static GENERATED: OnceLock<PathBuf> = OnceLock::new();
    let project = support::example("home");
    let kept = GENERATED.get_or_init(|| {
        chart(project.path());
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chart-of-home");
        if kept.exists() {
            fs::remove_dir_all(&kept).unwrap();
        }
        copy(&project.path().join("dist"), &kept);
        kept
    });
    let dist = project.path().join("dist");
    if !dist.exists() {
        copy(kept, &dist);
    }
    project
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-R").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn values(case: usize) -> Value {
    let on = |number: usize| json!(case & (1 << number) != 0);
    let mut values = json!({ "crd": { "keep": false } });
    for (number, name) in VALUES.iter().enumerate() {
        let key = if *name == "rbac" {
            "namespaced"
        } else {
            "enabled"
        };
        values[*name] = json!({ key: on(number) });
    }
    // The example is converted: without webhooks, another release does that, and has the CRDs.
    if !is_on("webhook", case) {
        values["crd"]["enabled"] = json!(false);
    }
    values
}

fn is_on(name: &str, case: usize) -> bool {
    case & (1 << VALUES.iter().position(|it| *it == name).unwrap()) != 0
}

/// Selects the components of a case in `config/default`.
fn select(project: &Path, case: usize) {
    let chosen = COMPONENTS
        .iter()
        .filter(|(_, needs)| needs.iter().all(|(name, on)| is_on(name, case) == *on));
    let path = project.join("config/default/kustomization.yaml");
    let before = fs::read_to_string(&path).unwrap();
    let (resources, _) = before.split_once("\ncomponents:").unwrap();
    let listed: Vec<String> = chosen
        .map(|(folder, _)| format!("\n  - ../{folder}"))
        .collect();
    let listed = listed.concat();
    let none = if listed.is_empty() { " []" } else { "" };
    fs::write(&path, format!("{resources}\ncomponents:{none}{listed}\n")).unwrap();
}

/// What kustomize renders with the components of a case, in the namespace and with the names of a release.
fn expected(project: &Path, case: usize) -> Vec<Value> {
    select(project, case);
    let mut objects = released(peer::kustomize(project, "config/default"), "home");
    if !is_on("webhook", case) {
        objects.retain(|object| object["kind"] != "CustomResourceDefinition");
    }
    objects
}

fn by_identity(objects: &[Value]) -> BTreeMap<String, &Value> {
    let identity = |object: &Value| {
        let metadata = &object["metadata"];
        format!(
            "{} {} {} {}",
            object["apiVersion"], object["kind"], metadata["namespace"], metadata["name"]
        )
    };
    objects
        .iter()
        .map(|object| (identity(object), object))
        .collect()
}

/// Fails with the paths and values in which they differ.
fn assert_equal(case: &str, rendered: &[Value], expected: &[Value]) {
    let (rendered, expected) = (by_identity(rendered), by_identity(expected));
    let names =
        |objects: &BTreeMap<String, &Value>| objects.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&rendered), names(&expected), "{case}");
    for (identity, object) in expected {
        let found = rendered[&identity];
        assert_eq!(
            found, object,
            "{case}: {identity}\nrendered: {found:#}\nexpected: {object:#}"
        );
    }
}

/// The objects of kustomize as those of the release in [`peer`].
fn released(objects: Vec<Value>, project: &str) -> Vec<Value> {
    let objects = objects
        .into_iter()
        .filter(|object| object["kind"] != "Namespace");
    let text = |object: Value| {
        object
            .to_string()
            .replace(&format!("{project}-system"), NAMESPACE)
    };
    objects
        .map(|object| serde_json::from_str(&text(object)).unwrap())
        .collect()
}

#[test]
fn helm_renders_what_kustomize_does_with_every_set_of_components() {
    let project = home();
    let all: Vec<Value> = (0..1 << VALUES.len()).map(values).collect();
    let rendered = render(&project.path().join("dist/chart"), &all);
    let mut expectations: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for (case, rendered) in rendered.iter().enumerate() {
        // Without webhooks, it does not matter who would issue their certificate.
        let case = if case & 0b01_0000 == 0 {
            case & 0b00_1111
        } else {
            case
        };
        match rendered {
            Rendered::Objects(objects) => {
                let expected = expectations
                    .entry(case)
                    .or_insert_with(|| expected(project.path(), case));
                assert_equal(&all[case].to_string(), objects, expected);
            }
            Rendered::Error(error) => panic!("{}: {error}", all[case]),
        }
    }
}
