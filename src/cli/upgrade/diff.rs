//! `kbr upgrade --diff 0.3.0..0.4.0`: what changed in the scaffolds between two releases, for this project.

use std::path::Path;
use std::process::ExitCode;

use crate::embedded;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::library;
use kbr_scaffold::upgrade::{self, Tree};
use kbr_scaffold::workdir;

/// Prints the difference on stdout.
///
/// # Errors
/// A release is unknown; stdout cannot be written.
pub fn run(root: &Path, releases: &str) -> anyhow::Result<ExitCode> {
    let pair = releases.split_once("..");
    let is_release = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let Some((from, to)) = pair.filter(|(from, to)| is_release(from) && is_release(to)) else {
        let text = format!("expected two releases, not `{releases}`");
        let error = Diagnostic::new(text);
        return Err(error
            .help("pass two releases: `--diff 0.3.0..0.4.0`")
            .into());
    };
    let project = workdir::load(root)?;
    let from = upgrade::tree(&project, &embedded::find(from)?)?;
    let to = upgrade::tree(&project, &embedded::find(to)?)?;
    for path in upgrade::paths(&from, &to) {
        if library::has(path) || from.get(path) == to.get(path) {
            continue;
        }
        output::data(&kbr_manifests::diff(&change(path, &from, &to)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn change(path: &str, from: &Tree, to: &Tree) -> Change {
    let bytes = |tree: &Tree| tree.get(path).map(|file| file.text.clone().into_bytes());
    let (before, after) = (bytes(from), bytes(to));
    let verb = if after.is_some() {
        Verb::Update
    } else {
        Verb::Remove
    };
    Change {
        path: path.to_owned(),
        verb,
        before,
        after: after.unwrap_or_default(),
    }
}
