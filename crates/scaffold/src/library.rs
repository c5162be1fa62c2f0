//! The library in every project, as cargo publishes its packages: kbr-manager, and for the tests kbr-testing with what it needs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::edited::sha256;
use crate::install;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::notation::Version;
use serde::{Deserialize, Serialize};

/// Where a project has the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Copies in the project's `third_party/`.
    #[default]
    Vendored,
    /// The registry, as any other crate.
    Registry,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 2] = [Origin::Vendored, Origin::Registry];

    /// `vendored`.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Vendored => "vendored",
            Origin::Registry => "registry",
        }
    }

    /// Whether it is the default, which PROJECT does not record.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
    pub(crate) fn is_vendored(&self) -> bool {
        *self == Origin::Vendored
    }
}

/// The folder of kbr-manager in a project.
pub const FOLDER: &str = "third_party/kbr-manager";

/// The folders of all packages in a project, sorted.
pub const FOLDERS: [&str; 4] = [
    "third_party/apiserver-fake",
    "third_party/apiserver-rules",
    FOLDER,
    "third_party/kbr-testing",
];

/// The names of all packages.
pub fn packages() -> impl Iterator<Item = &'static str> {
    FOLDERS
        .iter()
        .filter_map(|folder| folder.split('/').next_back())
}

/// The oldest release with which the code that this kbr scaffolds compiles.
const OLDEST: &str = "0.3.0";

/// The file with the checksums of all others, as `cargo vendor` writes it.
pub(crate) const CHECKSUMS: &str = ".cargo-checksum.json";

/// The folders of the packages in a project: path and text of each file.
pub type Files = Vec<(String, Cow<'static, str>)>;

/// A package of the library: its name, and path and text of each of its files, sorted by path.
pub type Package = (&'static str, &'static [(&'static str, &'static str)]);

/// The folders with these packages: path and text of each file.
///
/// # Errors
/// Cannot happen: paths and checksums are text.
pub fn files(packages: &[Package]) -> anyhow::Result<Files> {
    let mut all = Files::new();
    for (package, files) in packages {
        let checksums = checksums(files)?;
        let files = files
            .iter()
            .map(|(path, text)| (*path, Cow::Borrowed(*text)));
        all.extend(folder(package, files, checksums));
    }
    Ok(all)
}

/// The folders that an archived release writes: paths below `library/`, where manifests may have another name because cargo leaves out
/// nested packages.
///
/// # Errors
/// Cannot happen: paths and checksums are text.
pub fn archived<'a>(archived: impl Iterator<Item = (&'a str, &'a str)>) -> anyhow::Result<Files> {
    let mut packages = BTreeMap::<&str, Vec<(&str, &str)>>::new();
    for (path, text) in archived {
        let path = path.strip_suffix(".normalised").unwrap_or(path);
        if let Some((package, path)) = path.split_once('/') {
            packages.entry(package).or_default().push((path, text));
        }
    }
    let mut all = Files::new();
    for (package, files) in packages {
        let checksums = checksums(&files)?;
        let files = files
            .into_iter()
            .map(|(path, text)| (path, Cow::Owned(text.to_owned())));
        all.extend(folder(package, files, checksums));
    }
    Ok(all)
}

fn folder<'a>(
    package: &str,
    files: impl Iterator<Item = (&'a str, Cow<'static, str>)>,
    checksums: String,
) -> Files {
    let all = files.chain([(CHECKSUMS, Cow::Owned(checksums))]);
    all.map(|(path, text)| (format!("third_party/{package}/{path}"), text))
        .collect()
}

fn checksums(files: &[(&str, &str)]) -> anyhow::Result<String> {
    let files: BTreeMap<&str, String> = files
        .iter()
        .map(|(path, text)| (*path, sha256(text.as_bytes())))
        .collect();
    let text = serde_json::to_string(&BTreeMap::from([("files", files)]))?;
    Ok(text + "\n")
}

/// The folder of a package, if the file at `path` is in it.
pub fn folder_of(path: &str) -> Option<&'static str> {
    let is_in = |folder: &&str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    FOLDERS.into_iter().find(is_in)
}

/// Whether the file at `path` belongs to the library.
pub fn has(path: &str) -> bool {
    folder_of(path).is_some()
}

/// Checks that the project's library with this manifest is new enough for the code that this kbr scaffolds.
///
/// # Errors
/// The library is missing, has no readable version, or is too old; the help tells how to fix it.
pub fn check(manifest: Option<&str>) -> anyhow::Result<()> {
    let Some(manifest) = manifest else {
        return Err(
            Diagnostic::new(format_args!("`{FOLDER}/Cargo.toml` is missing"))
                .help("run `kbr init` to restore the library")
                .into(),
        );
    };
    let version = version_in(manifest);
    let release = version.as_deref().and_then(Version::of_release);
    match (version, release) {
        (Some(_), Some(found)) if Some(found) >= Version::of_release(OLDEST) => Ok(()),
        (Some(version), Some(_)) => Err(Diagnostic::new(format_args!(
            "the project has kbr-manager {version}, but this kbr needs {OLDEST} or newer"
        ))
        .help(format_args!(
            "use the kbr that created the project: {}",
            install::hint(&version)
        ))
        .into()),
        _ => Err(Diagnostic::new(format_args!(
            "cannot read the version in `{FOLDER}/Cargo.toml`"
        ))
        .help(format_args!(
            "remove `{FOLDER}`, then run `kbr init` to restore the library"
        ))
        .into()),
    }
}

/// The version of the package in `manifest`.
fn version_in(manifest: &str) -> Option<String> {
    let manifest: toml::Table = manifest.parse().ok()?;
    Some(
        manifest
            .get("package")?
            .get("version")?
            .as_str()?
            .to_owned(),
    )
}

#[cfg(test)]
mod tests;
