//! Generates the file of the webhook configurations.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::configurations::{configurations, emptied, read, unmanaged};
use super::converted::check_conversions;
use super::entry::Names;
use super::own_namespace;
use super::permissions;
use super::served::compare;
use crate::crd::{Crd, resources};
use crate::files::{self, File};
use crate::kinds::Kinds;
use crate::kustomization::is_self_managed;
use crate::problem::Problem;
use crate::sources::Sources;
use crate::yaml;
use kbr_scaffold::edited;
use kbr_scaffold::project::Project;

/// The file of the configurations.
pub const PATH: &str = "config/webhook/manifests.yaml";

/// The webhook configurations, unless the project has never had any; and warnings about them.
pub fn generate(
    root: &Path,
    project: &Project,
    kinds: &Kinds,
    sources: &Sources,
    crds: &[Crd],
    problems: &mut Vec<Problem>,
) -> anyhow::Result<(Option<File>, Vec<Problem>)> {
    let names = Names::of(project);
    let markers = sources.called("webhook");
    let webhooks = read(&names, &markers, &resources(crds), problems);
    let own = sources.called("webhookconfiguration");
    let mut configurations = configurations(&names, &own, &webhooks, problems);
    emptied(&generated_before(root)?, &mut configurations);
    let mut warnings = compare(kinds, &sources.files, &webhooks, problems);
    if is_self_managed(root)? {
        let unmanaged = unmanaged(&names, &own);
        if unmanaged.is_empty() {
            let roles = documents(root, permissions::ROLE)?;
            let policies = documents(root, permissions::POLICY)?;
            let objects = configurations
                .iter()
                .chain(crds.iter().map(|crd| &crd.object));
            warnings.extend(permissions::missing(&roles, objects.clone()));
            warnings.extend(permissions::unrestricted(&policies, &roles, objects));
        }
        warnings.extend(unmanaged);
    }
    warnings.extend(own_namespace::forgeable(&names, &webhooks));
    warnings.extend(own_namespace::moved(root, &names, &configurations)?);
    check_conversions(kinds, &sources.files, project, crds, problems);
    // `config/webhook/kustomization.yaml` may still list the file when the last webhook is gone, so an empty one is kept.
    if configurations.is_empty() && !root.join(PATH).is_file() {
        return Ok((None, warnings));
    }
    let header = edited::generated_from("the `+kbr:webhook` comments in the sources");
    let file = File {
        path: PATH.to_owned(),
        text: yaml::render(&header, &configurations)?,
    };
    Ok((Some(file), warnings))
}

/// The objects in a file of YAML; none if it does not exist.
fn documents(root: &Path, path: &str) -> anyhow::Result<Vec<Value>> {
    let text = files::read(&root.join(path))?.unwrap_or_default();
    serde_saphyr::from_multiple(&String::from_utf8_lossy(&text))
        .with_context(|| format!("`{path}` is not YAML"))
}

/// The configurations that kbr generated the last time. A removed one stays in the file, empty, so an unreadable file must
/// not count as an empty one.
fn generated_before(root: &Path) -> anyhow::Result<Vec<Value>> {
    match files::read(&root.join(PATH))? {
        Some(text) if edited::is_generated(&text) => {
            let text = String::from_utf8_lossy(&text);
            serde_saphyr::from_multiple(&text).with_context(|| format!(
                "cannot read `{PATH}`, which lists the configurations that a cluster may have; nothing was written\nhelp: choose either side of a merge conflict, or restore the file from git, then run `kbr manifests` again"
            ))
        }
        _ => Ok(Vec::new()),
    }
}
