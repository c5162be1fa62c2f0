//! The git repository of a project: whether it is clean, and its unresolved conflicts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::Conflict;

/// A project in a git repository.
#[derive(Debug)]
pub struct Repository {
    /// The project's root.
    root: PathBuf,
    /// The root relative to the repository: `operators/captains/`, or empty.
    prefix: String,
}

impl Repository {
    /// The repository that contains the project at `root`; `None` if there is none, or no git.
    pub fn find(root: &Path) -> Option<Self> {
        let mut git = command(root, &["rev-parse", "--show-prefix"]);
        let output = git.stderr(Stdio::null()).output().ok()?;
        let prefix = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| Repository {
            root: root.to_owned(),
            prefix: prefix.trim_end_matches('\n').to_owned(),
        })
    }

    /// The files of the project that are not committed, as `git status --short` shows them.
    ///
    /// # Errors
    /// git failed.
    pub fn uncommitted(&self) -> anyhow::Result<Vec<String>> {
        let status = self.run(
            &[
                "status",
                "--porcelain",
                "--untracked-files=normal",
                "--",
                ".",
            ],
            "",
        )?;
        Ok(status.lines().map(str::to_owned).collect())
    }

    /// Records the conflicts as a merge does, with the three versions of each file, so that `git status` shows them and `git
    /// mergetool` resolves them.
    ///
    /// # Errors
    /// git failed.
    pub fn mark(&self, conflicts: &[Conflict]) -> anyhow::Result<()> {
        let mut entries = String::new();
        for conflict in conflicts {
            let path = format!("{}{}", self.prefix, conflict.path);
            // Removes the entry of the file without conflicts.
            writeln!(entries, "0 {}\t{path}", "0".repeat(40))?;
            let stages = [
                conflict.ancestor.as_deref(),
                Some(&conflict.ours),
                Some(&conflict.new),
            ];
            for (stage, content) in (1..).zip(stages) {
                if let Some(content) = content {
                    let hash = self.run(&["hash-object", "-w", "--stdin"], content)?;
                    writeln!(entries, "100644 {} {stage}\t{path}", hash.trim_end())?;
                }
            }
        }
        self.run(&["update-index", "--index-info"], entries)?;
        Ok(())
    }

    /// Records that the conflicts in the files at `paths` are resolved.
    ///
    /// # Errors
    /// git failed.
    pub fn resolve(&self, paths: &[String]) -> anyhow::Result<()> {
        self.each("add", paths)
    }

    /// Takes the files at `paths` back to the last commit in the index.
    ///
    /// # Errors
    /// git failed.
    pub fn reset(&self, paths: &[String]) -> anyhow::Result<()> {
        self.each("reset", paths)
    }

    fn each(&self, command: &str, paths: &[String]) -> anyhow::Result<()> {
        let paths = paths.iter().map(String::as_str);
        let arguments: Vec<&str> = [command, "--quiet", "--"]
            .into_iter()
            .chain(paths)
            .collect();
        let arguments: Vec<&str> = match command {
            "add" => arguments
                .into_iter()
                .filter(|it| *it != "--quiet")
                .collect(),
            _ => arguments,
        };
        self.run(&arguments, "").map(drop)
    }

    fn run(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> anyhow::Result<String> {
        let mut git = command(&self.root, arguments);
        let git = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut git = git.spawn().context("cannot run `git`")?;
        if let Some(mut stdin) = git.stdin.take() {
            stdin
                .write_all(input.as_ref())
                .context("cannot write to `git`")?;
        }
        let output = git.wait_with_output().context("cannot run `git`")?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!(
                "`git {}` failed: {}",
                arguments.first().unwrap_or(&""),
                why.trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(arguments);
    git
}
