//! `--clone` of the commands that start an API server: it begins with the objects of another cluster.

use std::path::{Path, PathBuf};

use kbr_envtest::assets::Assets;
use kbr_envtest::run::Load;
use kbr_envtest::start::Cluster;
use kbr_envtest::{installed, progress};
use kbr_host::diagnostic::Problem;
use kbr_host::output;
use kbr_plan::{file, restore};

/// With what an API server starts.
pub struct Start {
    /// The programs.
    pub assets: Assets,
    /// Puts the objects into it.
    pub load: Option<Load>,
}

/// An API server for the clone in `file`, or an empty one.
///
/// # Errors
/// The file is not a clone; programs are missing.
pub fn start(
    file: Option<&Path>,
    cluster: Option<&Cluster>,
    store: Option<PathBuf>,
) -> anyhow::Result<Start> {
    let Some(file) = file else {
        let assets = match cluster {
            Some(_) => installed::find_for_cluster(store)?,
            None => installed::find(store)?,
        };
        return Ok(Start { assets, load: None });
    };
    let cloned = file::load(file)?;
    let assets = installed::find_for_clone(&cloned.kubernetes, cluster.is_some(), store)?;
    let cluster = cluster.cloned();
    let load: Load = Box::new(move |plane| {
        for lost in restore::restore(plane, &cloned, cluster.as_ref())? {
            let text = format!("not served as it is in the cluster: {lost}");
            output::problem("warning", &Problem::new(text));
        }
        progress(
            "serving",
            &format!("{} objects of the clone", cloned.count()),
        );
        Ok(())
    });
    Ok(Start {
        assets,
        load: Some(load),
    })
}
