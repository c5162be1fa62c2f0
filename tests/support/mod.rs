//! Helpers of the tests: a `kbr` isolated from this machine, and trees of files as data.

#![allow(dead_code)] // each test target uses its part

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The `kbr` that was built for this test run.
pub const KBR: &str = env!("CARGO_BIN_EXE_kbr");

/// The root folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A shell that runs `script` in `folder` and finds `kbr`, in an otherwise clean environment.
pub fn shell(folder: &Path, script: &str) -> Output {
    let bin = Path::new(KBR)
        .parent()
        .expect("the binary lies in a folder");
    Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output()
        .expect("sh is there")
}

/// Every file below `root`, by its path relative to it. A link counts as its target's path.
pub fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    walk(root, root, &mut files);
    files
}

fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let name = relative(root, &path);
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            files.insert(name, target.as_os_str().as_encoded_bytes().to_vec());
        } else if path.is_dir() {
            walk(root, &path, files);
        } else {
            files.insert(name, fs::read(&path).expect("a readable file"));
        }
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).expect("a path below its root");
    path.to_str().expect("UTF-8").to_owned()
}

/// Copies every file below `from` to the same place below `to`.
pub fn copy(from: &Path, to: &Path) {
    for (path, text) in tree(from) {
        write(&to.join(path), &text);
    }
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a writable folder");
    fs::write(path, text).expect("a writable file");
}

/// Standard error as text, with `folder` written as `[folder]`.
pub fn stderr(output: &Output, folder: &Path) -> String {
    replaced(&output.stderr, folder)
}

/// Standard output as text, with `folder` written as `[folder]`.
pub fn stdout(output: &Output, folder: &Path) -> String {
    replaced(&output.stdout, folder)
}

fn replaced(text: &[u8], folder: &Path) -> String {
    let folder = folder.to_str().expect("UTF-8");
    String::from_utf8_lossy(text).replace(folder, "[folder]")
}

/// The folders directly below `folder`, sorted.
pub fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let mut folders: Vec<_> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// A copy of an example, which is a complete project.
pub fn example(name: &str) -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let source = repository().join("examples").join(name);
    for part in [
        "PROJECT",
        "Cargo.toml",
        "Cargo.lock",
        "api",
        "config",
        "src",
        "third_party",
    ] {
        let copied = Command::new("cp")
            .arg("-R")
            .arg(source.join(part))
            .arg(project.path())
            .status();
        assert!(copied.unwrap().success(), "{part}");
    }
    project
}
