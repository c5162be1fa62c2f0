//! What this kbr has embedded: its own release, and earlier ones.

use std::borrow::Cow;

use anyhow::Context as _;
use include_dir::{Dir, include_dir};
use kbr_host::diagnostic::Diagnostic;
#[cfg(feature = "faults")]
use kbr_scaffold::predecessor;
use kbr_scaffold::project::KBR;
use kbr_scaffold::release::Release;
use kbr_scaffold::scaffold::{LAYOUT, Scaffolds};
use kbr_scaffold::upgrade::{CHANGES, Changes};
use kbr_scaffold::{install, library};

static SCAFFOLDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scaffolds");

/// The lock of the reference project.
pub const LOCK: &str = include_str!("../scaffolds/Cargo.lock");

static LIBRARY: &[library::Package] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The earlier releases, each with its archive: those in `releases/`.
static KEPT: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/releases.rs"));

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
    #[cfg(feature = "faults")]
    if version == predecessor::VERSION {
        return Ok(predecessor::of(&current()?));
    }
    let kept = KEPT.iter().find(|(known, _)| *known == version);
    let (version, archive) = kept.ok_or_else(|| unknown(version))?;
    Release::archived(version, archive)
}

/// What an upgrade from the release `version` knows of the releases since.
pub fn changes(version: &str) -> &'static Changes {
    match version {
        #[cfg(feature = "faults")]
        predecessor::VERSION => &predecessor::CHANGES,
        _ => &CHANGES,
    }
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
    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn each_package_of_the_library_has_a_folder_with_sources_and_no_unit_tests() {
        let folders = LIBRARY
            .iter()
            .map(|(name, _)| format!("third_party/{name}"));
        assert!(folders.eq(library::FOLDERS));
        for (name, files) in LIBRARY {
            let paths: Vec<_> = files.iter().map(|(path, _)| *path).collect();
            assert!(paths.is_sorted() && paths.len() > 10, "{name}: {paths:?}");
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
    fn an_archive_of_this_release_is_this_release() {
        let release = current().unwrap();
        let mut archive = tar::Builder::new(Vec::new());
        for (path, text) in release.archive() {
            // As `make freeze` finds them.
            let path = match path.strip_prefix("library/") {
                Some(_) => path.replace("Cargo.toml", "Cargo.toml.normalised"),
                None => path,
            };
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o444);
            archive
                .append_data(&mut header, path, text.as_bytes())
                .unwrap();
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&archive.into_inner().unwrap()).unwrap();
        let kept = Release::archived(KBR, &packed.finish().unwrap()).unwrap();
        assert_eq!(kept.version, release.version);
        assert!(kept.scaffolds == release.scaffolds);
        assert_eq!(kept.lock, release.lock);
        assert_eq!(kept.library, release.library);
    }

    #[test]
    fn each_archive_in_the_repository_is_known() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("releases");
        let files = fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut versions: Vec<String> = names
            .filter_map(|name| Some(name.strip_suffix(".tar.gz")?.to_owned()))
            .collect();
        let mut known: Vec<&str> = KEPT.iter().map(|(version, _)| *version).collect();
        versions.sort();
        known.sort_unstable();
        assert_eq!(known, versions);
        assert!(!known.contains(&KBR), "set the next version");
        for version in known {
            kept(version).unwrap();
        }
    }

    #[test]
    fn an_unknown_release_is_an_error() {
        let error = kept("0.0.1").err().unwrap().to_string();
        assert!(error.starts_with(&format!(
            "kbr {KBR} does not know the release 0.0.1\nhelp: it knows "
        )));
        assert!(error.ends_with(KBR), "{error}");
    }
}
