//! The arguments of `kbr create api`; the flags of a new kind are in `own.rs`.

use std::path::PathBuf;

use super::super::super::WriteArgs;
use super::own::NewKindArgs;
use super::selected::SelectedArgs;

const USAGE: &str = "\
kbr create api [OPTIONS] --group <GROUP> --version <VERSION> --kind <KIND>
       kbr create api [OPTIONS] --from-crd <FILE|->";

const EXAMPLES: &str = "\
Examples:
  A kind with a controller, and one that is cluster-scoped and has no controller:
    kbr create api --group crew --version v1 --kind Captain --yes
    kbr create api --group crew --version v1 --kind Fleet --namespaced=false --resource --controller=false
  A controller for a built-in kind, and for a kind of another crate:
    kbr create api --group apps --version v1 --kind Deployment --resource=false --controller
    kbr create api --group cert-manager.io --version v1 --kind Certificate --controller \\
      --external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate
  A kind that exists as a CRD, with equal types:
    kubectl get crd NAME -o yaml | kbr create api --from-crd -
  A controller for a kind whose CRD another operator installs:
    kbr create api --from-crd certificates.yaml --external --controller";

/// Add a kind with its types, a controller for a kind, or both
///
/// Without `--resource` or `--controller`, kbr asks what to create. Running the command again restores missing files and lines.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, override_usage = USAGE, after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub of: SelectedArgs,
    #[command(flatten)]
    pub new: NewKindArgs,
    /// Take the kind and its types from a `CustomResourceDefinition`; `-` reads standard input
    #[arg(long, help_heading = "What to create", value_name = "FILE|-")]
    pub from_crd: Option<PathBuf>,
    /// With `--from-crd`, write only the types, into the crate `./external` or that of `--external-crate`: another operator owns the kind
    #[arg(long, help_heading = "What to create", requires = "from_crd")]
    pub external: bool,
    /// Create the kind: its types, CRD, sample and roles
    #[arg(long, help_heading = "What to create", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub resource: Option<bool>,
    /// Create a controller
    #[arg(long, help_heading = "What to create", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub controller: Option<bool>,
    /// Name of the controller, if a kind has several [default: the kind]
    #[arg(long, help_heading = "What to create", value_name = "NAME")]
    pub controller_name: Option<String>,
    /// A reconciler in Go, which the controller has as a comment to port
    #[arg(
        long,
        help_heading = "What to create",
        value_name = "FILE",
        conflicts_with = "from_crd"
    )]
    pub from_go: Option<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
}

impl Args {
    /// Whether a flag says if the kind is new, or one that exists.
    pub fn selects(&self) -> bool {
        self.resource.is_some() || self.of.external_crate.is_some()
    }

    /// Whether to create the kind, and a controller, as far as the flags say it.
    pub fn parts(&self) -> (Option<bool>, Option<bool>) {
        let otherwise = self.write.yes.then_some(true);
        let is_external = self.of.external_crate.is_some();
        let resource = self.resource.or(is_external.then_some(false));
        let is_asked = self.controller_name.is_some() || self.from_go.is_some();
        let controller = self.controller.or(is_asked.then_some(true));
        (resource.or(otherwise), controller.or(otherwise))
    }
}

/// What to create, according to flags and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiParts {
    pub resource: bool,
    pub controller: bool,
}
