//! CRDs of a cluster, which also knows the versions in which objects are stored.

use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;

use super::read::{name, unreadable};

/// The CRDs of the cluster of the current context that have the names of `now`.
///
/// # Errors
/// `kubectl` is missing, or the cluster does not answer.
pub fn read(now: &[Value]) -> anyhow::Result<Vec<Value>> {
    if now.is_empty() {
        return Ok(Vec::new());
    }
    let mut kubectl = Command::new("kubectl");
    kubectl
        .args(["get", "customresourcedefinitions.apiextensions.k8s.io"])
        .args(["--ignore-not-found", "--output=json"])
        .args(now.iter().map(name))
        .stdin(Stdio::null());
    let output = kubectl.output().map_err(|error| {
        let help = "install kubectl, or compare with a git ref or a folder";
        unreadable(format!("cannot run kubectl: {error}"), help)
    })?;
    if !output.status.success() {
        // The lines before repeat it.
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = text.trim().lines().last().unwrap_or("kubectl failed");
        let text = format!("cannot read the CRDs of the cluster: {reason}");
        let help = "select a cluster with `kubectl config use-context` or KUBECONFIG";
        return Err(unreadable(text, help));
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
