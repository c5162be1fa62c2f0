//! Where the timeline of a test is kept: in `target/simulate/`, until the test passes. Whatever goes wrong with that does not matter to it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
};

/// Writes the timeline of the test on this thread; returns its path, as it is to be shown.
pub(in crate::simulate) fn keep(page: &str) -> Option<String> {
    let (target, file) = place()?;
    fs::create_dir_all(file.parent()?).ok()?;
    fs::write(&file, page).ok()?;
    Some(shown(&target, &file, &env::current_dir().ok()?))
}

/// Removes the timeline of an earlier failure of the test on this thread.
pub(in crate::simulate) fn remove() {
    if let Some((_, file)) = place() {
        // Most tests have none.
        let _ = fs::remove_file(file);
    }
}

/// The target directory, and the file of the test in it.
fn place() -> Option<(PathBuf, PathBuf)> {
    let test = thread::current().name().map(name)?;
    let target = target(&env::current_exe().ok()?)?.to_owned();
    let file = target.join("simulate").join(format!("{test}.html"));
    Some((target, file))
}

/// The target directory, in which cargo has put this program: cargo marks it, unless it was there before.
fn target(program: &Path) -> Option<&Path> {
    let mut folders = program.ancestors();
    let is_marked = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let deps = program.parent().filter(|folder| folder.ends_with("deps"));
    let around = || deps?.parent()?.parent();
    folders.find(is_marked).or_else(around)
}

/// The name of a test as that of a file, which archives of CI accept, too.
fn name(test: &str) -> String {
    let is_safe = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    let name = test.replace("::", ".");
    name.replace(|letter| !is_safe(letter), "-")
}

/// A path in the target directory, for someone in this folder: cargo is mostly run beside its target directory, and runs tests below.
fn shown(target: &Path, file: &Path, folder: &Path) -> String {
    let workspace = target.parent().filter(|around| {
        let is_workspace = around.join("Cargo.toml").is_file();
        is_workspace && folder.starts_with(around)
    });
    let inside = workspace.and_then(|around| file.strip_prefix(around).ok());
    inside.unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_test_is_that_of_a_file() {
        for (test, file) in [
            ("story::a_ship_sails", "story.a_ship_sails"),
            ("schiff::fährt", "schiff.fährt"),
            ("../a b:c\\d", "..-a-b-c-d"),
        ] {
            assert_eq!(name(test), file);
        }
    }

    #[test]
    fn the_target_directory_is_the_one_that_cargo_has_marked() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("target/triple/debug/deps/captain-0123");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let around = folder.path().join("target/triple");
        assert_eq!(target(&program), Some(&*around));
        let marked = folder.path().join("target");
        fs::write(marked.join("CACHEDIR.TAG"), "").unwrap();
        assert_eq!(target(&program), Some(&*marked));
        assert_eq!(target(Path::new("/usr/bin/captain")), None);
    }

    #[test]
    fn a_path_is_shown_from_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let file = target.join("simulate/a.html");
        let inside = folder.path().join("crates/captain");
        let whole = file.display().to_string();
        assert_eq!(shown(&target, &file, &inside), whole);
        fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(shown(&target, &file, &inside), "target/simulate/a.html");
        assert_eq!(shown(&target, &file, Path::new("/")), whole);
    }
}
