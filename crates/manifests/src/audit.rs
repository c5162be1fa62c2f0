//! `kbr manifests permissions`: compares the operator's permissions with its requests in an audit log.

mod access;
mod event;
mod findings;
mod granted;
mod log;
mod usage;

use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::packages::packages;
use super::rbac::{self, Source};
use super::sources::Sources;
use crate::overlay::{self, Identity, OVERLAY};
pub use access::Access;
pub use event::{Event, Verdict};
pub use findings::Report;
pub use granted::{Permission, accesses, permissions, refers};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::{output, regular};
use kbr_scaffold::workdir;
use log::End;
use usage::Usage;

/// Compares the permissions of the project at `root`, as `config/default` grants them, with the requests in the audit log at `path`.
/// Writes nothing. `kubectl`, which has no arguments yet, renders.
///
/// # Errors
/// The log cannot be read, is not an audit log, or has no request of the operator; or `config/default` does not render.
pub fn check(kubectl: Command, root: &Path, path: &Path) -> anyhow::Result<Report> {
    let shown = path.display();
    let file = path.canonicalize().and_then(|path| regular::open(&path));
    let file = file.map_err(|error| {
        let what = format!("cannot read the audit log `{shown}`: {error}");
        failed(&what, &run(path))
    })?;
    let (permissions, identity) = rendered(kubectl, root)?;
    let mut usage = Usage::new(&permissions);
    let end = log::read(BufReader::new(file), |event| {
        let Some((home, account)) = event.account() else {
            return;
        };
        if account == identity.account {
            for decision in event.decisions() {
                usage.add(home, &decision);
            }
        }
    })
    .with_context(|| format!("`{shown}`"))?;
    if end == End::Truncated {
        output::message(format_args!(
            "warning: ignored the last line of `{shown}`, which is incomplete"
        ));
    }
    if end == End::Empty {
        return Err(failed(&format!("`{shown}` is empty"), &run(path)).into());
    }
    if usage.is_empty {
        let account = &identity.account;
        let what =
            format!("no request by the operator's ServiceAccount `{account}` found in `{shown}`");
        let help = format!("{}; the tests must start the operator", run(path));
        return Err(failed(&what, &help).into());
    }
    Ok(findings::report(&usage))
}

/// The permissions that `config/default` grants to the operator, and its identity.
fn rendered(kubectl: Command, root: &Path) -> anyhow::Result<(Vec<Permission>, Identity)> {
    if !overlay::exists(root, OVERLAY) {
        let what = format!("no `{OVERLAY}` found, so the operator has no ServiceAccount");
        return Err(failed(
            &what,
            "without a ServiceAccount, tests run the operator as administrator",
        )
        .into());
    }
    let objects = overlay::render(kubectl, root, OVERLAY)?;
    let identity = Identity::of(&objects)?;
    let permissions = permissions(&objects, &identity, &sources(root)?);
    Ok((permissions, identity))
}

/// The markers of the project. Invalid ones, which `kbr manifests` reports, are left out.
fn sources(root: &Path) -> anyhow::Result<Vec<Source>> {
    let project = workdir::load(root)?;
    let sources = Sources::read(root, &packages(root)?, &mut Vec::new())?;
    let role = format!("{}-manager-role", project.head.names().prefix);
    Ok(rbac::sources(&role, &sources.called("rbac")))
}

/// How to get a log.
fn run(path: &Path) -> String {
    format!(
        "run `kbr envtest run --audit {} -- cargo test --workspace --features envtest`",
        path.display()
    )
}

fn failed(what: &str, help: &str) -> Diagnostic {
    Diagnostic::new(what).help(help)
}
