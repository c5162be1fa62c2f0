//! The command itself, in a new project for each CRD.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::collection::Entry;
use super::program::Module;
use super::results::{self, digest};

/// Checks that `kbr create api --from-crd` writes the types of `modules`, or refuses a kind in lower case.
///
/// # Errors
/// It fails, or writes other files.
pub fn check(entry: &Entry, modules: &[Module]) -> Result<(), String> {
    let texts: String = modules.iter().map(|module| module.text.as_str()).collect();
    let name = digest(&format!("{}{texts}", entry.text));
    let known = super::folder().join("imported").join(&name);
    if known.exists() {
        return Ok(());
    }
    let project = super::folder().join("project");
    match create(&project, entry) {
        Err(why) if is_lower_case(entry) && why.contains("begins in lower case") => {}
        created => {
            created?;
            let written = sources(&project.join("api/src"));
            if let Some(module) = modules
                .iter()
                .find(|module| !written.contains(&module.text))
            {
                return Err(format!("no file has the types of {}", module.version));
            }
        }
    }
    results::write(&known, "");
    Ok(())
}

/// Imports a CRD into a new project.
fn create(project: &Path, entry: &Entry) -> Result<(), String> {
    fs::remove_dir_all(project).ok();
    results::write(&project.join("crd.yaml"), &entry.text);
    kbr(project, "init --domain example.com --project-name ships")?;
    kbr(project, "create api --from-crd crd.yaml --controller=false")
}

/// The command refuses such kinds.
pub fn is_lower_case(entry: &Entry) -> bool {
    let kind = &entry.definition.kind;
    kind.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Runs kbr in a project.
///
/// # Errors
/// It fails; what it says.
pub fn kbr(project: &Path, arguments: &str) -> Result<(), String> {
    let mut kbr = Command::new(super::kbr());
    let kbr = kbr
        .args(arguments.split(' '))
        .current_dir(project)
        .env("CARGO_TARGET_DIR", super::folder().join("build"))
        .stdin(Stdio::null());
    let Output { status, stderr, .. } = kbr.output().expect("kbr runs");
    if status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&stderr).into_owned())
}

/// The texts of all files below a folder.
fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else {
            texts.push(fs::read_to_string(&path).expect("UTF-8"));
        }
    }
    texts
}
