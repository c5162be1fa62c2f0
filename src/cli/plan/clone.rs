//! `kbr clone`: arguments and output.

use std::path::PathBuf;

use anyhow::Context as _;
use kbr_envtest::progress;
use kbr_host::diagnostic::{Diagnostic, Outcome, Problem, nothing_written};
use kbr_host::output;
use kbr_manifests::overlay::OVERLAY;
use kbr_plan::{anonymize, file};
use kbr_scaffold::workdir;

use super::operator;
use super::reading::{self, Reading};

/// Write what an operator may read of a cluster to a file, for `kbr plan --clone`
///
/// The cluster receives only GETs. The values of Secrets are replaced by others of the same shape, wherever they occur; what never was in a
/// Secret stays, so treat the file as you treat the cluster. The operator is that of the project, or the one of --service-account.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// What installs the operator, as YAML [default: what `config/default` of the project renders]
    #[arg(long, value_name = "FILE")]
    install: Option<PathBuf>,
    /// Also replace the names of objects, namespaces, hosts and addresses
    #[arg(long)]
    anonymize: bool,
    /// The file to write, for you alone; without it, standard output, unless that is a terminal
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes a clone.
///
/// # Errors
/// The cluster cannot be read, or the file not written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.output.is_none() && output::is_data_shown() {
        return Err(Diagnostic::new("a clone is no text for a terminal")
            .help("name a file with --output")
            .outcome(Outcome::NothingWritten)
            .into());
    }
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&folder).ok();
    let install = operator::installed_by(args.install.as_deref(), root.as_deref(), OVERLAY)?;
    let identity = operator::identity(&args.reading, &install)?;
    let wanted = operator::wanted_of(&args.reading, &install, &identity)?;
    let mut cloned = reading::read(&args.reading, &identity, &wanted).map_err(nothing_written)?;
    if args.anonymize {
        anonymize::anonymize(&mut cloned, &identity.namespace).map_err(nothing_written)?;
    }
    match &args.output {
        Some(file) => file::save(file, &cloned)?,
        None => output::bytes_of_data(&file::write(&cloned)?)?,
    }
    let objects = cloned.count();
    progress(
        "cloned",
        &format!("{objects} objects of {} kinds", cloned.kinds.len()),
    );
    for it in &cloned.unread {
        output::problem("warning", &Problem::new(format!("not read: {it}")));
    }
    Ok(())
}
