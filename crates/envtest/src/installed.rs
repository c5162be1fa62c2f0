//! The versions in a store.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use anyhow::Context;

use super::assets::{self, Assets, CLUSTER_PROGRAMS, Store};
use super::platform::{self, Platform};
use super::selector::{Selector, Version};
use super::{modules, progress};

/// A version in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledVersion {
    /// Of Kubernetes.
    pub version: Version,
    /// What its programs run on.
    pub platform: Platform,
    /// Where its programs are.
    pub folder: PathBuf,
}

impl InstalledVersion {
    /// Whether all programs are there: setup-envtest may have been killed while it unpacked them.
    pub fn is_complete(&self) -> bool {
        let programs = self.platform.programs();
        programs
            .iter()
            .all(|name| assets::is_program(&self.folder.join(name)))
    }
}

/// `version` as it would be in the store.
pub fn at(store: &Store, version: Version, platform: &Platform) -> InstalledVersion {
    InstalledVersion {
        version,
        platform: platform.clone(),
        folder: versions(store).join(platform::folder_name(version, platform)),
    }
}

fn versions(store: &Store) -> PathBuf {
    store.root.join("k8s")
}

/// The versions in the store that match, complete or not: the newest first, then by platform.
pub fn list(
    store: &Store,
    selector: &Selector,
    platform: &Platform,
) -> anyhow::Result<Vec<InstalledVersion>> {
    let folder = versions(store);
    let mut found = Vec::new();
    let mut read = || -> io::Result<()> {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            // A link is not a version: `cleanup` would remove its target, which belongs to the user.
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let name = entry.file_name();
            let parsed = name.to_str().and_then(platform::parse_folder_name);
            if let Some((version, at)) = parsed
                && selector.versions.contains(version)
                && platform.matches(&at)
            {
                found.push(self::at(store, version, &at));
            }
        }
        Ok(())
    };
    match read() {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read `{}`", folder.display()));
        }
        _ => {}
    }
    found.sort_by(|a, b| {
        let newest_first = b.version.cmp(&a.version);
        newest_first.then_with(|| a.platform.cmp(&b.platform))
    });
    Ok(found)
}

/// The programs for the control plane: those in `KUBEBUILDER_ASSETS`, or in the store (see [`Store::new`]) of kbr's newest version, or
/// of the newest patch of its minor version.
///
/// # Errors
/// There are none, or a program is missing.
pub fn find(store: Option<PathBuf>) -> anyhow::Result<Assets> {
    if let Some(folder) = assets::set_by_user() {
        let help =
            "unset KUBEBUILDER_ASSETS, or set it to a folder with etcd, kube-apiserver and kubectl";
        return assets::complete(&folder, help);
    }
    let store = Store::new(store)?;
    let newest = modules::newest().kubernetes();
    let own: Version = newest.parse().map_err(anyhow::Error::msg)?;
    let minor = format!("{}.{}", own.major, own.minor);
    let help = format!("run kbr envtest build, or kbr envtest use {minor} to download it");
    let found = assets::complete(&store.folder(newest), &help);
    if found.is_ok() {
        return found;
    }
    match newest_patch(&store, &minor)? {
        Some(newest) => assets::complete(&newest.folder, &help),
        None => found,
    }
}

/// The newest complete patch of a minor version, such as `1.30`; nothing if that is not a version.
fn newest_patch(store: &Store, minor: &str) -> anyhow::Result<Option<InstalledVersion>> {
    let Ok(selector) = minor.parse() else {
        return Ok(None);
    };
    let versions = list(store, &selector, &Platform::host())?;
    Ok(versions.into_iter().find(InstalledVersion::is_complete))
}

/// The programs for a whole cluster: those in `KUBEBUILDER_ASSETS`, or in the store of kbr's newest version.
///
/// # Errors
/// A program is missing.
pub fn find_for_cluster(store: Option<PathBuf>) -> anyhow::Result<Assets> {
    let help = "run kbr envtest build --cluster";
    if assets::set_by_user().is_none() {
        let folder = Store::new(store)?.folder(modules::newest().kubernetes());
        let assets = assets::complete(&folder, help)?;
        assets::check(&assets.folder, &CLUSTER_PROGRAMS, help)?;
        return Ok(assets);
    }
    let assets = find(store)?;
    let help = format!("unset KUBEBUILDER_ASSETS, and {help}");
    assets::check(&assets.folder, &CLUSTER_PROGRAMS, &help)?;
    Ok(assets)
}

/// The programs for the objects of a cluster of the version `kubernetes`, as its API server names it: of its minor version if the store has
/// them, otherwise those of [`find`], which it reports. A whole cluster has the version of [`find_for_cluster`].
///
/// # Errors
/// As those two.
pub fn find_for_clone(
    kubernetes: &str,
    is_cluster: bool,
    store: Option<PathBuf>,
) -> anyhow::Result<Assets> {
    let numbers = kubernetes.trim_start_matches('v').splitn(3, '.');
    let minor = numbers.take(2).collect::<Vec<_>>().join(".");
    if !is_cluster
        && assets::set_by_user().is_none()
        && let Some(found) = newest_patch(&Store::new(store.clone())?, &minor)?
    {
        return Ok(Assets {
            folder: found.folder,
        });
    }
    let found = if is_cluster {
        find_for_cluster(store)?
    } else {
        find(store)?
    };
    let version = found.kubernetes().unwrap_or_default();
    if !version.starts_with(&format!("{minor}.")) {
        progress(
            "serving",
            &format!("Kubernetes {version} instead of {kubernetes}"),
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store_with(names: &[&str]) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir_all(folder.path().join("k8s").join(name)).unwrap();
        }
        let store = Store::new(Some(folder.path().to_owned())).unwrap();
        (folder, store)
    }

    fn names(store: &Store, selector: &str, platform: &Platform) -> Vec<String> {
        let found = list(store, &selector.parse().unwrap(), platform).unwrap();
        found
            .iter()
            .map(|found| platform::folder_name(found.version, &found.platform))
            .collect()
    }

    #[test]
    fn versions_are_listed_by_number_then_by_platform() {
        let (_folder, store) = store_with(&[
            "1.9.10-linux-amd64",
            "1.10.0-linux-arm64",
            "1.10.0-linux-amd64",
            "1.10.0-darwin-arm64",
        ]);
        let expected = [
            "1.10.0-darwin-arm64",
            "1.10.0-linux-amd64",
            "1.10.0-linux-arm64",
            "1.9.10-linux-amd64",
        ];
        assert_eq!(names(&store, "latest", &Platform::any()), expected);
        assert_eq!(names(&store, "<1.10", &Platform::any()), expected[3..]);
        let (_folder, empty) = store_with(&[]);
        assert_eq!(names(&empty, "latest", &Platform::any()), [""; 0]);
    }

    #[test]
    fn files_links_and_other_names_are_not_versions() {
        let (folder, store) = store_with(&["somedir-1.2.3-linux-amd64", "tmp"]);
        let versions = folder.path().join("k8s");
        fs::write(versions.join("1.2.3-linux-amd64"), "").unwrap();
        std::os::unix::fs::symlink("/", versions.join("1.2.4-linux-amd64")).unwrap();
        assert_eq!(names(&store, "latest", &Platform::any()), [""; 0]);
    }
}
