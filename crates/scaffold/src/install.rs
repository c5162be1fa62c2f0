//! How kbr is installed: the only place that says so.

use kbr_host::notation::Version;

/// The first release that a registry has; `None` while there is none. Until then anyone may publish a crate called `kbr`, so no command
/// names it. An archived release keeps its workflows, so this is never an earlier release than the one that sets it.
const FIRST_PUBLISHED: Option<&str> = None;

/// Installs the release in `$KBR_VERSION`, or the newest one.
const COMMAND: &str = "cargo install kbr ${KBR_VERSION:+--version $KBR_VERSION} --locked";

/// The shell command with which the workflows of a project of the release `version` install kbr; empty if a variable of the repository
/// has to name it.
pub fn command(version: &str) -> &'static str {
    if is_published(version) { COMMAND } else { "" }
}

/// The shell command with which the docs of the release `version` install kbr.
pub fn shown(version: &str) -> &'static str {
    if is_published(version) {
        "cargo install kbr --locked"
    } else {
        "cargo install --locked --path ."
    }
}

/// How to install the release `version`, for the `help:` of an error.
pub fn hint(version: &str) -> String {
    if is_published(version) {
        format!("`cargo install kbr --version {version} --locked`")
    } else {
        format!("install kbr {version} as you installed this one")
    }
}

fn is_published(version: &str) -> bool {
    let number = Version::of_release;
    FIRST_PUBLISHED.is_some_and(|first| number(first) <= number(version))
}
