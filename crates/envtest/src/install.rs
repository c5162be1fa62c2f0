//! Adds versions to a store and removes them: each at once, so that a failure leaves the store as it was.

use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

use super::archive;
use super::installed::InstalledVersion;
use super::work::{UNPACKED, WorkFolder, remove_folder};

/// Adds `version` from an archive, or replaces it; `from` names the archive in errors. The complete folder appears at once.
///
/// # Errors
/// The archive is wrong (see [`archive::unpack`]), or the store cannot be written; the store is then unchanged.
pub fn add(
    version: &InstalledVersion,
    work: &WorkFolder,
    archive: impl Read,
    from: &str,
) -> anyhow::Result<()> {
    let unpacked = work.path(UNPACKED);
    remove_folder(&unpacked)?;
    fs::create_dir(&unpacked)
        .with_context(|| format!("cannot write to `{}`", unpacked.display()))?;
    archive::unpack(archive, &version.platform.programs(), &unpacked)
        .with_context(|| format!("cannot unpack {from}"))
        .and_then(|()| replace(&version.folder, &unpacked, &work.path("replaced")))
}

/// Moves `new` to `folder`, and what was there to `old`, which is then removed.
fn replace(folder: &Path, new: &Path, old: &Path) -> anyhow::Result<()> {
    remove_folder(old)?;
    let exchange = || -> io::Result<()> {
        fs::create_dir_all(folder.parent().unwrap_or(folder))?;
        let replaces = folder.exists();
        if replaces {
            // setup-envtest makes it read-only, and a read-only folder cannot be moved.
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
            fs::rename(folder, old)?;
        }
        let moved = fs::rename(new, folder);
        if moved.is_err() && replaces {
            fs::rename(old, folder)?;
        }
        moved
    };
    exchange().with_context(|| format!("cannot write to `{}`", folder.display()))?;
    remove_folder(old)
}

/// Removes a version from the store.
///
/// # Errors
/// Part of it may be left.
pub fn remove(version: &InstalledVersion) -> anyhow::Result<()> {
    remove_folder(&version.folder)
}
