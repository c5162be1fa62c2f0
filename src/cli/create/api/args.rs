//! The arguments of `kbr create api`; the flags of a new kind are in `own.rs`.

use super::super::super::WriteArgs;
use super::super::existing::ExistingArgs;
use super::own::NewKindArgs;

/// Add a kind with its types, a controller for a kind, or both
///
/// Without `--resource` or `--controller`, kbr asks what to create. Running the command again restores missing files and lines.
///
/// A new kind of this project:
///
///     kbr create api --group crew --version v1 --kind Captain
///
/// A controller for a built-in kind of Kubernetes, and for an external kind:
///
///     kbr create api --group apps --version v1 --kind Deployment --resource=false --controller
///     kbr create api --group cert-manager.io --version v1 --kind Certificate --controller \
///         --external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    pub of: ExistingArgs,
    #[command(flatten)]
    pub new: NewKindArgs,
    /// Create the kind: its types, CRD, sample and roles
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub resource: Option<bool>,
    /// Create a controller
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub controller: Option<bool>,
    /// Name of the controller, if a kind has several [default: the kind]
    #[arg(long, value_name = "NAME")]
    pub controller_name: Option<String>,
    #[command(flatten)]
    pub write: WriteArgs,
}

impl Args {
    /// Whether to create the kind, and a controller, as far as the flags say it.
    pub fn parts(&self) -> (Option<bool>, Option<bool>) {
        let otherwise = self.write.yes.then_some(true);
        let is_external = self.of.external_crate.is_some();
        let resource = self.resource.or(is_external.then_some(false));
        let is_named = self.controller_name.is_some();
        let controller = self.controller.or(is_named.then_some(true));
        (resource.or(otherwise), controller.or(otherwise))
    }
}

/// What to create, according to flags and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiParts {
    pub resource: bool,
    pub controller: bool,
}
