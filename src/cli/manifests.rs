//! `kbr manifests`: arguments and output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;

use super::report;
use super::report::Format;
use crate::watch::Watch;
use kbr_envtest::installed;
use kbr_host::diagnostic::{Diagnostic, Problem, nothing_written};
use kbr_host::lines::Lines;
use kbr_host::output;
use kbr_manifests::against::{Finding, Source};
use kbr_manifests::{self as manifests, Compared, Generated, Options, Run, audit};
use kbr_scaffold::changes::Change;
use kbr_scaffold::workdir;

/// Generate CRDs, roles and webhook configurations from the code, and check the samples
///
/// CRDs go to `config/crd/bases`, from the types that `api/src/bin/crdgen.rs` lists; roles to `config/rbac/role.yaml`,
/// from comments like `// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch` in the operator's sources;
/// webhooks to `config/webhook/manifests.yaml`, from comments that begin with `// +kbr:webhook:`. Samples below
/// `config/samples` that do not match their type are reported; one that you have not edited is brought up to date.
/// Files that are up to date are not touched. kbr never changes a file that lacks its header.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
pub struct Args {
    #[command(subcommand)]
    pub question: Option<Question>,
    /// Write nothing; print what is stale as a diff, and fail if anything is
    #[arg(long)]
    pub check: bool,
    /// Generate only CRDs
    #[arg(long)]
    pub crd_only: bool,
    /// Remove generated CRDs whose type no longer exists
    #[arg(long, conflicts_with = "check")]
    pub prune: bool,
    /// Truncate descriptions in CRDs to this many bytes, after a sentence or word; 0 removes them. To set it permanently:
    /// `max_description_length` under `[manifests]` in PROJECT
    #[arg(long, value_name = "N")]
    pub max_description_length: Option<usize>,
    /// Run again whenever a source changes, until interrupted; prints one line per run
    #[arg(long, conflicts_with = "check")]
    pub watch: bool,
}

/// What is asked of the code, instead of generating manifests. None writes anything.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Question {
    /// Compare the CRDs with earlier ones, and fail if a change breaks objects or clients
    ///
    /// Warnings are changes that existing objects survive. A comment `// +kbr:lint:allow=<rule>` above the field or type allows
    /// one.
    Compare {
        /// A git ref (`origin/main`, `v1.2.0`), a folder with CRDs or a project, which begins with `./`, `../` or `/`, or
        /// `cluster`: that of the current context, which also knows the stored versions
        from: String,
        /// Format of the findings
        #[arg(long, short, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Compare the operator's permissions with its requests in an audit log
    ///
    /// Prints the permissions that were denied, and those in `config/default` that are wider than used (`*`) or were never used. A
    /// permission that no test used may still be needed. Fails only if a permission was denied.
    Permissions {
        /// A log of `kbr envtest run --audit`
        audit: PathBuf,
    },
    /// Print `RESOURCE=FINALIZER` for each finalizer that a controller sets, as `make undeploy` needs them
    Finalizers,
}

impl Args {
    fn options(&self) -> Options<'static> {
        Options {
            crd_only: self.crd_only,
            max_description_length: self.max_description_length,
            quiet: self.watch,
            read_only: self.check,
            generator: None,
        }
    }
}

/// Generates the manifests of the project that the current folder belongs to.
///
/// # Errors
/// The code does not compile, or the API server would reject what it describes: all problems are reported at once, and nothing
/// is written. With `--check`, also if anything is stale. The answer to a question is bad: see [`Question`].
pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&folder)?;
    match &args.question {
        Some(Question::Compare { from, output }) => {
            return against(&root, &Source::of(from), *output);
        }
        Some(Question::Permissions { audit }) => return check_permissions(&root, audit),
        Some(Question::Finalizers) => {
            let found = manifests::finalizers::named(&root)?.into_iter();
            return output::data(&found.collect::<Lines>().to_string());
        }
        None => {}
    }
    if args.watch {
        watch(&root, args);
    }
    generate(&root, args).map_err(nothing_written)
}

/// Generates the manifests once, and writes or checks them.
fn generate(root: &Path, args: &Args) -> anyhow::Result<()> {
    let generated = manifests::generate(root, args.options())?;
    for warning in &generated.warnings {
        output::problem("warning", warning);
    }
    if args.check {
        return check(root, &generated);
    }
    let compared = manifests::write(root, &generated, args.prune)?;
    print_changes(&generated, &compared);
    Ok(())
}

