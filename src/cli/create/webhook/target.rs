//! The kind that a webhook is for.

use std::path::Path;

use super::super::existing::{self, Added};
use super::Args;
use crate::project::Project;
use crate::resource::target::Target;

/// The kind that the flags mean; `added` becomes what its crate adds to the manifest.
///
/// # Errors
/// There is no such kind.
pub fn find(
    args: &Args,
    project: &Project,
    root: &Path,
    added: &mut Option<Added>,
) -> anyhow::Result<Target> {
    let sought = args.sought();
    // The crate of a kind need not be said twice.
    let known = project
        .controllers
        .iter()
        .map(|controller| &controller.target)
        .chain(project.webhooks.iter().map(|webhook| &webhook.target));
    let mut foreign = known.filter(|target| !target.external_crate.is_empty());
    let meant = foreign.find(|target| {
        sought.external.is_none()
            && target.kind == sought.kind
            && target.version == sought.version
            && target.full_group == sought.group
    });
    match meant {
        Some(target) => Ok(target.clone()),
        None => existing::find(&sought, project, root, added),
    }
}
