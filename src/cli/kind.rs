//! The flags that select a version of a kind.

use super::completion;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::groups;
use kbr_scaffold::resource::target::Target;

/// A version of a kind.
#[derive(Clone, Debug, clap::Args)]
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
    /// Whether the flags select this version of a kind: by its full group, or by its short group.
    pub fn select(&self, target: &Target, project: &Project) -> bool {
        let domain = self.domain.as_ref().unwrap_or(&project.head.domain);
        let (_, full_group) = groups(&self.group, domain);
        // A domain changes nothing for the groups of Kubernetes and of other crates.
        let is_fixed = self.domain.is_none() || !target.is_own();
        let by_word = is_fixed && [&target.group, &target.full_group].contains(&&self.group);
        self.kind == target.kind
            && self.version == target.version
            && (by_word || target.full_group == full_group)
    }
}
