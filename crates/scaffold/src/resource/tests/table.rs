//! The table of Kubernetes' built-in kinds.

#![allow(clippy::disallowed_types, reason = "a test asks cargo")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::resource::kubernetes;

#[test]
fn the_table_of_built_in_kinds_equals_k8s_openapi() {
    let kinds: Vec<_> = kubernetes::kinds().collect();
    assert_eq!(kinds.len(), 93);
    for kind in &kinds {
        assert!(
            kind.type_path
                .ends_with(&format!("::{}::{}", kind.version, kind.kind))
        );
    }
    let sources = kubernetes_sources();
    for kind in kinds {
        let folders = kind.type_path.split("::").skip(1);
        let folder = folders.fold(sources.clone(), |folder, part| folder.join(part));
        let folder = folder.parent().unwrap();
        let found = std::fs::read_dir(folder).unwrap().any(|file| {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            text.contains(&format!("impl crate::ListableResource for {} ", kind.kind))
                && text.contains(&format!("GROUP: &'static str = \"{}\"", kind.group))
                && text.contains(&format!(
                    "URL_PATH_SEGMENT: &'static str = \"{}\"",
                    kind.plural
                ))
                && text.contains("type Scope = crate::NamespaceResourceScope") == kind.namespaced
        });
        assert!(found, "{kind:?}");
    }
}

/// The sources from which the table was generated: the workspace depends on them, so cargo can fetch them.
fn kubernetes_sources() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{stderr}\nhelp: `cargo fetch --locked`"
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "k8s-openapi");
    let manifest = package.unwrap()["manifest_path"].as_str().unwrap();
    Path::new(manifest).with_file_name("src").join("v1_37")
}
