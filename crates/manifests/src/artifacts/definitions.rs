//! The CRD of each kind, from its types.

use super::{Artifact, Findings, Input};
use crate::crd::{Crd, FOLDER};
use crate::files::{Body, Leftovers};
use crate::problem::Problem;
use crate::version_skew::lost_fields;
use crate::{history, kustomization, stored};
use kbr_scaffold::edited::Mark;
use kbr_scaffold::resource::Resource;
use kbr_scaffold::yaml;

pub const DEFINITIONS: Artifact = Artifact {
    mark: Mark::Header("the types in `api`"),
    is_definition: true,
    generate,
    leftovers: Some(Leftovers {
        folder: FOLDER,
        reason: "no type defines the CRD in",
    }),
    of_kind: Some(of_kind),
};

/// The path of the CRD of a kind.
fn of_kind(api: &Resource) -> String {
    format!("{FOLDER}/{}_{}.yaml", api.full_group, api.plural)
}

fn generate(input: &Input, findings: &mut Findings) -> anyhow::Result<Vec<Body>> {
    // What follows compares definitions that an API server accepts.
    if !findings.problems.is_empty() {
        return Ok(Vec::new());
    }
    let warnings = &mut findings.warnings;
    if !input.crd_only {
        let folder = input.root.join(FOLDER);
        let changes = stored::changes(&folder, input.crds, input.kinds, input.sources);
        warnings.extend(changes);
    }
    warnings.extend(version_skew(input));
    warnings.extend(history::differences(input.project, input.crds));
    warnings.extend(kustomization::listing(input.root, input.crds)?);
    input.crds.iter().map(file).collect()
}

fn file(crd: &Crd) -> anyhow::Result<Body> {
    let text = yaml::render(std::slice::from_ref(&crd.object))?;
    Ok(Body::new(format!("{FOLDER}/{}", crd.file()), text))
}

/// A warning for each kind whose versions lose fields in conversion, unless it is allowed.
fn version_skew(input: &Input) -> Vec<Problem> {
    const ID: &str = "versions";
    let Input { project, map, .. } = input;
    if input.allow.has(ID) {
        return Vec::new();
    }
    let skew = |crd: &Crd| {
        let allowed =
            |version: &str, path: &str| map.allows(&map.locate(&crd.kind, version, path), ID);
        let hub = project.hub(&crd.group, &crd.kind);
        let hub = hub.map(|hub| hub.target.version.as_str());
        lost_fields(crd, &project.head.domain, hub, &allowed)
    };
    input.crds.iter().filter_map(skew).collect()
}
