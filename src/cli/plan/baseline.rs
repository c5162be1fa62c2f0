//! Today's release of a project: that of a git ref, built beside the project.

use std::path::Path;
use std::{fs, io};

use anyhow::Context as _;
use kbr_host::diagnostic::Diagnostic;
use kbr_manifests::overlay;
use kbr_programs::{cargo, git};
use kbr_scaffold::workdir;
use serde_json::Value;

use super::super::dist;

/// Today's release.
pub struct Today {
    /// The ref, the tag, or the command.
    pub name: String,
    /// What installed it; empty if that is not known.
    pub install: Vec<Value>,
    /// The operator, and its arguments.
    pub command: Vec<String>,
}

/// Where earlier releases are built, in the project.
const FOLDER: &str = "target/kbr-plan";

/// Builds the release of `reference`, or of the newest tag; `None` if there is neither.
///
/// # Errors
/// The ref is no commit, or its project does not build.
pub fn build(root: &Path, reference: Option<&str>, overlay: &str) -> anyhow::Result<Option<Today>> {
    let Some(name) = reference.map(str::to_owned).or_else(|| newest_tag(root)) else {
        return Ok(None);
    };
    let commit = git(
        root,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ],
    )
    .ok_or_else(|| {
        Diagnostic::new(format_args!("git has no commit `{name}`"))
            .help("pass a tag, branch or commit that this repository has")
    })?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let folder_of_overlay = format!("{commit}:./{overlay}");
    if git(root, &["cat-file", "-e", &folder_of_overlay]).is_none() {
        return Err(
            Diagnostic::new(format_args!("the release `{name}` has no `{overlay}`"))
                .help(
                    "name a release that has it with --against, or another overlay with --overlay",
                )
                .into(),
        );
    }
    let folder = root.join(FOLDER).join(&commit);
    let sources = folder.join("sources");
    let program = folder.join("operator");
    if !program.is_file() {
        let archive = git(root, &["archive", "--format=tar", &commit]);
        let archive = archive.with_context(|| format!("git cannot read the files of `{name}`"))?;
        unpack(&archive, &sources)
            .with_context(|| format!("cannot write `{}`", sources.display()))?;
        let project = workdir::load(&sources);
        let project = project.with_context(|| format!("in the release `{name}`"))?;
        // Not in the folder of the project's own build: cargo takes members of two workspaces with the same names for the same, and goes
        // by the time of their files.
        let target = root.join(FOLDER).join("target");
        let built = cargo::build_in(&sources, &[&project.head.name], &target)?;
        let built = built.first().context("cargo built no operator")?;
        fs::copy(built, &program)
            .with_context(|| format!("cannot write `{}`", program.display()))?;
    }
    Ok(Some(Today {
        install: overlay::render(dist::kubectl()?(), &sources, overlay)?,
        name,
        command: vec![program.display().to_string()],
    }))
}

/// Each file gets the time of now, so that cargo does not take it for that of a release that was built before.
fn unpack(archive: &[u8], sources: &Path) -> io::Result<()> {
    match fs::remove_dir_all(sources) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(sources)?;
    let mut archive = tar::Archive::new(archive);
    archive.set_preserve_mtime(false);
    archive.unpack(sources)
}

fn newest_tag(root: &Path) -> Option<String> {
    let tag = git(root, &["describe", "--tags", "--abbrev=0"])?;
    Some(String::from_utf8_lossy(&tag).trim().to_owned())
}

/// What git prints; `None` if it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = git::command(root);
    let output = git::run(command.args(arguments), b"").ok()?;
    output.status.success().then_some(output.stdout)
}
