//! The arguments of `kbr create webhook`.

use super::super::super::{WriteArgs, completion};
use super::super::existing::ExistingArgs;

/// Add webhooks for a kind: defaulting, validation, or conversion between its versions
///
/// Without `--defaulting`, `--validation` and `--conversion`, kbr asks which to create. You can add others to the kind later.
///
/// Defaulting and validation for a kind of this project:
///
///     kbr create webhook --group crew --version v1 --kind Captain --defaulting --validation
///
/// Conversion of v1 to and from v2, the hub version:
///
///     kbr create webhook --group crew --version v2 --kind Captain --conversion --spoke v1
///
/// Defaulting for a built-in kind, only in some namespaces:
///
///     kbr create webhook --group core --version v1 --kind Pod --defaulting --namespace-selector team=deck
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    pub of: ExistingArgs,
    /// Set defaults in objects before they are stored
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    pub defaulting: bool,
    /// Reject invalid objects and unwanted deletions
    #[arg(long = "validation", alias = "programmatic-validation", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    pub validation: bool,
    /// Convert between the versions of the kind; `--version` is the hub
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    pub conversion: bool,
    /// Version to convert to and from the hub; repeatable [default: all others]
    #[arg(long = "spoke", value_name = "VERSION", value_delimiter = ',', add = completion::versions())]
    pub spokes: Vec<String>,
    /// Path of the defaulting webhook [default: /mutate-<group>-<version>-<kind>]
    #[arg(long, value_name = "PATH")]
    pub defaulting_path: Option<String>,
    /// Path of the validating webhook [default: /validate-<group>-<version>-<kind>]
    #[arg(long, value_name = "PATH")]
    pub validation_path: Option<String>,
    /// What to do with an object if the webhook does not answer: `Fail` rejects it, `Ignore` admits it [default: Fail]
    #[arg(long, value_name = "POLICY", ignore_case = true, value_parser = ["Fail", "Ignore"])]
    pub failure_policy: Option<String>,
    /// Timeout of the API server's call in seconds, 1 to 30 [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Call the webhook only for objects in namespaces with these labels: `team=deck,tier in (front,back)`
    #[arg(long, value_name = "LABELS")]
    pub namespace_selector: Option<String>,
    /// Call the webhook only for objects with these labels
    #[arg(long, value_name = "LABELS")]
    pub object_selector: Option<String>,
    /// Call the webhook only if this CEL expression is true; repeatable
    #[arg(long = "match-condition", value_name = "NAME=CEL")]
    pub match_conditions: Vec<String>,
    #[command(flatten)]
    pub write: WriteArgs,
}

impl Args {
    /// What to create, as far as the flags say it.
    pub fn parts(&self) -> WebhookParts {
        let parts = WebhookParts {
            defaulting: self.defaulting,
            validation: self.validation,
            conversion: self.conversion,
        };
        if self.write.yes && !parts.any() {
            return WebhookParts {
                defaulting: true,
                validation: true,
                conversion: false,
            };
        }
        parts
    }
}

/// What to create, according to flags and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookParts {
    pub defaulting: bool,
    pub validation: bool,
    pub conversion: bool,
}

impl WebhookParts {
    /// Whether anything is to be created.
    pub fn any(self) -> bool {
        self.defaulting || self.validation || self.conversion
    }
}
