//! Which objects of a cluster `kbr plan` and `kbr clone` read, and how.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context as _;
use kbr_host::diagnostic::{Diagnostic, Problem};
use kbr_host::output;
use kbr_manifests::overlay::Identity;
use kbr_plan::cloned::Cloned;
use kbr_plan::read;
use kbr_plan::secrets::{self, Redaction};
use kbr_plan::wanted::Wanted;
use serde_json::Value;

use super::super::dist;

/// What is read of a cluster.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Reading the cluster")]
pub struct Reading {
    /// The context of your kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The `ServiceAccount` of the operator: what its roles in the cluster allow is read
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub service_account: Option<String>,
    /// Read what the roles in this file allow, as YAML, instead of those that install the operator
    #[arg(long, value_name = "FILE", conflicts_with = "service_account")]
    pub role: Option<PathBuf>,
    /// Read these kinds instead, such as `pods,captains.crew.example.com`
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// Also read Pods, `ReplicaSets`, `ControllerRevisions` and Nodes: a plan then rolls out workloads, for an operator that waits for them
    #[arg(long)]
    pub rollouts: bool,
    /// Keep the values of Secrets; no report prints one
    #[arg(long)]
    pub secrets: bool,
    /// Also replace what is at this path, such as `ConfigMap:.data.password` or `Captain.crew.example.com:.spec.ships[*].key`; repeatable
    #[arg(long, value_name = "KIND:PATH", value_parser = redaction)]
    pub redact: Vec<Redaction>,
}

fn redaction(text: &str) -> Result<Redaction, String> {
    Redaction::parse(text).map_err(|error| error.to_string())
}

/// The answer of the cluster to a GET.
///
/// # Errors
/// The cluster cannot be reached, or refuses; the error is its message.
pub fn get(context: Option<&str>) -> anyhow::Result<impl Fn(&str) -> anyhow::Result<Value>> {
    let kubectl = dist::kubectl()?;
    let context = context.map(str::to_owned);
    Ok(move |path: &str| {
        let mut command = kubectl();
        command.args(context.iter().map(|it| format!("--context={it}")));
        let output = command.args(["get", "--raw", path]).output();
        let output = output.context("cannot run kubectl")?;
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).context("the answer is not JSON");
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = text.trim().lines().last().unwrap_or("kubectl failed");
        anyhow::bail!(
            "{}",
            reason
                .trim_start_matches("error: ")
                .trim_start_matches("Error from server ")
        )
    })
}

/// The error for a cluster that cannot be read.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn unreadable(error: anyhow::Error) -> Diagnostic {
    Diagnostic::new(format_args!("cannot read the cluster: {error:#}"))
        .help("choose a context with --context; `kubectl config get-contexts` lists them")
}

/// Reads a cluster. The values of Secrets are replaced unless the arguments keep them.
///
/// # Errors
/// It cannot be reached, or nothing of what is wanted can be read.
pub fn read(
    reading: &Reading,
    operator: &Identity,
    wanted: &BTreeSet<Wanted>,
) -> anyhow::Result<Cloned> {
    let get = get(reading.context.as_deref())?;
    let mut cloned = read::read(&get, wanted, operator).map_err(unreadable)?;
    // Before the values of Secrets: what is redacted is replaced elsewhere, too.
    secrets::redact(&mut cloned, &reading.redact)?;
    if !reading.secrets {
        let replaced = secrets::replace(&mut cloned)?;
        cloned.secrets = false;
        for name in &replaced.names {
            let text = format!("the value of `{name}` is also a name, and stays where it is one");
            output::problem("warning", &Problem::new(text));
        }
    }
    secrets::leave_out(&mut cloned);
    Ok(cloned)
}
