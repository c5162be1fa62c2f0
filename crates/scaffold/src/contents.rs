//! What commands read of a project's files for planning, besides PROJECT.

use std::path::Path;

use anyhow::Context as _;

use crate::changes::{self, Found, Locator};
use crate::library;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// The text of the project's file at `path`; `None` if it is missing, outside of the project or not text.
pub fn text(root: &Path, path: &str) -> Option<String> {
    let root = changes::real(root).ok()?;
    let content = changes::read(&Locator::new(&root), path).ok()??;
    String::from_utf8(content).ok()
}

/// The project's root manifest. If it is missing or cannot be read, it is empty; inserting into it reports the error.
pub fn manifest(root: &Path) -> String {
    text(root, "Cargo.toml").unwrap_or_default()
}

/// The manifest of the project's library, if it exists.
///
/// # Errors
/// It cannot be read.
pub fn library_manifest(root: &Path) -> anyhow::Result<Option<String>> {
    let root = changes::real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let locator = Locator::new(&root);
    let place = locator.locate(library::FOLDER).map_err(Diagnostic::from)?;
    if place.found != Found::Folder {
        return Ok(None);
    }
    let bytes = changes::read(&locator, &format!("{}/Cargo.toml", library::FOLDER))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The crate in `folder`, relative to the project's `root`: the name of its package.
///
/// # Errors
/// Why the folder is not a crate.
pub fn package_name(root: &Path, folder: &str) -> Result<String, String> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
    }
    let path = root.join(folder).join("Cargo.toml");
    let text =
        regular::followed(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
    Ok(manifest.package.name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_manifest_of_the_library_is_found_if_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(library_manifest(root).unwrap(), None);
        let library = root.join(library::FOLDER);
        fs::create_dir_all(&library).unwrap();
        assert_eq!(library_manifest(root).unwrap(), None);
        fs::write(library.join("Cargo.toml"), "a").unwrap();
        assert_eq!(library_manifest(root).unwrap().as_deref(), Some("a"));
    }
}
