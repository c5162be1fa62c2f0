//! What all sources of CRDs share: files with YAML, names, errors.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// Path and text of the YAML and JSON files in a folder, sorted; empty if the folder does not exist.
pub fn files(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(files);
    }
    let shown = || format!("cannot read `{}`", folder.display());
    for entry in fs::read_dir(folder).with_context(shown)? {
        let path = entry.with_context(shown)?.path();
        let name = path.display().to_string();
        if is_yaml(&name) && path.is_file() {
            let text = regular::followed(&path).with_context(|| format!("cannot read `{name}`"))?;
            files.push((name, text));
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file may contain CRDs.
pub fn is_yaml(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|it| it.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// The CRDs in a file.
///
/// # Errors
/// The file is not YAML.
pub fn definitions(name: &str, text: &str) -> anyhow::Result<Vec<Value>> {
    let documents: Vec<Value> =
        kbr_host::yaml::documents(text).with_context(|| format!("`{name}` is not YAML"))?;
    let is_definition = |it: &Value| it["kind"] == "CustomResourceDefinition";
    Ok(documents.into_iter().filter(is_definition).collect())
}

/// `captains.crew.example.com`.
pub fn name(crd: &Value) -> &str {
    crd["metadata"]["name"].as_str().unwrap_or_default()
}

/// A problem with the source of the earlier CRDs.
pub fn unreadable(text: impl Display, help: impl Display) -> anyhow::Error {
    Diagnostic::new(text).help(help).into()
}
