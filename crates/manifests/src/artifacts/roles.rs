//! The operator's roles, from the `+kbr:rbac` comments.

use super::{Artifact, Findings, Input};
use crate::crd::resources;
use crate::files::Body;
use crate::rbac::{Roles, needed};
use crate::unselective;
use kbr_scaffold::edited::Mark;
use kbr_scaffold::yaml;

pub const ROLES: Artifact = Artifact {
    mark: Mark::Header("the `+kbr:rbac` comments in the sources"),
    is_definition: false,
    generate,
    leftovers: None,
    of_kind: None,
};

/// The cluster roles and namespaced roles; if the project has `config/namespaced`, also its two.
/// With warnings about permissions that the code needs but no role grants, and about what it need not watch.
fn generate(input: &Input, findings: &mut Findings) -> anyhow::Result<Vec<Body>> {
    let (kinds, sources) = (input.kinds, input.sources);
    // The scaffolded bindings refer to this name.
    let name = &format!("{}-manager-role", input.project.head.name);
    let own = resources(input.crds);
    let roles = Roles::new(name, &sources.called("rbac"), &own, &mut findings.problems);
    let mut warnings = needed::missing(&roles, kinds, sources);
    warnings.extend(unselective::unselective(kinds, sources));
    warnings.retain(|problem| !problem.id().is_some_and(|id| input.allow.has(id)));
    findings.warnings.extend(warnings);
    let text = yaml::render(&roles.manifests())?;
    let mut files = vec![Body::new("config/rbac/role.yaml", text)];
    if input.root.join("config/namespaced/role").is_dir() {
        let is_cluster_scoped = |group: &str, plural: &str| kinds.is_cluster_scoped(group, plural);
        let roles = roles.namespaced(name, is_cluster_scoped);
        for (path, role) in ["role/role.yaml", "cluster_role.yaml"].iter().zip(roles) {
            let text = yaml::render(&[role])?;
            files.push(Body::new(format!("config/namespaced/{path}"), text));
        }
    }
    Ok(files)
}
