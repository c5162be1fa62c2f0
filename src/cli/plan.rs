//! `kbr plan` and `kbr clone`: arguments and output.

mod baseline;
mod clone;
mod inside;
mod operator;
mod reading;

use std::path::PathBuf;
use std::process::ExitCode;

use kbr_envtest::{installed, progress};
use kbr_host::output;
use kbr_manifests::overlay::OVERLAY;
use kbr_plan::confine::{self, Sandbox};
use kbr_plan::inside::Job;
use kbr_plan::release::Release;
use kbr_plan::report::Report;
use kbr_plan::text::{self, Title};

pub use clone::{Args as CloneArgs, run as clone};
pub use inside::run as inside;
use reading::Reading;

/// See what a release of an operator would do to a cluster, before it does it
///
/// Reads the objects that the operator may read, serves them from an API server of its own, runs today's release and then the new one
/// there until they are idle, and shows what the new one changed. The cluster receives only GETs. The operator runs in a sandbox with no
/// network but the loopback. Works for operators in any language:
///
///     kbr plan --context prod
///     kbr plan --context prod --install new.yaml --baseline './old-manager' -- ./manager
///     kbr plan --clone prod.clone --output markdown
///
/// Inside a project, it builds the operator, and the one of the newest git tag as today's release.
/// The exit code is 0 if nothing would change, 2 if something would, and 3 if the release is refused something or never becomes idle.
/// It is 1 after each error, also of the command line.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// Use this clone, which `kbr clone` has made, instead of reading a cluster
    #[arg(long, value_name = "FILE", conflicts_with = "context")]
    clone: Option<PathBuf>,
    /// The Deployment of the operator in the cluster: its flags, environment and `ServiceAccount` are used, unless the installer has one
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "clone")]
    deployment: Option<String>,
    /// What installs the new release, as YAML [default: what `config/default` of the project renders]
    #[arg(long, value_name = "FILE")]
    install: Option<PathBuf>,
    /// The kustomization of the project that installs both releases
    #[arg(long, value_name = "FOLDER", default_value = OVERLAY)]
    overlay: String,
    /// The git ref of today's release of the project [default: the newest tag]
    #[arg(long, value_name = "REF", conflicts_with = "baseline")]
    against: Option<String>,
    /// The command of today's release, which a shell reads
    #[arg(long, value_name = "COMMAND")]
    baseline: Option<String>,
    /// What installed today's release, as YAML [default: its Deployment is that of the new one]
    #[arg(long, value_name = "FILE", requires = "baseline")]
    baseline_install: Option<PathBuf>,
    /// Format of the report
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Show all fields, values and events, and what today's release changes by itself
    #[arg(long)]
    details: bool,
    /// The seconds without a change after which an operator is idle
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    idle: u64,
    /// The seconds that each release may take until it is idle
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Run the operator without a sandbox: it can reach your network, and read and write your files
    #[arg(long)]
    unconfined: bool,
    /// The command of the new release [default: the project's operator, with the arguments of its Deployment]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

/// Exit codes besides success.
const CHANGES: u8 = 2;
const BAD: u8 = 3;

/// Prints the plan.
///
/// # Errors
/// The cluster cannot be read, the operator cannot be built or started, or there is no sandbox.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let prepared = operator::prepare(args)?;
    let cloned = match &args.clone {
        Some(file) => kbr_plan::file::load(file)?,
        None => reading::read(&args.reading, &prepared.operator, &prepared.wanted)?,
    };
    let rollouts = args.reading.rollouts;
    let assets = installed::find_for_clone(&cloned.kubernetes, rollouts, None)?;
    let count = cloned.count();
    let kinds = cloned.kinds.len();
    progress("cloned", &format!("{count} objects of {kinds} kinds"));
    let title = Title {
        operator: prepared.name,
        cluster: match (&args.clone, &args.reading.context) {
            (Some(file), _) => file.display().to_string(),
            (None, Some(context)) => context.clone(),
            (None, None) => "the current context".to_owned(),
        },
        baseline: prepared.baseline_name,
    };
    let mut sandbox = Sandbox {
        visible: prepared.visible,
        written: prepared
            .next
            .written()
            .into_iter()
            .chain(prepared.baseline.iter().flat_map(Release::written))
            .collect(),
        folder: prepared.folder,
        resolver: confine::resolver()?,
    };
    sandbox.visible.push(assets.folder.clone());
    let job = Job {
        cloned,
        operator: (prepared.operator.namespace, prepared.operator.account),
        baseline: prepared.baseline,
        next: prepared.next,
        assets: assets.folder,
        quiet: args.idle,
        limit: args.timeout,
        confined: !args.unconfined,
        rollouts,
    };
    let report = inside::start(job, (!args.unconfined).then_some(&sandbox))?;
    let printed = match args.output {
        Format::Text => text::text(&report, &title, args.details),
        Format::Markdown => text::markdown(&report, &title, args.details),
        Format::Json => serde_json::to_string_pretty(&report)? + "\n",
    };
    match args.output {
        Format::Text => output::colored_data(&printed, color)?,
        Format::Markdown | Format::Json => output::data(&printed)?,
    }
    Ok(exit_code(&report))
}

/// The color of a line that begins with a sign: green, yellow or red.
fn color(line: &str) -> Option<u8> {
    let sign = line.strip_prefix("  ")?.chars().next()?;
    match sign {
        '+' => Some(32),
        '~' | '±' => Some(33),
        '-' | '!' => Some(31),
        _ => None,
    }
}

fn exit_code(report: &Report) -> ExitCode {
    match (report.is_bad(), report.is_empty()) {
        (true, _) => ExitCode::from(BAD),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(CHANGES),
    }
}