/// Prints the report on stdout.
///
/// # Errors
/// A permission was denied.
fn check_permissions(root: &Path, log: &Path) -> anyhow::Result<()> {
    let mut kubectl = Command::new(installed::find(None)?.program("kubectl"));
    // Without the user's kubectl preferences.
    kubectl.env("KUBERC", "off").stdin(Stdio::null());
    let report = audit::check(kubectl, root, log)?;
    output::data(&report.text)?;
    if report.denied > 0 {
        let permissions = if report.denied == 1 {
            "1 permission was".to_owned()
        } else {
            format!("{} permissions were", report.denied)
        };
        let help = "add the comments, run `kbr manifests`, and test again with `--audit`";
        let error = Diagnostic::new(format_args!("{permissions} denied"));
        return Err(error.help(help).into());
    }
    Ok(())
}

/// Prints the warnings, or all findings as JSON on stdout.
///
/// # Errors
/// A change breaks objects or clients.
fn against(root: &Path, source: &Source, format: Format) -> anyhow::Result<()> {
    let comparison = manifests::against::compare(root, source)?;
    let (errors, warnings): (Vec<_>, Vec<_>) =
        comparison.findings.iter().partition(|it| it.is_error());
    if format == Format::Json {
        let all: Vec<Value> = comparison.findings.iter().map(Finding::json).collect();
        output::data(&format!("{:#}\n", Value::from(all)))?;
    } else {
        for warning in &warnings {
            output::problem("warning", &warning.problem());
        }
    }
    let found = if comparison.findings.is_empty() {
        ": no findings"
    } else {
        ""
    };
    let compared = match comparison.compared {
        0 => format!("no CRDs of this project found in {source}: nothing to compare"),
        1 => format!("compared 1 CRD with {source}{found}"),
        count => format!("compared {count} CRDs with {source}{found}"),
    };
    output::message(compared);
    if errors.is_empty() {
        return Ok(());
    }
    let error = match format {
        Format::Text => {
            let errors = errors.iter().map(|it| it.problem()).collect();
            Diagnostic::findings("incompatible CRD changes", errors)
        }
        Format::Json => Diagnostic::new(format_args!("incompatible CRD changes: {}", errors.len())),
    };
    Err(error.into())
}

/// Runs again whenever a source changes, until kbr is interrupted.
fn watch(root: &Path, args: &Args) -> ! {
    let mut reported = Vec::new();
    loop {
        let mut watch = Watch::new(root);
        match manifests::regenerate(root, args.options(), args.prune, &mut reported) {
            Ok(run) => {
                print(&run);
                run.written.iter().for_each(|path| watch.wrote(path));
            }
            Err(error) => {
                output::failure("error", &nothing_written(error));
            }
        }
        while !watch.changed() {}
    }
}

fn print(run: &Run) {
    for warning in &run.warnings {
        output::problem("warning", warning);
    }
    output::message(format_args!("manifests: {}", run.summary));
}

/// Prints stale files as a diff on stdout.
///
/// # Errors
/// A file is stale.
fn check(root: &Path, generated: &Generated) -> anyhow::Result<()> {
    let compared = generated.compare(root)?;
    for change in &compared.changes {
        output::data(&manifests::diff(change))?;
    }
    print_leftovers(&compared);
    let stale = compared.changes.len() + compared.orphaned.len();
    if stale > 0 {
        let files = if stale == 1 {
            "1 manifest is".to_owned()
        } else {
            format!("{stale} manifests are")
        };
        let text = format!("{files} stale");
        return Err(Diagnostic::new(text).help("run `kbr manifests`").into());
    }
    Ok(())
}

/// Prints the written, kept and orphaned files.
fn print_changes(generated: &Generated, compared: &Compared) {
    report::report(&compared.changes);
    print_leftovers(compared);
    let same = generated.same(compared);
    if same > 0 {
        let all = generated.total();
        output::message(format_args!("{:>12} {same} of {all} manifests", "same"));
    }
}

/// Prints files that kbr does not manage, and orphaned ones.
fn print_leftovers(compared: &Compared) {
    for path in &compared.kept {
        output::message(format_args!(
            "{:>12} {path} (it lacks kbr's header)",
            "keep"
        ));
    }
    for (reason, Change { path, .. }) in &compared.orphaned {
        let orphan = Problem::new(format_args!("{reason} `{path}`"));
        let help = "to remove it, run `kbr manifests --prune`";
        output::problem("warning", &orphan.help(help));
    }
}
