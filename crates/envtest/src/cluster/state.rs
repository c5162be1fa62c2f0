//! The folder of a cluster, and what is recorded in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::servers::Ports;
use crate::{assets, folder};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::notation::Version;
use kbr_host::regular;

/// The record, in the folder of the cluster.
const FILE: &str = "cluster.json";

/// This file in the folder of a cluster means that its start is complete.
const READY: &str = "ready";

/// The longest name of a cluster, which is part of the path of a socket: `dev-` and the longest name of a project.
const LONGEST_NAME: usize = 44;

/// What is recorded of a cluster.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    /// The version of Kubernetes, without the `v`.
    pub kubernetes: String,
    /// The folder of the binaries.
    pub assets: PathBuf,
    pub ports: Ports,
    pub nodes: u16,
    /// Whether the data is kept when the cluster stops.
    pub keep: bool,
    /// The user's kubeconfig that has a context for this cluster.
    pub merged: Option<PathBuf>,
}

impl State {
    /// The record in `folder`; `None` if that contains no cluster.
    pub fn find(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(FILE);
        match regular::text(&path) {
            Ok(text) => {
                let state = serde_json::from_str(&text);
                state
                    .map(Some)
                    .with_context(|| format!("`{}` is broken", path.display()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        }
    }

    /// The record in `folder`, which has one.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        Self::find(folder)?.context("the cluster was stopped in the meantime")
    }

    /// Writes the record.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        let new = folder.join("cluster.json.new");
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Fails if the data is of another minor version than `kubernetes`, which may not be able to read it.
    pub fn check_version(&self, name: &str, kubernetes: &str) -> anyhow::Result<()> {
        let [kept, wanted] = [&*self.kubernetes, kubernetes].map(Version::of_release);
        let is_same = kept
            .zip(wanted)
            .is_some_and(|(kept, wanted)| kept.same_minor(wanted));
        if is_same || self.kubernetes == kubernetes {
            return Ok(());
        }
        let text = format!(
            "the data of the cluster `{name}` is from Kubernetes {}, but the binaries are {kubernetes}",
            self.kubernetes
        );
        let help = format!("delete the data: kbr cluster stop {name} --delete");
        Err(Diagnostic::new(text).help(help).into())
    }
}

/// Records that the start of the cluster in `folder` is complete.
pub fn set_ready(folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(READY);
    fs::write(&path, "").with_context(|| format!("cannot write `{}`", path.display()))
}

/// Forgets an earlier start.
pub fn unset_ready(folder: &Path) {
    let _ = fs::remove_file(folder.join(READY));
}

/// Whether the start of the cluster in `folder` is complete.
pub fn is_ready(folder: &Path) -> bool {
    folder.join(READY).exists()
}

/// The folder of the cluster `name`: `$XDG_DATA_HOME/kbr/clusters/NAME`.
pub fn folder(name: &str) -> anyhow::Result<PathBuf> {
    Ok(root()?.join(name))
}

/// Creates the folder of all clusters. Whoever can write into it, or the one around it, can replace the folder of a cluster.
pub fn create_root() -> anyhow::Result<()> {
    let root = root()?;
    for folder in root.parent().into_iter().chain([&*root]) {
        folder::make_private(folder)
            .with_context(|| format!("cannot restrict access to `{}`", folder.display()))?;
    }
    Ok(())
}

fn root() -> anyhow::Result<PathBuf> {
    let data = assets::data_folder().ok_or_else(|| {
        Diagnostic::new("no home folder found for clusters").help("set HOME or XDG_DATA_HOME")
    })?;
    Ok(std::path::absolute(data.join("kbr/clusters"))?)
}

/// The names of all clusters, sorted.
pub fn names() -> anyhow::Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(root()?) else {
        return Ok(Vec::new());
    };
    let names = entries
        .flatten()
        .filter(|entry| entry.path().join(FILE).exists());
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// A name as it is, if it is a DNS label of at most 44 characters.
pub fn check_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let valid = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if valid {
        return Ok(name.to_owned());
    }
    Err(format!(
        "use at most {LONGEST_NAME} lower-case letters, digits and hyphens, such as `demo-2`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(kubernetes: &str) -> State {
        State {
            kubernetes: kubernetes.to_owned(),
            assets: "/assets".into(),
            ports: [1, 2, 3],
            nodes: 1,
            keep: true,
            merged: None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(State::find(folder.path()).unwrap().is_none());
        state("1.36.3").write(folder.path()).unwrap();
        let read = State::read(folder.path()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", state("1.36.3")));
        fs::write(folder.path().join(FILE), "{").unwrap();
        let error = State::find(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("cluster.json` is broken"), "{error}");
    }

    #[test]
    fn data_of_another_minor_version_is_rejected() {
        let check = |kubernetes| state("1.36.3").check_version("a", kubernetes);
        assert!(check("1.36.9").is_ok());
        let error = check("1.37.1").unwrap_err().to_string();
        assert!(
            error.contains("Kubernetes 1.36.3, but the binaries are 1.37.1"),
            "{error}"
        );
        assert!(error.contains("kbr cluster stop a --delete"), "{error}");
        assert!(check("1.3.6").is_err());
    }

    #[test]
    fn a_name_is_a_dns_label() {
        for name in ["a", "demo-2", "0", &"a".repeat(44)] {
            assert_eq!(check_name(name).as_deref(), Ok(name));
        }
        for name in [
            "",
            "-a",
            "a-",
            "A",
            "a.b",
            "a/b",
            "..",
            "ä",
            &"a".repeat(45),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
