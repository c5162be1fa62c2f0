//! The git repository of a project: whether it is clean, and its unresolved conflicts.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::io::ErrorKind;
use std::path::Path;

use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_programs::git::{self, Checked};
use kbr_scaffold::upgrade::Conflict;

/// A project in a git repository.
#[derive(Debug)]
pub struct Repository {
    git: Checked,
    /// The root relative to the repository: `operators/captains/`, or empty.
    prefix: String,
}

impl Repository {
    /// The repository that contains the project at `root`; `None` without a repository or without git.
    ///
    /// # Errors
    /// It cannot be used: see [`git::check`].
    pub fn find(root: &Path) -> anyhow::Result<Option<Self>> {
        let Some(git) = git::check(root)? else {
            return Ok(None);
        };
        let mut parse = git.command();
        parse.args(["rev-parse", "--show-toplevel", "--show-prefix"]);
        let output = match git::run(&mut parse, b"") {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("rev-parse", &error)),
        };
        let printed = String::from_utf8(output.stdout).unwrap_or_default();
        let Some((top, prefix)) = printed.split_once('\n').filter(|_| output.status.success())
        else {
            return Ok(None);
        };
        let prefix = prefix.trim_end_matches('\n');
        // `core.worktree` may lead elsewhere.
        let named = Path::new(top).join(prefix).canonicalize();
        if !named.is_ok_and(|named| root.canonicalize().is_ok_and(|root| named == root)) {
            return Err(Diagnostic::new(format_args!(
                "git uses the work tree `{top}` for `{}`",
                root.display()
            ))
            .help("to upgrade without git, pass `--allow-dirty`")
            .into());
        }
        Ok(Some(Repository {
            git,
            prefix: prefix.to_owned(),
        }))
    }

    /// The same for a command that can do without: a repository that cannot be used is a warning.
    pub fn find_if_usable(root: &Path) -> Option<Self> {
        Self::find(root).unwrap_or_else(|error| {
            output::failure("warning", &error.context("upgrading without git"));
            None
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
                "--no-renames",
                "--ignore-submodules=all",
                "--",
                ".",
            ],
            "",
        )?;
        Ok(status.lines().map(str::to_owned).collect())
    }

    /// The files of the project with conflicts that git knows.
    ///
    /// # Errors
    /// git failed.
    pub fn unmerged(&self) -> anyhow::Result<Vec<String>> {
        let entries = self.run(&["ls-files", "--unmerged", "-z"], "")?;
        let paths = entries
            .split('\0')
            .filter_map(|entry| entry.split_once('\t'));
        let mut paths: Vec<String> = paths.map(|(_, path)| path.to_owned()).collect();
        paths.dedup();
        Ok(paths)
    }

    /// The entries of the index for the files at `paths`, as `git update-index --index-info` reads them.
    ///
    /// # Errors
    /// git failed.
    pub fn entries<'a>(&self, paths: impl Iterator<Item = &'a str>) -> anyhow::Result<String> {
        let arguments = ["ls-files", "--stage", "--full-name", "--"];
        self.run(&arguments.into_iter().chain(paths).collect::<Vec<_>>(), "")
    }

    /// Records the conflicts as a merge does, with the three versions of each file, so that `git status` shows them and `git
    /// mergetool` resolves them. `entries` are those of the index before.
    ///
    /// # Errors
    /// git failed.
    pub fn mark(&self, conflicts: &[Conflict], entries: &str) -> anyhow::Result<()> {
        let mut marked = String::new();
        for conflict in conflicts {
            let path = self.in_repository(&conflict.path);
            let before = entries
                .lines()
                .find(|entry| entry.ends_with(&format!("\t{path}")));
            let mode = before
                .and_then(|entry| entry.split(' ').next())
                .unwrap_or("100644");
            let stages = [
                conflict.ancestor.as_deref(),
                Some(&conflict.ours),
                Some(&conflict.new),
            ];
            for (stage, content) in (1..).zip(stages) {
                if let Some(content) = content {
                    let hash = self.run(&["hash-object", "-w", "--stdin"], content)?;
                    writeln!(marked, "{mode} {} {stage}\t{path}", hash.trim_end())?;
                }
            }
        }
        let paths = conflicts.iter().map(|conflict| conflict.path.as_str());
        self.replace(paths, &marked)
    }

    /// Records that the conflicts in the files at `paths` are resolved.
    ///
    /// # Errors
    /// git failed.
    pub fn resolve(&self, paths: &[String]) -> anyhow::Result<()> {
        let arguments = ["update-index", "--add", "--remove", "--"];
        let paths = paths.iter().map(String::as_str);
        self.run(&arguments.into_iter().chain(paths).collect::<Vec<_>>(), "")
            .map(drop)
    }

    /// Replaces the entries of the index for the files at `paths`.
    ///
    /// # Errors
    /// git failed.
    pub fn replace<'a>(
        &self,
        paths: impl Iterator<Item = &'a str>,
        entries: &str,
    ) -> anyhow::Result<()> {
        let zeros = self.run(&["hash-object", "--stdin"], "")?.trim_end().len();
        let mut input = String::new();
        let named: BTreeSet<String> = paths.map(|path| self.in_repository(path)).collect();
        for path in &named {
            writeln!(input, "0 {}\t{path}", "0".repeat(zeros))?;
        }
        let is_named = |entry: &&str| {
            let path = entry.split_once('\t').map_or("", |(_, path)| path);
            named.contains(path)
        };
        for entry in entries.lines().filter(is_named) {
            writeln!(input, "{entry}")?;
        }
        self.run(&["update-index", "--index-info"], input).map(drop)
    }

    fn in_repository(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    fn run(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> anyhow::Result<String> {
        let name = arguments.first().unwrap_or(&"");
        let output = git::run(self.git.command().args(arguments), input.as_ref())
            .map_err(|error| failed(name, &error))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(failed(name, &why.trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn failed(command: &str, why: &dyn Display) -> anyhow::Error {
    Diagnostic::new(format_args!("`git {command}` failed"))
        .details(why)
        .help("to upgrade without git, pass `--allow-dirty`")
        .into()
}
