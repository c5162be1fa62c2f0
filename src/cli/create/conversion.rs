//! A version of a kind that is converted to and from another one, the hub.

use super::owned;
use crate::plan::Op;
use crate::project::Project;
use crate::resource::Resource;
use crate::resource::target::Target;
use crate::resource::webhook::Webhook;
use crate::scaffold;
use crate::vars::Vars;

/// A version that is converted.
#[derive(Debug)]
pub struct Spoke {
    /// The version itself.
    pub resource: Resource,
    /// The version that it is converted to.
    pub hub: Target,
    /// Whether it was converted before: then its file is the user's.
    pub recorded: bool,
}

impl Spoke {
    /// A new version of a kind, if the kind has a hub already.
    pub fn of_new(api: &Resource, project: &Project) -> Option<Self> {
        let hub = project.hub(&api.full_group, &api.kind)?;
        Some(Spoke {
            resource: api.clone(),
            hub: hub.target.clone(),
            recorded: false,
        })
    }

    /// The table for PROJECT.
    pub fn table(&self) -> Webhook {
        Webhook {
            spokes: vec![self.resource.version.clone()],
            ..Webhook::new(self.hub.clone())
        }
    }

    /// What is written for it; `vars` are the project's.
    ///
    /// # Errors
    /// What is wrong with the scaffold.
    pub fn plan(&self, vars: &Vars, force: bool) -> anyhow::Result<Vec<Op>> {
        let mut vars = vars.clone();
        Webhook::new(self.hub.clone()).fill(&mut vars);
        vars.hub_version.clone_from(&self.hub.version);
        vars.version.clone_from(&self.resource.version);
        vars.type_path = self.resource.type_path();
        // `CaptainV1alpha1`
        let version = self.resource.version.replacen('v', "V", 1);
        vars.spoke_alias = format!("{}{version}", self.resource.kind);
        let ops = scaffold::render("conversion", &vars)?;
        Ok(owned(ops, self.recorded && !force))
    }
}
