//! The flags that select a version of a kind.

use super::completion;
use kbr_scaffold::existing::Named;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::target::Target;

/// A version of a kind.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Kind")]
pub struct KindArgs {
    /// API group: `crew` becomes `crew.<domain>`; use `''` for the bare domain, `core` for Pods, Services and the like
    #[arg(long, add = completion::groups())]
    pub group: String,
    /// Version of the API: `v1`, `v2beta3`, `v1alpha1`
    #[arg(long, add = completion::versions())]
    pub version: String,
    /// Kind in upper camel case: `Captain`, `IPPool`
    #[arg(long, add = completion::kinds())]
    pub kind: String,
    /// Domain of this API's group [default: the project's]
    #[arg(long)]
    pub domain: Option<String>,
}

impl KindArgs {
    /// The kind that the flags name.
    pub fn named(&self) -> Named<'_> {
        Named {
            group: &self.group,
            domain: self.domain.as_deref(),
            version: &self.version,
            kind: &self.kind,
        }
    }

    /// Whether the flags select this version of a kind.
    pub fn select(&self, target: &Target, project: &Project) -> bool {
        self.named().is(target, project)
    }
}
