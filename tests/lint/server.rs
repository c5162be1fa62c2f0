//! Validates definitions with a real API server.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{KBR, write};

/// The reasons for which the API server rejects definitions, by the definition's name.
///
/// # Panics
/// If a definition is neither accepted nor rejected.
pub fn rejections(crds: &[Value]) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("crds.json");
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": crds });
    write(&file, list.to_string().as_bytes());
    let output = Command::new(KBR)
        .args([
            "envtest",
            "run",
            "--",
            "kubectl",
            "create",
            "--dry-run=server",
            "--validate=false",
            "--output=name",
            "--filename",
        ])
        .arg(&file)
        .current_dir(folder.path())
        .output()
        .expect("kbr runs");
    let accepted = String::from_utf8(output.stdout).expect("UTF-8");
    let printed = String::from_utf8(output.stderr).expect("UTF-8");
    let mut rejected = BTreeMap::new();
    for crd in crds {
        let name = crd["metadata"]["name"].as_str().expect("a name");
        let line = format!("customresourcedefinition.apiextensions.k8s.io/{name}");
        if !accepted.lines().any(|accepted| accepted == line) {
            rejected.insert(name.to_owned(), reason(&printed, name));
        }
    }
    rejected
}

/// Whether a definition is rejected only for the cost of its rules.
pub fn is_cost(reason: &str) -> bool {
    let mut parts = reason.split("spec.validation.").skip(1).peekable();
    parts.peek().is_some() && parts.all(|part| part.contains("cost"))
}

/// The text from `"<name>" is invalid:` to the next error.
fn reason(printed: &str, name: &str) -> String {
    let start = format!("\"{name}\" is invalid:");
    let (_, rest) = printed
        .split_once(&start)
        .unwrap_or_else(|| panic!("nothing about {name}: {printed}"));
    let end = rest.find("\nError from server");
    rest[..end.unwrap_or(rest.len())].trim().to_owned()
}
