//! CRDs in a folder.

use std::path::Path;

use serde_json::Value;

use super::read::{self, unreadable};
use crate::crd::FOLDER;

/// The CRDs in the files of a folder, or in `config/crd/bases` of a project.
///
/// # Errors
/// The folder does not exist, has no CRDs, or has files that are not YAML.
pub fn read(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let shown = folder.display();
    if !folder.is_dir() {
        let text = format!("`{shown}` is not a folder");
        return Err(unreadable(
            text,
            "pass a folder with CRDs, or a git ref without `./`",
        ));
    }
    let mut all = Vec::new();
    for folder in [folder, &folder.join(FOLDER)] {
        for (path, text) in read::files(folder)? {
            all.extend(read::definitions(&path, &text)?);
        }
    }
    if all.is_empty() {
        let text = format!("no CRDs found in `{shown}`");
        let help = format!("pass the folder that contains the CRDs, or a project with `{FOLDER}`");
        return Err(unreadable(text, help));
    }
    Ok(all)
}
