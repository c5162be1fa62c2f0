//! `kbr chart`: arguments.

use super::dist;
use kbr_manifests::chart;

/// Generate a Helm chart from `config`
///
/// The chart in `dist/chart` renders the same objects as kustomize does, with every set of components; each component is a value. All of
/// its files are generated: change `config`, or what you add in `config/chart`, and run it again.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Write nothing; print what is stale as a diff, and fail if anything is
    #[arg(long)]
    pub check: bool,
}

/// Generates the chart of the project that the current folder belongs to.
///
/// # Errors
/// `config` cannot be rendered, or has parts that a chart cannot express. With `--check`, also if anything is stale.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let root = dist::root()?;
    let files = chart::generate(&root, &dist::kubectl()?)?;
    dist::write(&root, &files, args.check)
}
