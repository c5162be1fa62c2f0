//! The index of published binaries: YAML in, archives out.

use std::collections::BTreeMap;

use anyhow::bail;

use super::address::{self, Reach};
use super::platform::{self, Platform};
use super::selector::{Selector, Version};
use kbr_host::diagnostic::Diagnostic;

/// The index that setup-envtest uses.
pub const DEFAULT_URL: &str =
    "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";

/// An archive with the programs of one version for one platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublishedArchive {
    /// Of Kubernetes.
    pub version: Version,
    /// What its programs run on.
    pub platform: Platform,
    /// SHA-512 of the archive, as 128 hexadecimal digits in lower case.
    pub sha512: String,
    /// Where it can be downloaded.
    pub url: String,
}

/// All archives of an index, the newest version first, then by platform.
#[derive(Debug)]
pub struct PublishedArchives(Vec<PublishedArchive>);

impl PublishedArchives {
    /// The archives that match, the newest version first.
    pub fn matching(
        &self,
        selector: &Selector,
        platform: &Platform,
    ) -> impl Iterator<Item = &PublishedArchive> {
        let archives = self.0.iter();
        archives.filter(move |archive| {
            selector.versions.contains(archive.version) && platform.matches(&archive.platform)
        })
    }

    /// The archive of exactly this version and platform.
    pub fn of(&self, version: Version, platform: &Platform) -> Option<&PublishedArchive> {
        let mut archives = self.0.iter();
        archives.find(|archive| archive.version == version && archive.platform == *platform)
    }
}

#[derive(serde::Deserialize)]
struct IndexFile {
    /// By version and name of the archive. Only the name counts, as in setup-envtest.
    releases: BTreeMap<String, BTreeMap<String, Entry>>,
}

#[derive(serde::Deserialize)]
struct Entry {
    hash: String,
    #[serde(rename = "selfLink")]
    url: String,
}

/// Parses the index that was downloaded from `url`. Names of other files and pre-releases are skipped.
///
/// # Errors
/// The index is not valid, or kbr may not download one of its archives from where it is.
pub fn parse(text: &str, url: &str) -> anyhow::Result<PublishedArchives> {
    let file: IndexFile = match kbr_host::yaml::document(text) {
        Ok(file) => file,
        Err(error) => {
            let error = error.to_string();
            return Err(wrong(url, "it is not an index of envtest binaries")
                .details(error.lines().next().unwrap_or_default())
                .into());
        }
    };
    let from = address::reach(url).map_err(|reason| wrong(url, &reason))?;
    let mut archives = Vec::new();
    for (name, entry) in file.releases.into_values().flatten() {
        let Some((version, platform)) = parse_archive_name(&name) else {
            continue;
        };
        let sha512 = entry.hash.to_ascii_lowercase();
        if let Err(reason) = check(&sha512, &entry.url, from) {
            bail!(wrong(url, &format!("`{name}`: {reason}")));
        }
        archives.push(PublishedArchive {
            version,
            platform,
            sha512,
            url: entry.url,
        });
    }
    archives.sort_by(|a, b| {
        let newest_first = b.version.cmp(&a.version);
        newest_first.then_with(|| a.platform.cmp(&b.platform))
    });
    archives.dedup();
    for pair in archives.windows(2) {
        let (first, second) = (&pair[0], &pair[1]);
        if (first.version, &first.platform) == (second.version, &second.platform) {
            let name = platform::folder_name(first.version, &first.platform);
            bail!(wrong(url, &format!("duplicate archive `{name}`")));
        }
    }
    Ok(PublishedArchives(archives))
}

fn wrong(url: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(format_args!("the index `{url}` is wrong: {reason}"))
        .help("pass the URL of another index with --index")
}

fn parse_archive_name(name: &str) -> Option<(Version, Platform)> {
    let name = name.strip_prefix("envtest-v")?.strip_suffix(".tar.gz")?;
    platform::parse_folder_name(name)
}

fn check(sha512: &str, url: &str, from: Reach) -> Result<(), String> {
    if sha512.len() != 128 || !sha512.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("`{sha512}` is not SHA-512 in hexadecimal"));
    }
    // An index from elsewhere must not make kbr send requests to this machine.
    if address::reach(url)? == Reach::Loopback && from == Reach::Https {
        return Err(format!("`{url}` is not an https:// URL"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
