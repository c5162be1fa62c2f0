//! What `kbr chart` and `kbr bundle` share: they render `config`, and write files that are all kbr's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use super::report;
use kbr_dist::{self as dist, Dist};
use kbr_envtest::installed;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_manifests::diff;
use kbr_scaffold::workdir;

/// The root of the project that the current folder belongs to.
///
/// # Errors
/// It belongs to none.
pub fn root() -> anyhow::Result<PathBuf> {
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    workdir::find_root(&folder)
}

/// What makes a command for the kubectl of the local control plane.
///
/// # Errors
/// It is not installed.
pub fn kubectl() -> anyhow::Result<impl Fn() -> Command> {
    let program = installed::find(None)?.program("kubectl");
    Ok(move || {
        let mut kubectl = Command::new(&program);
        // Without the user's kubectl preferences.
        kubectl.env("KUBERC", "off").stdin(Stdio::null());
        kubectl
    })
}

/// Writes the files, or only compares them, and reports what changed.
///
/// # Errors
/// They cannot be written. With `check`, also if any is stale.
pub fn write(root: &Path, dist: &Dist, check: bool) -> anyhow::Result<()> {
    if check {
        let changes = dist::compare(root, dist)?;
        changes
            .iter()
            .try_for_each(|change| output::data(&diff(change)))?;
        let files = match changes.len() {
            0 => return Ok(()),
            1 => "1 file".to_owned(),
            several => format!("{several} files"),
        };
        let name = dist.name;
        let text = format!("{files} of the {name} differ from what `config` renders");
        return Err(Diagnostic::new(text)
            .help(format!("run `kbr {name}`"))
            .into());
    }
    let changes = dist::write(root, dist)?;
    report::report(&changes);
    let files = &dist.files;
    let written = |path: &String| changes.iter().any(|change| change.path == *path);
    let same = files.iter().filter(|file| !written(&file.path)).count();
    if same > 0 {
        output::message(format_args!(
            "{:>12} {same} of {} files",
            "same",
            files.len()
        ));
    }
    Ok(())
}
