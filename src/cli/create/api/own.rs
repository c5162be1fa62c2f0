//! One of the project's own kinds, from the flags of `kbr create api`.

use super::super::existing::ExistingArgs;
use crate::cli::write::Planned;
use kbr_host::diagnostic::Problems;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::{ApiFlags, Resource, groups, shared};

/// The flags of a new kind: a flag of `kbr create api` that ends up in its types or CRD belongs here.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Kind")]
pub struct NewKindArgs {
    /// Singular in lower case [default: the kind]
    #[arg(long)]
    singular: Option<String>,
    /// Short name for kubectl; repeatable
    #[arg(long = "short-name", value_name = "NAME", value_delimiter = ',')]
    short_names: Vec<String>,
    /// Whether objects are namespaced [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub namespaced: Option<bool>,
}

impl NewKindArgs {
    /// The flags that have no effect without a new kind, and whether they were passed.
    pub fn passed(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("singular", self.singular.is_some()),
            ("short-name", !self.short_names.is_empty()),
        ]
    }
}

/// The own kind that the flags describe.
///
/// # Errors
/// All problems and clashes of the kind.
pub fn find(
    of: &ExistingArgs,
    new: &NewKindArgs,
    project: &Project,
) -> anyhow::Result<Planned<Resource>> {
    let domain = of.kind.domain.as_ref().unwrap_or(&project.head.domain);
    let (_, full_group) = groups(&of.kind.group, domain);
    let of_kind = |api: &&Resource| api.full_group == full_group && api.kind == of.kind.kind;
    let same = |api: &&Resource| of_kind(api) && api.version == of.kind.version;
    let recorded = project.apis().find(same);
    // The previous version supplies the defaults.
    let before = recorded.or_else(|| project.apis().find(of_kind));
    let wanted = ApiFlags {
        group: of.kind.group.clone(),
        domain: domain.clone(),
        version: of.kind.version.clone(),
        kind: of.kind.kind.clone(),
        plural: of
            .plural
            .clone()
            .or_else(|| before.map(|api| api.plural.clone())),
        singular: new
            .singular
            .clone()
            .or_else(|| before.map(|api| api.singular.clone())),
        short_names: match before {
            Some(before) if new.short_names.is_empty() => before.short_names.clone(),
            _ => new.short_names.clone(),
        },
        namespaced: new
            .namespaced
            .or_else(|| before.map(|api| api.namespaced))
            .unwrap_or(true),
    };
    let mut api = Resource::new(&wanted)?;
    // One group, one module: `--group crew` and `--group crew.example.com --domain ''` mean the same.
    let mut apis = project.apis();
    if let Some(known) = apis.find(|known| known.full_group == api.full_group) {
        api.group.clone_from(&known.group);
    }
    if let Some(recorded) = recorded {
        same_parameters(&api, recorded)?;
    }
    api.check_among(project.apis())?;
    Ok(Planned {
        value: api,
        recorded: recorded.is_some(),
    })
}

/// A repeated command must not change the record of the kind in PROJECT.
fn same_parameters(wanted: &Resource, recorded: &Resource) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    for (flag, wanted_value, recorded_value) in shared(wanted, recorded) {
        if wanted_value != recorded_value {
            problems.add(
                format!(
                    "`{}` {} already exists with {flag} `{recorded_value}`, not `{wanted_value}`",
                    recorded.kind, recorded.version
                ),
                format!(
                    "leave `--{flag}` out; to change it, edit `{}`",
                    recorded.path()
                ),
            );
        }
    }
    problems.into_result()
}
