//! A release of kbr: its templates, lock file and library. kbr can render the projects of every release, byte for byte.
//!
//! A release never changes: `make freeze` archives it in `releases/<version>.tar.gz`. Archived templates use the current variables
//! ([`crate::vars::Vars`]) and the current [`crate::edit`], so a variable that an archive uses must keep its meaning. Tests compare
//! checksums with the files that each release wrote.

use std::borrow::Cow;
use std::io::Read as _;

use anyhow::{Context as _, anyhow};
use flate2::read::GzDecoder;

use crate::library;
use crate::scaffold::{LAYOUT, Scaffolds};

/// The parts of one release.
pub struct Release {
    /// `0.2.0`.
    pub version: Cow<'static, str>,
    /// Its templates.
    pub scaffolds: Scaffolds,
    /// The `Cargo.lock` of its reference project.
    pub lock: Cow<'static, str>,
    /// Path and text of each file of the runtime library, unless it is one of the templates.
    pub library: library::Files,
}

impl Release {
    /// An earlier release, from what `make freeze` archived. Rendering it gives a project of that release without user changes.
    ///
    /// # Errors
    /// It is not such an archive.
    pub fn archived(version: &str, archive: &[u8]) -> anyhow::Result<Self> {
        let broken = || anyhow!("the archive of the release {version} in kbr is broken");
        let mut archive = tar::Archive::new(GzDecoder::new(archive));
        let (mut scaffolds, mut library, mut reference) = (Vec::new(), Vec::new(), String::new());
        for entry in archive.entries().with_context(broken)? {
            let mut entry = entry.with_context(broken)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry
                .path()
                .with_context(broken)?
                .to_string_lossy()
                .into_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text).with_context(broken)?;
            if path == "scaffolds/Cargo.lock" {
                reference = text;
            } else if let Some(path) = path.strip_prefix(&format!("scaffolds/{LAYOUT}/")) {
                scaffolds.push((path.to_owned(), text.into()));
            } else if let Some(path) = path.strip_prefix("library/") {
                library.push((path.to_owned(), text));
            }
        }
        Ok(Release {
            version: version.to_owned().into(),
            scaffolds: Scaffolds::new(scaffolds),
            lock: reference.into(),
            // In 0.1.0 the library is one of the templates.
            library: library::archived(&library)?,
        })
    }
}

#[cfg(test)]
mod tests;
