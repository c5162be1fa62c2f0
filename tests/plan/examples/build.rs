//! Builds releases of the examples, in one folder, so that their libraries are built once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::release::{Release, folder};
use crate::support::{KBR, repository, tree, write};

/// A text that a release replaces.
#[derive(Clone, Deserialize)]
pub struct Edit {
    pub file: String,
    /// It is in the file once.
    pub from: String,
    pub to: String,
}

/// A release of an example with these edits.
pub fn build(example: &str, name: &str, edits: &[Edit]) -> Release {
    let project = folder().join("project");
    place(example, edits, &project);
    let target = folder().join("build");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--locked"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", &target)
        // Set for this repository by its .cargo/config.toml; a project has its own.
        .env_remove("K8S_OPENAPI_ENABLED_VERSION");
    assert!(cargo.status().unwrap().success(), "{example} {name}");
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let package = manifest["package"]["name"].as_str().unwrap();
    let program = folder().join(format!("{example}-{name}"));
    fs::copy(target.join("debug").join(package), &program).unwrap();
    let install = folder().join(format!("{example}-{name}.yaml"));
    fs::write(&install, rendered(&project)).unwrap();
    Release { program, install }
}

/// Makes the project the example with these edits. Other files keep their times, by which cargo knows what to compile.
fn place(example: &str, edits: &[Edit], project: &Path) {
    let mut wanted = files(&repository().join("examples").join(example));
    for Edit { file, from, to } in edits {
        let text = wanted.get_mut(file).unwrap_or_else(|| panic!("{file}"));
        let (before, from) = (String::from_utf8(text.clone()).unwrap(), from.trim());
        assert_eq!(before.matches(from).count(), 1, "`{from}` is there once");
        *text = before.replace(from, to.trim()).into_bytes();
    }
    let present = files(project);
    for path in present.keys().filter(|it| !wanted.contains_key(*it)) {
        fs::remove_file(project.join(path)).unwrap();
    }
    for (path, text) in wanted {
        if present.get(&path) != Some(&text) {
            write(&project.join(path), &text);
        }
    }
    let library = project.join("third_party");
    if !library.exists() {
        symlink(repository().join("examples/third_party"), library).unwrap();
    }
}

/// The files of a project, without the library and what was built.
fn files(project: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(project).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_file() {
            all.insert(name, fs::read(path).unwrap());
        } else if !["target", "third_party"].contains(&&*name) {
            let below = tree(&path).into_iter();
            all.extend(below.map(|(file, text)| (format!("{name}/{file}"), text)));
        }
    }
    all
}

/// What installs the project, with a JSON object in each document.
fn rendered(project: &Path) -> String {
    let mut kbr = Command::new(KBR);
    let assets = kbr.args(["envtest", "path"]).output().unwrap().stdout;
    let assets = String::from_utf8(assets).unwrap();
    let mut kubectl = Command::new(Path::new(assets.trim()).join("kubectl"));
    let output = kubectl.arg("kustomize").arg(project.join("config/default"));
    let output = output.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let documents = serde_yaml_ng::Deserializer::from_slice(&output.stdout);
    let documents = documents.map(|it| Value::deserialize(it).unwrap());
    documents.fold(String::new(), |text, it| {
        text + "---\n" + &it.to_string() + "\n"
    })
}
