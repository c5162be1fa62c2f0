//! Generated projects with the component `config/prometheus`.

use std::{fs, path::Path, process::Command, sync::OnceLock};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{KBR, shell, stderr, stdout};

/// What a project of this name deploys, and its dashboard.
pub struct Project {
    objects: Vec<Value>,
    pub dashboard: Value,
}

/// The project called captains.
pub fn captains() -> &'static Project {
    static CAPTAINS: OnceLock<Project> = OnceLock::new();
    CAPTAINS.get_or_init(|| init("captains"))
}

/// Creates a project of this name, and renders its manifests.
pub fn init(name: &str) -> Project {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let output = shell(
        root,
        &format!("kbr init --domain example.com --project-name {name} --yes"),
    );
    assert!(output.status.success(), "{}", stderr(&output, root));
    let path = root.join("config/default/kustomization.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let components = "components:\n";
    assert!(text.contains(components), "{text}");
    let line = format!("{components}  - ../prometheus\n");
    fs::write(&path, text.replace(components, &line)).unwrap();
    let dashboard = fs::read_to_string(root.join("grafana/dashboard.json")).unwrap();
    Project {
        objects: render(root),
        dashboard: serde_json::from_str(&dashboard).unwrap(),
    }
}

/// The objects in `config/default`.
fn render(root: &Path) -> Vec<Value> {
    let output = Command::new(KBR).args(["envtest", "path"]).output();
    let servers = stdout(&output.unwrap(), root);
    let kubectl = Path::new(servers.trim_end()).join("kubectl");
    let mut command = Command::new(kubectl);
    let output = command
        .args(["kustomize", "config/default"])
        .current_dir(root)
        .output();
    let output = output.expect("kubectl, which `make control-plane` builds");
    assert!(output.status.success(), "{}", stderr(&output, root));
    let text = stdout(&output, root);
    let documents = text.split("\n---\n");
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

impl Project {
    /// The only object of this kind.
    pub fn object(&self, kind: &str) -> &Value {
        let found: Vec<_> = self
            .objects
            .iter()
            .filter(|object| object["kind"] == kind)
            .collect();
        assert_eq!(found.len(), 1, "{kind}");
        found[0]
    }

    /// The alerts.
    pub fn alerts(&self) -> impl Iterator<Item = &Value> {
        let groups = self.object("PrometheusRule")["spec"]["groups"].as_array();
        let rules = groups
            .unwrap()
            .iter()
            .map(|group| group["rules"].as_array());
        rules.flat_map(Option::unwrap)
    }
}

/// The text at `key`, which must be there.
#[track_caller]
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("no text `{key}` in {value}"))
}
