//! The templates, lock file and library of the current release, and of earlier ones, whose projects kbr can render byte for byte.
//!
//! A release never changes: `make freeze` archives it in `releases/<version>.tar.gz`. Archived templates use the current variables
//! ([`crate::vars::Vars`]) and the current [`crate::edit`], so a variable that an archive uses must keep its meaning. Tests compare
//! checksums with the files that each release wrote.

use std::borrow::Cow;
use std::io::Read as _;

use anyhow::{Context as _, anyhow};
use flate2::read::GzDecoder;

use crate::diagnostic::Diagnostic;
use crate::install;
use crate::library;
use crate::lock;
use crate::project::KBR;
use crate::scaffold::{LAYOUT, Scaffolds};

/// The earlier releases, each with its archive.
const KEPT: &[(&str, &[u8])] = &[
    ("0.1.0", include_bytes!("../releases/0.1.0.tar.gz")),
    ("0.2.0", include_bytes!("../releases/0.2.0.tar.gz")),
];

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

/// A release by its version.
///
/// # Errors
/// This kbr does not have that release.
pub fn of(version: &str) -> anyhow::Result<Release> {
    match version {
        KBR => Release::current(),
        earlier => Release::kept(earlier),
    }
}

/// Checks that this kbr can extend a project of the release `version`: that it has the same scaffolds.
///
/// # Errors
/// It has others, or this kbr does not know the release.
pub fn check(version: &str) -> anyhow::Result<()> {
    if version == KBR || of(version)?.scaffolds == Release::current()?.scaffolds {
        return Ok(());
    }
    let text = format!("the project is of kbr {version}, and this is kbr {KBR}");
    Err(Diagnostic::new(text)
        .help(format_args!("`kbr upgrade` brings the project to {KBR}; `kbr upgrade --dry-run` shows what that changes"))
        .help(format_args!("or use the project's kbr: {}", install::hint(version)))
        .into())
}

impl Release {
    /// The current release.
    ///
    /// # Errors
    /// A scaffold is not text.
    pub fn current() -> anyhow::Result<Self> {
        Ok(Release {
            version: KBR.into(),
            scaffolds: Scaffolds::current()?,
            lock: lock::REFERENCE_LOCK.into(),
            library: library::current()?,
        })
    }

    /// An earlier release, by its version. Rendering it gives a project of that release without user changes.
    ///
    /// # Errors
    /// This kbr has no archive of that release.
    pub fn kept(version: &str) -> anyhow::Result<Self> {
        let kept = KEPT.iter().find(|(known, _)| *known == version);
        let (version, archive) = kept.ok_or_else(|| unknown(version))?;
        let broken = || anyhow!("the archive of the release {version} in kbr is broken");
        let mut archive = tar::Archive::new(GzDecoder::new(*archive));
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
                scaffolds.push((path.to_owned(), text));
            } else if let Some(path) = path.strip_prefix("library/") {
                library.push((path.to_owned(), text));
            }
        }
        Ok(Release {
            version: (*version).into(),
            scaffolds: Scaffolds::kept(scaffolds),
            lock: reference.into(),
            // In 0.1.0 the library is one of the templates.
            library: library::kept(&library)?,
        })
    }
}

/// The versions of the earlier releases.
#[cfg(test)]
pub fn earlier() -> impl Iterator<Item = &'static str> {
    KEPT.iter().map(|(version, _)| *version)
}

fn unknown(version: &str) -> Diagnostic {
    let known = KEPT.iter().map(|(known, _)| *known).chain([KBR]);
    let known: Vec<&str> = known.collect();
    let text = format!("kbr {KBR} does not know the release {version}");
    Diagnostic::new(text).help(format_args!("it knows {}", known.join(", ")))
}

#[cfg(test)]
mod tests;
