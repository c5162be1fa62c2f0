//! The programs that a chart is compared with: kubectl's kustomize, and Helm as a library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// The namespace of the release that [`render`] renders, as in `helm/main.go`.
pub const NAMESPACE: &str = "release-namespace";

/// What Helm makes of a chart and values.
#[derive(Debug)]
pub enum Rendered {
    /// All objects.
    Objects(Vec<Value>),
    /// Why it refuses the values.
    Error(String),
}

/// Renders the chart in `folder` with each of `values`, and lints it.
pub fn render(folder: &Path, values: &[Value]) -> Vec<Rendered> {
    let files = tempfile::tempdir().unwrap();
    for (number, values) in values.iter().enumerate() {
        let file = files.path().join(format!("{number:05}.yaml"));
        fs::write(file, ascii(&values.to_string())).unwrap();
    }
    let output = Command::new(helm())
        .arg(folder)
        .arg(files.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    let results: Vec<Rendered> = lines
        .lines()
        .map(|line| rendered(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(results.len(), values.len());
    results
}

/// JSON as YAML in which no character is read as the end of a line.
fn ascii(json: &str) -> String {
    let escaped = |character: char| match u32::from(character) {
        code @ 0x7f.. => format!("\\U{code:08x}"),
        _ => character.to_string(),
    };
    json.chars().map(escaped).collect()
}

fn rendered(result: &Value) -> Rendered {
    if let Some(error) = result["error"].as_str() {
        return Rendered::Error(error.to_owned());
    }
    assert_eq!(result["messages"], Value::Null, "lint");
    let templates = result["templates"].as_object().unwrap().iter();
    let objects = templates
        .filter(|(path, _)| !path.ends_with("NOTES.txt"))
        .flat_map(|(path, text)| {
            let text = text.as_str().unwrap();
            let objects: Vec<Value> = serde_saphyr::from_multiple(text)
                .unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
            objects
        });
    Rendered::Objects(objects.filter(|object| !object.is_null()).collect())
}

/// Builds `helm/main.go`, once.
fn helm() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/helm");
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("helm-render");
        let built = Command::new("go")
            .args(["build", "-trimpath", "-buildvcs=false", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(module)
            .envs([("GOWORK", "off"), ("GOFLAGS", "-mod=readonly")])
            // As for the control plane, whose compiled packages Go uses again.
            .env("CGO_ENABLED", "0")
            .status()
            .expect("Go is not installed; install it from https://go.dev/dl/");
        assert!(built.success());
        program
    })
}

/// The objects of a kustomization.
pub fn kustomize(project: &Path, folder: &str) -> Vec<Value> {
    let output = Command::new(kubectl())
        .args(["kustomize", folder])
        .current_dir(project)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_saphyr::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

/// The kubectl of the local control plane.
pub fn kubectl() -> PathBuf {
    let assets = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args(["envtest", "path"])
        .output()
        .unwrap();
    let assets = String::from_utf8(assets.stdout).unwrap();
    let kubectl = Path::new(assets.trim()).join("kubectl");
    assert!(
        kubectl.exists(),
        "kubectl is missing; run `kbr envtest build`"
    );
    kubectl
}
