//! Applies objects, as kbr.

use std::io::Write;
use std::process::{Output, Stdio};

use anyhow::bail;
use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use super::logs::indented;
use super::say;

/// Applies `objects`, on the side of the server; what kbr applied before, it may change. `what` they are is for the error.
pub fn apply(plane: &ControlPlane, objects: &[Value], what: &str) -> anyhow::Result<()> {
    // Nothing is an error for kubectl.
    if objects.is_empty() {
        return Ok(());
    }
    let mut kubectl = plane
        .kubectl()
        .args([
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=kbr",
            "-f",
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    if let Some(mut stdin) = kubectl.stdin.take() {
        // If kubectl ends early, it says why.
        let _ = stdin.write_all(list.to_string().as_bytes());
    }
    let output = kubectl.wait_with_output()?;
    if !output.status.success() {
        bail!(
            "the API server does not accept the {what}:\n{}",
            said(&output)
        );
    }
    Ok(())
}

/// Tells the user how many there are now: `2 CRDs`.
pub fn say_installed(count: usize, what: &str) {
    let s = if count == 1 { "" } else { "s" };
    say("installed", &format!("{count} {what}{s}"));
}

/// All that a program printed, a little to the right.
pub fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    indented(String::from_utf8_lossy(&text).lines())
}
