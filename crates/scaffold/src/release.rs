//! A release of kbr: its templates, lock file and library. kbr can render the projects of every release, byte for byte.
//!
//! A release never changes: `make freeze` archives it in `releases/<version>.tar.gz`. Archived templates use the current variables
//! ([`crate::vars::Vars`]) and the current [`crate::edit`], so a variable that an archive uses must keep its meaning. Tests compare
//! checksums with the files that each release wrote.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;

use anyhow::{Context as _, anyhow};
use flate2::read::GzDecoder;

use crate::library;
use crate::scaffold::{LAYOUT, Scaffolds};

/// The parts of one release.
pub struct Release {
    /// `0.3.0`.
    pub version: Cow<'static, str>,
    /// Its templates.
    pub scaffolds: Scaffolds,
    /// The `Cargo.lock` of its reference project.
    pub lock: Cow<'static, str>,
    /// Path and text of each file of the runtime library.
    pub library: library::Files,
}

/// What an archive contains: the files below `scaffolds/` and `library/`.
pub type Archive = BTreeMap<String, String>;

const LOCK: &str = "scaffolds/Cargo.lock";

impl Release {
    /// An earlier release, from what `make freeze` archived. Rendering it gives a project of that release without user changes.
    ///
    /// # Errors
    /// It is not such an archive.
    pub fn archived(version: &str, archive: &[u8]) -> anyhow::Result<Self> {
        let broken = || anyhow!("the archive of the release {version} in kbr is broken");
        let mut archive = tar::Archive::new(GzDecoder::new(archive));
        let mut files = Archive::new();
        for entry in archive.entries().with_context(broken)? {
            let mut entry = entry.with_context(broken)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path().with_context(broken)?;
            let path = path.to_string_lossy().into_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text).with_context(broken)?;
            files.insert(path, text);
        }
        Self::from_archive(version, files)
    }

    /// The release whose archive contains `files`.
    ///
    /// # Errors
    /// Cannot happen: the checksums of the library are text.
    pub(crate) fn from_archive(version: &str, mut files: Archive) -> anyhow::Result<Self> {
        let lock = files.remove(LOCK).unwrap_or_default();
        let layout = format!("scaffolds/{LAYOUT}/");
        let scaffolds = below(&files, &layout)
            .map(|(path, text)| (path.to_owned(), Cow::Owned(text.to_owned())));
        Ok(Release {
            version: version.to_owned().into(),
            scaffolds: Scaffolds::new(scaffolds),
            lock: lock.into(),
            library: library::archived(below(&files, "library/"))?,
        })
    }

    /// What `make freeze` archives of this release.
    #[cfg(any(test, feature = "faults"))]
    pub fn archive(&self) -> Archive {
        let scaffolds = self
            .scaffolds
            .files()
            .map(|(path, text)| (format!("scaffolds/{LAYOUT}/{path}"), text));
        let library = self.library.iter().filter_map(|(path, text)| {
            let path = path.strip_prefix("third_party/")?;
            (!path.ends_with(library::CHECKSUMS)).then(|| (format!("library/{path}"), &**text))
        });
        let lock = (LOCK.to_owned(), &*self.lock);
        let files = scaffolds.chain(library).chain([lock]);
        files.map(|(path, text)| (path, text.to_owned())).collect()
    }
}

/// The files below `folder`, by their paths there.
fn below<'a>(files: &'a Archive, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let files = files.iter();
    files.filter_map(move |(path, text)| Some((path.strip_prefix(folder)?, text.as_str())))
}

#[cfg(test)]
mod tests;
