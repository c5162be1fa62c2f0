//! kbr-manager, the runtime library in every project, as cargo publishes it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::hash::sha256;
use crate::install;
use kbr_host::diagnostic::Diagnostic;

/// The library's folder in a project.
pub const FOLDER: &str = "third_party/kbr-manager";

/// The library's folder in projects of 0.1.0, where it was a crate of the project.
pub const OLD_FOLDER: &str = "manager";

/// The oldest release with which the code that this kbr scaffolds compiles.
const OLDEST: &str = "0.2.0";

/// The file with the checksums of all others, as `cargo vendor` writes it.
const CHECKSUMS: &str = ".cargo-checksum.json";

/// The whole folder in a project: path and text of each file.
pub type Files = Vec<(String, Cow<'static, str>)>;

/// The folder with these files: path and text of each.
///
/// # Errors
/// Cannot happen: paths and checksums are text.
pub fn files(files: &'static [(&str, &str)]) -> anyhow::Result<Files> {
    let checksums = checksums(files)?;
    let files = files
        .iter()
        .map(|(path, text)| (*path, Cow::Borrowed(*text)));
    Ok(folder(files, checksums))
}

/// The folder that an archived release writes: paths below `library/`, where the manifest has another name because cargo leaves out
/// nested packages.
///
/// # Errors
/// Cannot happen: paths and checksums are text.
pub fn archived(archived: &[(String, String)]) -> anyhow::Result<Files> {
    if archived.is_empty() {
        return Ok(Vec::new());
    }
    let files = archived.iter().map(|(path, text)| {
        let path = path.strip_suffix(".normalised").unwrap_or(path);
        (path, text.as_str())
    });
    let files: Vec<(&str, &str)> = files.collect();
    let checksums = checksums(&files)?;
    let files = files
        .into_iter()
        .map(|(path, text)| (path, Cow::Owned(text.to_owned())));
    Ok(folder(files, checksums))
}

fn folder<'a>(
    files: impl Iterator<Item = (&'a str, Cow<'static, str>)>,
    checksums: String,
) -> Files {
    let all = files.chain([(CHECKSUMS, Cow::Owned(checksums))]);
    all.map(|(path, text)| (format!("{FOLDER}/{path}"), text))
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

/// The library's folder in this or an earlier release, if the file at `path` is in it.
pub fn folder_of(path: &str) -> Option<&'static str> {
    let is_in = |folder: &&str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    [FOLDER, OLD_FOLDER]
        .into_iter()
        .find(|folder| is_in(folder))
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
                .help("`kbr init` restores the library")
                .into(),
        );
    };
    let version = version_in(manifest);
    let release = version.as_deref().and_then(release);
    match (version, release) {
        (Some(_), Some(found)) if Some(found) >= self::release(OLDEST) => Ok(()),
        (Some(version), Some(_)) => Err(Diagnostic::new(format_args!(
            "the project has kbr-manager {version}, but this kbr needs {OLDEST} or newer"
        ))
        .help(format_args!(
            "use the kbr that created the project: {}",
            install::hint(&version)
        ))
        .into()),
        _ => Err(Diagnostic::new(format_args!(
            "`{FOLDER}/Cargo.toml` has no readable version"
        ))
        .help(format_args!(
            "remove `{FOLDER}`; `kbr init` restores the library"
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

/// `[0, 2, 0]` for `0.2.0` and for its pre-releases, `0.2.0-rc.1`.
fn release(version: &str) -> Option<[u64; 3]> {
    let (numbers, _) = version.split_once(['-', '+']).unwrap_or((version, ""));
    let numbers: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
    numbers.ok()?.try_into().ok()
}

#[cfg(test)]
mod tests;
