//! The binaries of the control plane, in the store of setup-envtest.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use kbr_host::diagnostic::Diagnostic;

/// The programs of a control plane.
pub const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// The programs that a whole cluster needs in addition.
pub const CLUSTER_PROGRAMS: [&str; 3] = ["kube-controller-manager", "kube-scheduler", "kwok"];

/// A folder with [`PROGRAMS`].
#[derive(Debug, Clone)]
pub struct Assets {
    /// Absolute.
    pub folder: PathBuf,
}

impl Assets {
    /// The path of one of [`PROGRAMS`] or [`CLUSTER_PROGRAMS`].
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The version of Kubernetes that kube-apiserver reports, without the `v`.
    pub fn kubernetes(&self) -> anyhow::Result<String> {
        let output = Command::new(self.program("kube-apiserver"))
            .arg("--version")
            .output();
        let output = output.context("cannot run kube-apiserver")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.trim().strip_prefix("Kubernetes v");
        Ok(version
            .context("`kube-apiserver --version` prints no version")?
            .to_owned())
    }
}

/// The folder in `KUBEBUILDER_ASSETS`, if that is set.
pub fn set_by_user() -> Option<PathBuf> {
    let folder = env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty());
    folder.map(PathBuf::from)
}

/// The store of setup-envtest: `<root>/k8s/<version>-<os>-<arch>/{etcd,kube-apiserver,kubectl}`.
#[derive(Debug)]
pub struct Store {
    /// Absolute.
    pub root: PathBuf,
}

impl Store {
    /// The store in `root`, or in setup-envtest's default folder.
    pub fn new(root: Option<PathBuf>) -> anyhow::Result<Self> {
        let root = root.or_else(default_root).ok_or_else(|| {
            Diagnostic::new("no home folder found for the store of binaries")
                .help("pass --store DIR, or set HOME")
        })?;
        let root = std::path::absolute(&root).with_context(|| format!("`{}`", root.display()))?;
        Ok(Self { root })
    }

    /// The folder of a version of Kubernetes, for this platform.
    pub fn folder(&self, version: &str) -> PathBuf {
        let name = format!("{version}-{}-{}", os(), arch());
        self.root.join("k8s").join(name)
    }
}

/// `folder`, if it contains [`PROGRAMS`].
pub fn complete(folder: &Path, help: &str) -> anyhow::Result<Assets> {
    check(folder, &PROGRAMS, help)?;
    let folder = std::path::absolute(folder)?;
    Ok(Assets { folder })
}

/// Fails, and names all missing programs, unless `folder` has `programs`.
pub fn check(folder: &Path, programs: &[&str], help: &str) -> anyhow::Result<()> {
    let missing: Vec<String> = programs
        .iter()
        .filter(|name| !is_program(&folder.join(name)))
        .map(|name| format!("`{name}`"))
        .collect();
    if !missing.is_empty() {
        let (folder, missing) = (folder.display(), missing.join(", "));
        return Err(Diagnostic::new(format_args!("`{folder}` lacks {missing}"))
            .help(help)
            .into());
    }
    Ok(())
}

/// Whether `path` is a file that can be run.
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn default_root() -> Option<PathBuf> {
    let name = if cfg!(target_os = "macos") {
        "io.kubebuilder.envtest"
    } else {
        "kubebuilder-envtest"
    };
    Some(data_folder()?.join(name))
}

/// The user's folder for the data of programs; `None` without a home.
pub fn data_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return Some(PathBuf::from(set("HOME")?).join("Library/Application Support"));
    }
    match set("XDG_DATA_HOME") {
        Some(data) => Some(PathBuf::from(data)),
        None => Some(PathBuf::from(set("HOME")?).join(".local/share")),
    }
}

/// The operating system, as Go calls it.
pub fn os() -> &'static str {
    match env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

/// The architecture, as Go calls it.
pub fn arch() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_the_layout_of_setup_envtest() {
        let store = Store::new(Some(PathBuf::from("/store"))).unwrap();
        let expected = format!("/store/k8s/1.37.2-{}-{}", os(), arch());
        assert_eq!(store.folder("1.37.2"), Path::new(&expected));
    }

    #[test]
    fn every_missing_program_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("etcd"), "not executable").unwrap();
        let error = complete(folder.path(), "do this").unwrap_err().to_string();
        let expected = format!(
            "`{}` lacks `etcd`, `kube-apiserver`, `kubectl`\nhelp: do this",
            folder.path().display()
        );
        assert_eq!(error, expected);
    }
}
