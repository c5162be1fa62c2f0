//! A folder in which commands run.

use std::collections::BTreeMap;

use crate::support::{shell, stderr, tree, write};

pub type Tree = BTreeMap<String, Vec<u8>>;

/// A folder in which the commands of one sequence have run; its name is the project's name.
pub struct Project {
    folder: tempfile::TempDir,
    /// The commands that succeeded.
    pub commands: Vec<String>,
}

impl Project {
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("captains")).expect("a folder");
        Project {
            folder,
            commands: Vec::new(),
        }
    }

    /// A new folder with nothing but PROJECT.
    pub fn with(project: &[u8]) -> Self {
        let new = Project::empty();
        write(&new.root().join("PROJECT"), project);
        new
    }

    pub fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("captains")
    }

    pub fn tree(&self) -> Tree {
        tree(&self.root())
    }

    /// Runs a command, which succeeds or changes nothing.
    pub fn try_run(&mut self, command: &str) {
        let before = self.tree();
        let output = shell(&self.root(), command);
        if output.status.success() {
            self.commands.push(command.to_owned());
        } else {
            assert_eq!(
                output.status.code(),
                Some(1),
                "`{command}`: {}",
                stderr(&output, &self.root())
            );
            assert!(
                self.tree() == before,
                "`{command}` failed and changed something"
            );
        }
    }

    pub fn run(&self, command: &str) {
        let output = shell(&self.root(), command);
        assert!(
            output.status.success(),
            "`{command}`: {}",
            stderr(&output, &self.root())
        );
    }

    /// Runs all commands again.
    pub fn repeat(&self, commands: &[String]) {
        for command in commands {
            self.run(command);
        }
    }
}

#[track_caller]
pub fn assert_same(found: &Tree, expected: &Tree, what: &str, project: &Project) {
    let paths = found.keys().chain(expected.keys());
    let mut differing: Vec<_> = paths
        .filter(|path| found.get(*path) != expected.get(*path))
        .collect();
    differing.sort_unstable();
    differing.dedup();
    let commands = project.commands.join("\n");
    assert!(
        differing.is_empty(),
        "{what}: {differing:?} differ after\n{commands}"
    );
}
