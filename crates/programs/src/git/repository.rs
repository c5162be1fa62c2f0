//! Whether git can be used in a folder without running, reading or writing what only the sender of the folder has chosen.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::include;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// Parts of a configuration, in lower case, that run programs when git compares files, or that make git read other files.
const UNSAFE: [&str; 3] = ["[filter", "attributesfile", "excludesfile"];

/// Files of a repository that git opens without looking at what they are.
const OPENED: [&str; 6] = [
    "HEAD",
    "index",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
];

/// Files that git reads in every folder of a project.
const OF_FOLDERS: [&str; 2] = [".gitattributes", ".gitignore"];

/// Checks the repository that git would find for the project at `root`, if there is one. Runs nothing.
///
/// # Errors
/// It is configured to run programs, or belongs to another folder; git could not read it to an end.
pub fn check(root: &Path) -> anyhow::Result<()> {
    // The user's choice, as in a hook.
    if env::var_os("GIT_DIR").is_some() {
        return Ok(());
    }
    let root =
        fs::canonicalize(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let dot_git = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
    let Some(top) = root.ancestors().find(dot_git) else {
        return Ok(());
    };
    for folder in folders(&top.join(".git"))? {
        check_folder(&folder)?;
    }
    for folder in root.ancestors().take_while(|it| it.starts_with(top)) {
        check_files(folder, &OF_FOLDERS)?;
    }
    check_below(&root)
}

/// The folders of the repository: that of the work tree, and the one that it shares with others.
fn folders(dot_git: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = || format!("cannot read `{}`", dot_git.display());
    if fs::symlink_metadata(dot_git).with_context(shown)?.is_dir() {
        return Ok(vec![dot_git.to_owned()]);
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
        let text = format!(
            "`{}` points to another folder's repository",
            dot_git.display()
        );
        return Err(unusable(text));
    }
    let common = line("commondir").map(|common| folder.join(common));
    Ok([Ok(folder), common].into_iter().flatten().collect())
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

fn check_folder(folder: &Path) -> anyhow::Result<()> {
    check_files(folder, &OPENED)?;
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

/// Checks that these files, if they exist, have an end.
fn check_files(folder: &Path, names: &[&str]) -> anyhow::Result<()> {
    for name in names {
        let path = folder.join(name);
        if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(unusable(format!("`{}` is not a file", path.display())));
        }
    }
    Ok(())
}

/// The same in every folder below this one.
fn check_below(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name() != ".git" && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            check_files(&entry.path(), &OF_FOLDERS)?;
            check_below(&entry.path())?;
        }
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
        checked.map_or_else(|error| error.to_string(), |()| String::new())
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
    fn what_has_no_end_is_not_passed_to_git() {
        for path in [
            ".git/HEAD",
            ".git/index",
            ".git/info/exclude",
            ".gitattributes",
            "project/src/.gitignore",
        ] {
            let error = error(&[(".git/config", ""), (path, ">/dev/zero")]);
            assert!(error.contains("is not a file"), "{path}: {error}");
        }
        assert!(error(&[(".git/config", ">/dev/zero")]).contains("cannot read"));
    }

    #[test]
    fn the_repository_of_another_folder_is_not_used() {
        let config = ("other/.git/config", "[core]\n\tbare = false\n");
        let dot_git = (".git", "gitdir: other/.git\n");
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
