//! What a real API server says of definitions.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{KBR, write};

/// The reason for which the API server refuses a definition, by the definition's name; those it takes are not there.
///
/// # Panics
/// If a definition is neither taken nor refused.
pub fn refusals(crds: &[Value]) -> BTreeMap<String, String> {
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
    let taken = String::from_utf8(output.stdout).expect("UTF-8");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let mut refused = BTreeMap::new();
    for crd in crds {
        let name = crd["metadata"]["name"].as_str().expect("a name");
        let line = format!("customresourcedefinition.apiextensions.k8s.io/{name}");
        if !taken.lines().any(|taken| taken == line) {
            refused.insert(name.to_owned(), reason(&said, name));
        }
    }
    refused
}

/// Whether a definition is refused for nothing but what its rules may cost.
pub fn is_cost(reason: &str) -> bool {
    let mut parts = reason.split("spec.validation.").skip(1).peekable();
    parts.peek().is_some() && parts.all(|part| part.contains("cost"))
}

/// From `"<name>" is invalid:` to the next error.
fn reason(said: &str, name: &str) -> String {
    let start = format!("\"{name}\" is invalid:");
    let (_, rest) = said
        .split_once(&start)
        .unwrap_or_else(|| panic!("nothing about {name}: {said}"));
    let end = rest.find("\nError from server");
    rest[..end.unwrap_or(rest.len())].trim().to_owned()
}
