//! `kbr import --check`: looks at the cluster before the operator in Go is replaced.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use kbr_host::diagnostic::Diagnostic;
use kbr_host::{output, regular};
use kbr_manifests::finalizers;
use kbr_manifests::overlay::{self, Identity};
use kbr_scaffold::workdir;
use kbr_takeover::{self as takeover, Level, Successor};

/// Prints a line for each thing that was looked at.
///
/// # Errors
/// Something would go wrong, or cannot be read.
pub fn run() -> anyhow::Result<()> {
    let root = super::super::dist::root()?;
    let project = workdir::load(&root)?;
    let rendered = overlay::render(kubectl(), &root, overlay::OVERLAY)
        .context("run `make manifests` first")?;
    let identity = Identity::of(&rendered)?;
    let lines = takeover::check(
        &Successor {
            role: &format!("{}-manager-role", project.head.names().prefix),
            id: &project.head.manager_id(),
            namespace: &identity.namespace,
            rendered: &rendered,
            finalizers: &finalizers::named(&root)?,
            predecessors: &predecessors(&root)?,
        },
        &get,
    )?;
    output::data(&lines.iter().map(ToString::to_string).collect::<String>())?;
    let wrong = lines.iter().filter(|it| it.level == Level::Wrong).count();
    if wrong > 0 {
        let text = format!(
            "the operator cannot take over yet: {wrong} of {} checks failed",
            lines.len()
        );
        return Err(Diagnostic::new(text)
            .help("follow the advice below each, then check again")
            .into());
    }
    Ok(())
}

/// The field managers in `manager.take_over("…");` of `src/main.rs`.
fn predecessors(root: &Path) -> anyhow::Result<Vec<String>> {
    let text = regular::followed(&root.join("src/main.rs")).context("cannot read `src/main.rs`")?;
    let name = |line: &str| {
        let (before, rest) = line.split_once(".take_over(\"")?;
        let (name, _) = rest.split_once('"')?;
        (!before.contains("//")).then(|| name.to_owned())
    };
    Ok(text.lines().filter_map(name).collect())
}

fn kubectl() -> Command {
    let mut kubectl = Command::new("kubectl");
    // Without the user's kubectl preferences.
    kubectl.env("KUBERC", "off").stdin(Stdio::null());
    kubectl
}

/// Objects in the cluster of the current context; none if that name is missing.
fn get(arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut kubectl = kubectl();
    kubectl.args(["get", "--ignore-not-found", "--output=json"]);
    let output = kubectl.args(arguments).output();
    let output = output.context("cannot run kubectl")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        // The lines before repeat it.
        let reason = text.trim().lines().last().unwrap_or("kubectl failed");
        let text = format!("cannot read `{}` of the cluster: {reason}", arguments[0]);
        let help = "select a cluster with `kubectl config use-context` or KUBECONFIG";
        return Err(Diagnostic::new(text).help(help).into());
    }
    if output.stdout.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let mut answer: Value = serde_json::from_slice(&output.stdout)
        .context("cannot parse the output of `kubectl get`")?;
    // One object, or a list of several.
    Ok(match answer["items"].take() {
        Value::Array(all) => all,
        _ => vec![answer],
    })
}
