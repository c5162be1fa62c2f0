//! CRDs of an earlier commit.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::read::{self, unreadable};
use crate::crd::FOLDER;
use kbr_programs::git::command;

/// The CRDs that `config/crd/bases` of the project had in a commit; empty if the project did not exist yet.
///
/// # Errors
/// Git is missing, the project is not in a repository, or it has no such commit.
pub fn read(root: &Path, name: &str) -> anyhow::Result<Vec<Value>> {
    let commit = commit(root, name)?;
    let folder = format!("{FOLDER}/");
    let listed = git(
        root,
        &["ls-tree", "-z", "--name-only", &commit, "--", &folder],
    )?;
    let listed = text(listed, name)?;
    let mut all = Vec::new();
    for path in listed.split('\0').filter(|path| read::is_yaml(path)) {
        let shown = git(root, &["cat-file", "blob", &format!("{commit}:./{path}")])?;
        all.extend(read::definitions(
            &format!("{name}:{path}"),
            &text(shown, name)?,
        )?);
    }
    Ok(all)
}

/// The full name of the commit.
fn commit(root: &Path, name: &str) -> anyhow::Result<String> {
    let inside = git(root, &["rev-parse", "--is-inside-work-tree"])?;
    if !inside.status.success() {
        let text = format!("the project is not in a git repository, so `{name}` is not a git ref");
        return Err(unreadable(text, help(name)));
    }
    let found = git(
        root,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ],
    )?;
    if !found.status.success() {
        let text = format!("git has no commit `{name}`");
        return Err(unreadable(text, help(name)));
    }
    Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned())
}

fn help(name: &str) -> String {
    if Path::new(name).is_dir() {
        return format!("to compare with the folder, pass `./{name}`");
    }
    "pass a branch, tag or commit that this repository has (in a workflow: `fetch-depth: 0`), a folder that starts with `./`, or `cluster`".to_owned()
}

/// Standard output of a command that must work.
fn text(output: Output, name: &str) -> anyhow::Result<String> {
    if !output.status.success() {
        let text = format!(
            "git cannot read the CRDs of `{name}`: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        return Err(unreadable(text, "check the repository with `git fsck`"));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut git = command(root);
    kbr_programs::git::run(git.args(arguments), b"").map_err(|error| {
        unreadable(
            format!("cannot run git: {error}"),
            "install git, or compare with a folder",
        )
    })
}
