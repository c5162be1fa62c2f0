//! The command itself, in a new project for each CRD.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::collection::Entry;
use super::program::Module;
use super::results::{self, digest};

/// Whether `kbr create api --from-crd` writes the types of `modules`, or what it prints instead.
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
    fs::remove_dir_all(&project).ok();
    fs::create_dir_all(&project).map_err(|error| error.to_string())?;
    kbr(
        &project,
        &["init", "--domain", "example.com", "--project-name", "ships"],
    )?;
    results::write(&project.join("crd.yaml"), &entry.text);
    let create = [
        "create",
        "api",
        "--from-crd",
        "crd.yaml",
        "--controller=false",
    ];
    match kbr(&project, &create) {
        Err(why) if is_lower_case(entry) && why.contains("begins in lower case") => {
            results::write(&known, &why);
            return Ok(());
        }
        created => created?,
    }
    let written = sources(&project.join("api/src"));
    for module in modules {
        if !written.contains(&module.text) {
            return Err(format!(
                "the command wrote no file with the types of {}",
                module.version
            ));
        }
    }
    results::write(&known, "");
    Ok(())
}

/// The command refuses such kinds.
fn is_lower_case(entry: &Entry) -> bool {
    let kind = &entry.definition.kind;
    kind.starts_with(|first: char| first.is_ascii_lowercase())
}

fn kbr(project: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut kbr = Command::new(super::kbr());
    let kbr = kbr
        .args(arguments)
        .current_dir(project)
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
