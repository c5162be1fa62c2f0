//! `kbr chart`: arguments.

use super::dist;
use kbr_dist::chart;
use kbr_host::diagnostic::Problem;
use kbr_host::output;

/// Generate a Helm chart from `config`
///
/// The chart in `dist/chart` renders the same objects as kustomize does, with every set of components; each component is a value. All of
/// its files are generated: change `config`, or what you add in `config/chart`, and run it again.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The image of the operator; that of `config` if it is not given
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
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
    let files = chart::generate(&root, args.image.as_deref(), &dist::kubectl()?)?;
    dist::write(&root, &files, args.check)?;
    if let Some(note) = &files.note {
        output::message(note);
    }
    if !args.check {
        tell_size(chart::stored(&files.files)?);
    }
    Ok(())
}

/// How much of a release the CRDs take, in bytes.
const MOST: usize = 1 << 20;

fn tell_size(bytes: usize) {
    let kilobytes = bytes.div_ceil(1024);
    output::message(format_args!(
        "{:>12} {kilobytes} of the 1024 KiB that Helm stores of a release",
        "CRDs"
    ));
    if let Some(warning) = warning(bytes) {
        output::problem("warning", &warning);
    }
}

/// What a user should know of CRDs that take more than 70 % of a release.
fn warning(bytes: usize) -> Option<Problem> {
    (bytes > MOST / 10 * 7).then(|| {
        Problem::new("the CRDs leave little room: once a release needs more than 1024 KiB, Helm cannot install it")
            .help("shorten the doc comments of their fields, or give some kinds a chart of their own")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crds_that_take_seven_tenths_of_a_release_are_warned_of() {
        assert_eq!(warning(700 << 10), None);
        let warning = warning(720 << 10).unwrap();
        assert!(warning.text().contains("1024 KiB"), "{warning}");
    }
}
