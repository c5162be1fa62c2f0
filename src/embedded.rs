//! What this kbr has embedded: its own release, and earlier ones.

use std::borrow::Cow;

use anyhow::Context as _;
use include_dir::{Dir, include_dir};
use kbr_host::diagnostic::Diagnostic;
use kbr_scaffold::project::KBR;
use kbr_scaffold::release::Release;
use kbr_scaffold::scaffold::{LAYOUT, Scaffolds};
use kbr_scaffold::{install, library};

static SCAFFOLDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scaffolds");

/// The lock of the reference project.
pub const LOCK: &str = include_str!("../scaffolds/Cargo.lock");

static LIBRARY: &[library::Package] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The earlier releases, each with its archive.
const KEPT: &[(&str, &[u8])] = &[
    ("0.1.0", include_bytes!("../releases/0.1.0.tar.gz")),
    ("0.2.0", include_bytes!("../releases/0.2.0.tar.gz")),
];

/// The release of this kbr.
///
/// # Errors
/// A scaffold is not text.
pub fn current() -> anyhow::Result<Release> {
    let layout = SCAFFOLDS.get_dir(LAYOUT).context("no scaffolds")?;
    Ok(Release {
        version: KBR.into(),
        scaffolds: Scaffolds::new(files(layout)?),
        lock: LOCK.into(),
        library: library::files(LIBRARY)?,
    })
}

/// A release by its version.
///
/// # Errors
/// This kbr does not have that release.
pub fn find(version: &str) -> anyhow::Result<Release> {
    match version {
        KBR => current(),
        earlier => kept(earlier),
    }
}

/// An earlier release by its version.
///
/// # Errors
/// This kbr has no archive of that release.
pub fn kept(version: &str) -> anyhow::Result<Release> {
    let kept = KEPT.iter().find(|(known, _)| *known == version);
    let (version, archive) = kept.ok_or_else(|| unknown(version))?;
    Release::archived(version, archive)
}

/// Checks that this kbr can extend a project of the release `version`: that it has the same scaffolds.
///
/// # Errors
/// It has others, or this kbr does not know the release.
pub fn check(version: &str) -> anyhow::Result<()> {
    if version == KBR || find(version)?.scaffolds == current()?.scaffolds {
        return Ok(());
    }
    let text = format!("PROJECT says kbr {version}, but this is kbr {KBR}");
    Err(Diagnostic::new(text)
        .help(format_args!(
            "run `kbr upgrade`; `kbr upgrade --dry-run` shows what it changes"
        ))
        .help(format_args!(
            "or use the project's kbr: {}",
            install::hint(version)
        ))
        .into())
}

/// Every file below `folder`: its path there and its text.
fn files(folder: &Dir<'static>) -> anyhow::Result<Vec<(String, Cow<'static, str>)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        folders.extend(next.dirs().cloned());
        for file in next.files() {
            let path = file.path().strip_prefix(folder.path())?;
            let path = path
                .to_str()
                .with_context(|| format!("the name of `{}` is not UTF-8", path.display()))?;
            let text = file
                .contents_utf8()
                .with_context(|| format!("`{path}` is not UTF-8"))?;
            found.push((path.to_owned(), text.into()));
        }
    }
    Ok(found)
}

fn unknown(version: &str) -> Diagnostic {
    let known = KEPT.iter().map(|(known, _)| *known).chain([KBR]);
    let known: Vec<&str> = known.collect();
    let text = format!("kbr {KBR} does not know the release {version}");
    Diagnostic::new(text).help(format_args!("it knows {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_of_the_library_has_a_folder_with_sources_and_no_unit_tests() {
        let folders = LIBRARY
            .iter()
            .map(|(name, _)| format!("third_party/{name}"));
        assert!(folders.eq(library::FOLDERS));
        for (name, files) in LIBRARY {
            let paths: Vec<_> = files.iter().map(|(path, _)| *path).collect();
            assert!(paths.is_sorted() && paths.len() > 30, "{name}: {paths:?}");
            for path in [
                "CHANGELOG.md",
                "Cargo.toml",
                "LICENSE",
                "README.md",
                "src/lib.rs",
            ] {
                assert!(paths.contains(&path), "{name}: {path}");
            }
            let is_test = |path: &&str| {
                path.split('/')
                    .any(|part| part == "tests" || part == "tests.rs")
            };
            assert!(!paths.iter().any(is_test), "{name}: {paths:?}");
        }
    }

    #[test]
    fn the_current_library_is_accepted() {
        for (name, files) in LIBRARY {
            let manifest = files.iter().find(|(path, _)| *path == "Cargo.toml");
            let manifest = manifest.map(|(_, text)| *text);
            library::check(manifest).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn an_archived_release_still_writes_the_same_library() {
        let mut archived = Vec::new();
        for (package, files) in LIBRARY {
            archived.extend(files.iter().map(|(path, text)| {
                let path = path.replace("Cargo.toml", "Cargo.toml.normalised");
                (format!("{package}/{path}"), (*text).to_owned())
            }));
        }
        let kept = library::archived(&archived).unwrap();
        assert_eq!(kept, current().unwrap().library);
        assert!(
            library::archived(&[]).unwrap().is_empty(),
            "0.1.0 had no such folder"
        );
    }

    #[test]
    fn an_unknown_release_is_an_error() {
        let error = kept("0.0.1").err().unwrap().to_string();
        let expected = format!(
            "kbr {KBR} does not know the release 0.0.1\nhelp: it knows 0.1.0, 0.2.0, {KBR}"
        );
        assert_eq!(error, expected);
    }
}
