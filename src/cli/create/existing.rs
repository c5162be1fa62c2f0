//! The flags that select an existing kind for a controller or a webhook, and the notes about its crate.

use super::super::kind::KindArgs;
use kbr_host::lines::Lines;
use kbr_scaffold::existing::{Added, Wanted};

/// The flags that select a kind, and describe one of another crate.
#[derive(Debug, clap::Args)]
pub struct ExistingArgs {
    #[command(flatten)]
    pub kind: KindArgs,
    /// Plural in lower case [default: the English plural]
    #[arg(long, help_heading = "Kind")]
    pub plural: Option<String>,
    /// Crate that defines an external kind: its name on crates.io, or a path
    #[arg(
        long,
        value_name = "NAME[@VERSION]|PATH",
        requires = "external_type",
        help_heading = "External kind"
    )]
    pub external_crate: Option<String>,
    /// Type of the external kind in that crate: `cert_manager::v1::Certificate`
    #[arg(
        long,
        value_name = "TYPE",
        requires = "external_crate",
        help_heading = "External kind"
    )]
    pub external_type: Option<String>,
}

impl ExistingArgs {
    /// The kind that the flags describe; `namespaced` is another flag.
    pub fn wanted(&self, namespaced: Option<bool>) -> Wanted<'_> {
        let (krate, type_path) = (
            self.external_crate.as_deref(),
            self.external_type.as_deref(),
        );
        Wanted {
            named: self.kind.named(),
            plural: self.plural.as_deref(),
            namespaced,
            external: krate.zip(type_path),
            package: None,
        }
    }
}

/// What a new crate requires: network access once, and a line in the Dockerfile.
pub fn notes(added: &Added) -> Lines {
    let Added { line, folder } = added;
    let lock = format!("note: `Cargo.lock` lacks `{line}`: the next cargo command adds it");
    let Some(folder) = folder else {
        return Lines::from_iter([lock + " and needs the network"]);
    };
    let image = if folder.starts_with("..") || folder.starts_with('/') {
        format!(
            "note: `make docker-build` copies only the project's folder: first move the crate `{folder}` into it"
        )
    } else {
        format!(
            "note: the image needs the crate too: add `COPY {folder} {folder}` to `Dockerfile`, below `COPY api/Cargo.toml api/`"
        )
    };
    Lines::from_iter([lock, image])
}
