//! A folder with a store for each test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::archives::PROGRAMS;

pub struct Place {
    root: TempDir,
}

impl Place {
    /// The store does not exist yet.
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Place { root }
    }

    /// With these versions in the store.
    pub fn with(names: &[&str]) -> Self {
        let place = Place::new();
        for name in names {
            place.write_programs(&format!("store/k8s/{name}"), name);
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn write_programs(&self, folder: &str, text: &str) {
        let programs = PROGRAMS.map(|name| self.path(folder).join(name));
        fs::create_dir_all(self.path(folder)).unwrap();
        for path in programs {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
        }
    }

    /// `kbr envtest` with these words, the store of this place, and nothing of the user's environment but PATH.
    pub fn kbr(&self, words: &str) -> Command {
        let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
        kbr.arg("envtest").args(words.split_whitespace());
        kbr.arg("--store").arg(self.path("store"));
        self.isolate(&mut kbr);
        kbr
    }

    /// Removes the user's environment.
    pub fn isolate(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .current_dir(self.root.path())
            .stdin(Stdio::null());
    }

    /// The names of the versions in the store.
    pub fn versions(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("store/k8s")) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Every file and folder of this place, with the contents of files.
    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(self.root.path(), &mut found);
        found
    }

    pub fn assert_complete(&self, name: &str) {
        for program in PROGRAMS {
            let path = self.path("store/k8s").join(name).join(program);
            let text = fs::read(&path).unwrap();
            assert!(text.starts_with(format!("#!/bin/sh\necho {name}\n").as_bytes()));
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o222, 0, "{mode:o}");
        }
    }
}

/// The whole content of `folder`. A folder and a link have no content here.
fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        let text = if kind.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        if kind.is_dir() {
            walk(&path, found);
        }
        found.insert(path, text);
    }
}

/// An address where no server is.
pub const OFFLINE: &str = "http://127.0.0.1:1/index.yaml";

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts the exit code and standard output; returns standard error.
#[track_caller]
pub fn check(output: &Output, code: i32, stdout: &str) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(text(&output.stdout), stdout, "{stderr}");
    stderr
}
