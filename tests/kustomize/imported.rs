//! `config/` of an imported project, whose Deployment has a selector of its own.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::consistent::{check, of_kind};
use super::project::{CRD, DEFAULT, enable, kbr, render, write};

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
