//! The operator's roles, from the `+kbr:rbac` comments.

use std::path::Path;

use serde_json::{Value, json};

use super::{Artifact, Findings, Input};
use crate::crd::resources;
use crate::files::{self, Body};
use crate::rbac::{Roles, needed};
use crate::unselective;
use kbr_scaffold::edited::Mark;
use kbr_scaffold::yaml;

const FOLDER: &str = "config/rbac";
const PATH: &str = "config/rbac/role.yaml";

pub const ROLES: Artifact = Artifact {
    mark: Mark::Header("the `+kbr:rbac` comments in the sources"),
    is_definition: false,
    generate,
    leftovers: None,
    of_kind: None,
};

/// The cluster roles and namespaced roles with their bindings; if the project has `config/namespaced`, also its two.
/// With warnings about permissions that the code needs but no role grants, and about what it need not watch.
fn generate(input: &Input, findings: &mut Findings) -> anyhow::Result<Vec<Body>> {
    let (kinds, sources) = (input.kinds, input.sources);
    // The scaffolded bindings refer to this name.
    let names = input.project.head.names();
    let name = &format!("{}-manager-role", names.prefix);
    let own = resources(input.project, input.crds);
    let roles = Roles::new(name, &sources.called("rbac"), &own, &mut findings.problems);
    let mut warnings = needed::missing(&roles, kinds, sources);
    warnings.extend(unselective::unselective(kinds, sources));
    warnings.retain(|problem| !problem.id().is_some_and(|id| input.allow.has(id)));
    findings.warnings.extend(warnings);
    let account = json!({
        "kind": "ServiceAccount",
        "name": names.deployment,
        "namespace": names.namespace,
    });
    let text = yaml::render(&roles.manifests(name, &account, &bindings(input.root)?))?;
    let mut files = vec![Body::new(PATH, text)];
    if input.root.join("config/namespaced/role").is_dir() {
        let is_cluster_scoped = |group: &str, plural: &str| kinds.is_cluster_scoped(group, plural);
        let (role, cluster) = roles.namespaced(name, is_cluster_scoped);
        for (path, roles) in [
            ("role/role.yaml", vec![role]),
            ("cluster_role.yaml", cluster),
        ] {
            let text = yaml::render(&roles)?;
            files.push(Body::new(format!("config/namespaced/{path}"), text));
        }
    }
    Ok(files)
}

/// The bindings in the other files of the folder. cargo and kustomize report what is not YAML.
fn bindings(root: &Path) -> anyhow::Result<Vec<Value>> {
    let mut bindings = Vec::new();
    for name in files::list(&root.join(FOLDER))? {
        let path = format!("{FOLDER}/{name}");
        let text = files::read(&root.join(&path))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if path != PATH && text.contains("roleRef") {
            bindings.extend(kbr_host::yaml::documents::<Value>(&text).unwrap_or_default());
        }
    }
    Ok(bindings)
}
