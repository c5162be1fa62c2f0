//! The webhook configurations, from the `+kbr:webhook` comments.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::{Artifact, Findings, Input};
use crate::crd::resources;
use crate::files::{self, Body};
use crate::kustomization::is_self_managed;
use crate::problem::Problem;
use crate::webhook::configurations::{configurations, emptied, read, unmanaged};
use crate::webhook::converted::check_conversions;
use crate::webhook::entry::Names;
use crate::webhook::served::compare;
use crate::webhook::{own_namespace, permissions};
use kbr_host::diagnostic::Diagnostic;
use kbr_scaffold::edited::{self, Mark};
use kbr_scaffold::yaml;

pub const WEBHOOKS: Artifact = Artifact {
    mark: Mark::Header("the `+kbr:webhook` comments in the sources"),
    is_definition: false,
    generate,
    leftovers: None,
    of_kind: None,
};

/// The file of the configurations.
pub const PATH: &str = "config/webhook/manifests.yaml";

/// The webhook configurations, unless the project has never had any; and warnings about them.
fn generate(input: &Input, findings: &mut Findings) -> anyhow::Result<Vec<Body>> {
    let (root, project, kinds) = (input.root, input.project, input.kinds);
    let (sources, crds) = (input.sources, input.crds);
    let Findings { problems, warnings } = findings;
    let names = Names::of(project);
    let markers = sources.called("webhook");
    let webhooks = read(&names, &markers, &resources(project, crds), problems);
    let own = sources.called("webhookconfiguration");
    let mut configurations = configurations(&names, &own, &webhooks, problems);
    emptied(&generated_before(root)?, &mut configurations);
    warnings.extend(compare(kinds, &sources.files, &webhooks, problems));
    if is_self_managed(root)? {
        let unmanaged = unmanaged(&names, &own);
        if unmanaged.is_empty() {
            warnings.extend(unpermitted(input, &configurations)?);
        }
        warnings.extend(unmanaged);
    }
    warnings.extend(own_namespace::forgeable(
        &project.head.name,
        &names,
        &webhooks,
    ));
    warnings.extend(own_namespace::moved(root, &names, &configurations)?);
    check_conversions(kinds, &sources.files, project, crds, problems);
    // `config/webhook/kustomization.yaml` may still list the file when the last webhook is gone, so an empty one is kept.
    if configurations.is_empty() && !root.join(PATH).is_file() {
        return Ok(Vec::new());
    }
    Ok(vec![Body::new(PATH, yaml::render(&configurations)?)])
}

/// Warnings about the permissions of an operator that rotates its certificate itself.
fn unpermitted(input: &Input, configurations: &[Value]) -> anyhow::Result<Vec<Problem>> {
    let roles = documents(input.root, permissions::ROLE)?;
    let policies = documents(input.root, permissions::POLICY)?;
    let crds = input.crds.iter().map(|crd| &crd.object);
    let objects = configurations.iter().chain(crds);
    let mut warnings = permissions::missing(&roles, objects.clone());
    warnings.extend(permissions::unrestricted(&policies, &roles, objects));
    Ok(warnings)
}

/// The objects in a file of YAML; none if it does not exist.
fn documents(root: &Path, path: &str) -> anyhow::Result<Vec<Value>> {
    let text = files::read(&root.join(path))?.unwrap_or_default();
    kbr_host::yaml::documents(&String::from_utf8_lossy(&text))
        .with_context(|| format!("`{path}` is not YAML"))
}

/// The configurations that kbr generated the last time. A removed one stays in the file, empty, so an unreadable file must
/// not count as an empty one.
fn generated_before(root: &Path) -> anyhow::Result<Vec<Value>> {
    match files::read(&root.join(PATH))? {
        Some(text) if edited::is_generated(&text) => {
            let text = String::from_utf8_lossy(&text);
            kbr_host::yaml::documents(&text).map_err(|error| {
                let what = "which lists the configurations that a cluster may have";
                Diagnostic::new(format_args!("cannot read `{PATH}`, {what}"))
                    .details(error)
                    .help("choose either side of a merge conflict, or restore the file from git, then run `kbr manifests` again")
                    .into()
            })
        }
        _ => Ok(Vec::new()),
    }
}
