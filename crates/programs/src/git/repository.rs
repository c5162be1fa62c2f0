//! Whether git can be used in a folder without running, reading or writing what only the sender of the folder has chosen.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::include;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::{owner, regular};

/// Parts of a configuration, in lower case, that run programs when git compares files, or that make git read other files.
const UNSAFE: [&str; 3] = ["[filter", "attributesfile", "excludesfile"];

/// Parts of a repository that git writes for kbr.
const WRITTEN: [&str; 2] = ["index", "objects"];

/// A repository that may be used.
#[derive(Debug)]
pub struct Checked {
    /// The project's root.
    root: PathBuf,
    /// The top of the work tree, and its `.git`; `None` if the user's `GIT_DIR` says it.
    found: Option<(PathBuf, PathBuf)>,
}

impl Checked {
    /// A call of git in the project, which uses this repository and no other: git would pass over a `.git` that it cannot use, and
    /// take a folder above for a repository. Of an object that is missing in a partial clone, no server is asked: the configuration
    /// names it, and how it is called.
    pub fn command(&self) -> Command {
        let mut git = super::command(&self.root);
        git.env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "");
        if let Some((top, dot_git)) = &self.found {
            git.env("GIT_DIR", dot_git).env("GIT_WORK_TREE", top);
        }
        git
    }
}

/// The repository of the project at `root`: that of the nearest folder with `.git`. Runs nothing.
///
/// # Errors
/// It is configured to run programs, or belongs to another folder or another user.
pub fn check(root: &Path) -> anyhow::Result<Option<Checked>> {
    let root =
        fs::canonicalize(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    // The user's choice, as in a hook.
    if env::var_os("GIT_DIR").is_some() {
        return Ok(Some(Checked { root, found: None }));
    }
    let dot_git = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
    let Some(top) = root.ancestors().find(dot_git).map(Path::to_owned) else {
        return Ok(None);
    };
    let dot_git = top.join(".git");
    for folder in folders(&dot_git)? {
        // git itself does not look at the owner of a repository that it is given.
        owner::check(&top, &folder, &fs::metadata(&folder)?)?;
        check_folder(&folder)?;
    }
    let found = Some((top, dot_git));
    Ok(Some(Checked { root, found }))
}

/// The folders of the repository: that of the work tree, and the one that it shares with others.
fn folders(dot_git: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = || format!("cannot read `{}`", dot_git.display());
    let elsewhere = || {
        unusable(format!(
            "`{}` points to another folder's repository",
            dot_git.display()
        ))
    };
    if fs::symlink_metadata(dot_git).with_context(shown)?.is_dir() {
        // Only the folder of a second work tree has this file.
        return match fs::symlink_metadata(dot_git.join("commondir")) {
            Ok(_) => Err(elsewhere()),
            Err(_) => Ok(vec![dot_git.to_owned()]),
        };
    }
    let text = regular::text(dot_git).with_context(shown)?;
    let path = text.trim_end().strip_prefix("gitdir: ").unwrap_or_default();
    let folder = dot_git.with_file_name("").join(path);
    let line = |name| regular::text(&folder.join(name)).map(|it| it.trim_end().to_owned());
    // A work tree of `git worktree` is named in its repository. A submodule is in that of a folder above, and git says where its files
    // are.
    let is_worktree = folder.parent().is_some_and(|it| it.ends_with("worktrees"));
    let names_back = || line("gitdir").is_ok_and(|back| same(&folder.join(back), dot_git));
    let real = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
    let mut above = dot_git.ancestors().skip(2);
    let is_submodule = above.any(|it| real.starts_with(it.join(".git/modules")));
    if !(is_worktree && names_back() || is_submodule) {
        return Err(elsewhere());
    }
    let common = line("commondir").map(|common| folder.join(common));
    Ok([Ok(folder), common].into_iter().flatten().collect())
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

fn check_folder(folder: &Path) -> anyhow::Result<()> {
    for path in WRITTEN.map(|name| folder.join(name)) {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Err(unusable(format!("`{}` is a link", path.display())));
        }
    }
    for name in ["config", "config.worktree"] {
        let path = folder.join(name);
        let text = match regular::read(&path) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(unusable(format!(
                    "cannot read `{}`: {error}",
                    path.display()
                )));
            }
        };
        let lower = text.to_lowercase();
        let temporary = env::var_os(include::RUNNER_TEMP).map(PathBuf::from);
        let found = match UNSAFE.iter().find(|part| lower.contains(*part)) {
            Some(found) => found.trim_start_matches('['),
            None if include::are_harmless(&text, folder, temporary.as_deref()) => continue,
            None => "include",
        };
        let text = format!(
            "`{}` sets `{found}`, which lets the repository choose programs that git runs or files that it reads",
            path.display()
        );
        return Err(unusable(text));
    }
    Ok(())
}

fn unusable(text: String) -> anyhow::Error {
    Diagnostic::new(text)
        .help("to upgrade without git, commit your changes first, then pass `--allow-dirty`")
        .into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The error for a repository with these files, where a text is the content and `>` a link.
    fn error(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match text.strip_prefix('>') {
                Some(target) => symlink(target, path).unwrap(),
                None => fs::write(path, text).unwrap(),
            }
        }
        fs::create_dir_all(folder.path().join("project/src")).unwrap();
        let checked = check(&folder.path().join("project"));
        checked.map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_repository_that_configures_nothing_to_run_is_used() {
        assert_eq!(error(&[]), "");
        assert_eq!(error(&[(".git/config", "[core]\n\tbare = false\n")]), "");
        assert_eq!(error(&[(".git/HEAD", "ref: refs/heads/main\n")]), "");
    }

    #[test]
    fn a_repository_with_filters_or_other_files_is_not_used() {
        for config in [
            "[filter \"a\"]\n\tclean = touch a\n",
            "[Filter.a]\nclean = touch a\n",
            "[include]\n\tpath = ../shared\n",
            "[core]\n\tattributesFile = /dev/zero\n",
        ] {
            assert!(
                error(&[(".git/config", config)]).contains("config` sets"),
                "{config}"
            );
            let in_project = error(&[("project/.git/config.worktree", config)]);
            assert!(in_project.contains("config.worktree` sets"), "{config}");
        }
    }

    #[test]
    fn what_git_would_write_elsewhere_is_not_passed_to_it() {
        for part in [".git/index", ".git/objects"] {
            let error = error(&[(".git/config", ""), (part, ">/dev/null")]);
            assert!(error.contains(&format!("{part}` is a link")), "{error}");
        }
        assert!(error(&[(".git/config", ">/dev/zero")]).contains("cannot read"));
    }

    #[test]
    fn the_repository_of_another_folder_is_not_used() {
        let config = ("other/.git/config", "[core]\n\tbare = false\n");
        let dot_git = (".git", "gitdir: other/.git\n");
        let common = [(".git/config", ""), (".git/commondir", "../other/.git\n")];
        assert!(error(&common).contains("points to another folder"));
        assert!(error(&[config, dot_git]).contains("points to another folder"));
        assert!(error(&[config, (".git", ">other/.git")]).contains("cannot read"));
        let worktree = "gitdir: other/.git/worktrees/a\n";
        let names = |back| {
            error(&[
                config,
                (".git", worktree),
                ("other/.git/worktrees/a/gitdir", back),
                ("other/.git/worktrees/a/commondir", "../..\n"),
            ])
        };
        assert_eq!(names("../../../../.git\n"), "");
        assert!(names("/b/.git\n").contains("points to another folder"));
    }
}
