//! `kbr delete webhook`.

use super::super::completion;
use super::super::kind::KindArgs;
use super::DeleteArgs;
use super::deletion::Deletion;
use super::tables;
use kbr_host::diagnostic::Diagnostic;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::webhook::{Calls, Webhook};

/// Remove the webhooks of a version of a kind
///
/// Without `--defaulting`, `--validation` and `--conversion`, removes all of them.
///
///     kbr delete webhook --group crew --version v1 --kind Captain
///     kbr delete webhook --group crew --version v1 --kind Captain --validation
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    of: KindArgs,
    /// Remove the defaulting webhook
    #[arg(long)]
    defaulting: bool,
    /// Remove the validating webhook
    #[arg(long = "validation", alias = "programmatic-validation")]
    validation: bool,
    /// Remove the conversion of other versions to and from this one, the hub
    #[arg(long)]
    conversion: bool,
    /// Version to stop converting; repeatable [default: all others]
    #[arg(long = "spoke", value_name = "VERSION", value_delimiter = ',', requires = "conversion", add = completion::versions())]
    spokes: Vec<String>,
    #[command(flatten)]
    pub write: DeleteArgs,
}

/// Resolves what the command removes.
///
/// # Errors
/// The kind has no such webhook.
pub fn choose(args: &Args, project: &Project) -> anyhow::Result<Deletion> {
    let mut deletion = Deletion::of(project);
    let is_selected = |it: &Webhook| args.of.select(&it.target, project);
    deletion.change(|table| match table {
        Table::Webhook(webhook) if is_selected(webhook) => args.rest(webhook).map(Table::Webhook),
        _ => Some(table.clone()),
    });
    if !deletion.is_empty() {
        return Ok(deletion);
    }
    if !project.webhooks().any(is_selected) {
        return Err(tables::missing(&args.of, "webhook", project).into());
    }
    let text = format!("`{}` {} has no such webhook", args.of.kind, args.of.version);
    let help =
        "leave `--defaulting`, `--validation` and `--conversion` out to delete all of its webhooks";
    Err(Diagnostic::new(text).help(help).into())
}

impl Args {
    /// `webhook` without what the flags select; `None` if nothing remains.
    fn rest(&self, webhook: &Webhook) -> Option<Webhook> {
        let all = !(self.defaulting || self.validation || self.conversion);
        let mut rest = webhook.clone();
        if all || self.defaulting {
            rest.defaulting.clear();
        }
        if all || self.validation {
            rest.validation.clear();
        }
        if all || self.conversion && self.spokes.is_empty() {
            rest.spokes.clear();
        }
        rest.spokes.retain(|spoke| !self.spokes.contains(spoke));
        if !rest.admits() {
            rest.calls = Calls::default();
        }
        (rest.admits() || !rest.spokes.is_empty()).then_some(rest)
    }
}
