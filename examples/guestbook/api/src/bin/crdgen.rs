//! Prints every `CustomResourceDefinition` of this project as one JSON array, for `kbr manifests`.

use guestbook_api as api;

fn main() -> std::io::Result<()> {
    serde_json::to_writer(std::io::stdout().lock(), &api::crds())?;
    Ok(())
}
