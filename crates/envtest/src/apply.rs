//! Applies objects with kbr's field manager, and deletes them.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use super::progress;
use kbr_host::diagnostic::Diagnostic;

/// Applies `objects` with server-side apply. `what` names them in the error.
pub fn apply(plane: &ControlPlane, objects: &[Value], what: &str) -> anyhow::Result<()> {
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=kbr",
    ];
    kubectl(plane, &apply, objects, what)
}

/// Deletes `objects`, and does not wait for their end.
pub fn delete(plane: &ControlPlane, objects: &[Value]) -> anyhow::Result<()> {
    let delete = ["delete", "--ignore-not-found", "--wait=false"];
    kubectl(plane, &delete, objects, "deletion")
}

fn kubectl(
    plane: &ControlPlane,
    args: &[&str],
    objects: &[Value],
    what: &str,
) -> anyhow::Result<()> {
    // kubectl fails without objects.
    if objects.is_empty() {
        return Ok(());
    }
    let mut kubectl = plane
        .kubectl()
        .args(args)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    if let Some(mut stdin) = kubectl.stdin.take() {
        // If kubectl ends early, it reports why.
        let _ = stdin.write_all(list.to_string().as_bytes());
    }
    let output = kubectl.wait_with_output()?;
    if !output.status.success() {
        return Err(
            Diagnostic::new(format_args!("the API server rejects the {what}:"))
                .details(printed(&output))
                .into(),
        );
    }
    Ok(())
}

/// Reports the number of installed objects: `2 CRDs`.
pub fn report_installed(count: usize, what: &str) {
    let s = if count == 1 { "" } else { "s" };
    progress("installed", &format!("{count} {what}{s}"));
}

/// A program's output.
pub fn printed(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}
