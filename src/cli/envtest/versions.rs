//! `kbr envtest use`, `list`, `cleanup` and `sideload`: arguments and output, as in setup-envtest.

use std::io;
use std::path::Path;

use anyhow::Context as _;

use super::selection::{IndexArgs, SelectionArgs, chosen_or_set};
use kbr_envtest::install;
use kbr_envtest::provide::{self, Provided};
use kbr_envtest::work::WorkFolder;
use kbr_envtest::{installed, or_build};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;

/// What to print about a version.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Version, platform, checksum and folder
    Overview,
    /// The folder, without a newline
    Path,
    /// A line for `source`, which sets `KUBEBUILDER_ASSETS`
    Env,
}

/// What to print, as an argument.
#[derive(Debug, clap::Args)]
struct PrintArgs {
    /// What to print
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        value_enum,
        default_value = "overview"
    )]
    print: Format,
}

/// The arguments of `use`.
#[derive(Debug, clap::Args)]
pub struct UseArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    index: IndexArgs,
    #[command(flatten)]
    format: PrintArgs,
    /// Download the version again if it is in the store
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    force: Option<bool>,
    /// Compare the SHA-512 of the archive with the index [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    verify: Option<bool>,
    /// Print `KUBEBUILDER_ASSETS` if that folder has all programs, whatever their version; also if `ENVTEST_USE_ENV` is set
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    use_env: Option<bool>,
    /// If nothing can be downloaded, build a version of Kubernetes with Go, provided that kbr builds one with the same minor version
    #[arg(long)]
    or_build: bool,
}

/// Provides a version, and prints where it is.
pub fn use_version(args: &UseArgs) -> anyhow::Result<()> {
    let selection = &args.selection;
    let store = selection.store(Some(&args.index))?;
    if chosen_or_set(args.use_env, "ENVTEST_USE_ENV")
        && let Some(found) = provide::set_by_user()
    {
        return print(&found, args.format.print);
    }
    let options = provide::Options {
        selector: selection.version.clone(),
        platform: selection.platform(),
        index: args.index.index.clone(),
        installed_only: args.index.installed_only(),
        force: args.force.unwrap_or(false),
        verify: args.verify.unwrap_or(true),
    };
    let found = if args.or_build {
        or_build::provide_or_build(&store, &options)
    } else {
        provide::provide(&store, &options)
    };
    print(&found?, args.format.print)
}

fn print(found: &Provided, format: Format) -> anyhow::Result<()> {
    output::data(&match format {
        Format::Overview => overview(found),
        Format::Path => found.folder.display().to_string(),
        Format::Env => export(&found.folder),
    })
}

fn overview(found: &Provided) -> String {
    let version = found.version.map(|version| version.to_string());
    let version = version.as_deref().unwrap_or("*");
    let sha512 = found.sha512.as_ref();
    let sha512 = sha512.map(|sha512| format!("sha512: {sha512}\n"));
    format!(
        "Version: {version}\nOS/Arch: {}\n{}Path: {}\n",
        found.platform,
        sha512.unwrap_or_default(),
        found.folder.display()
    )
}

/// A shell reads `'"'"'` within single quotes as one single quote.
fn export(folder: &Path) -> String {
    let quoted = folder.display().to_string().replace('\'', r#"'"'"'"#);
    format!("export KUBEBUILDER_ASSETS='{quoted}'\n")
}

/// The arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    index: IndexArgs,
}

/// Lists versions in the store, then those in the index.
pub fn list(args: &ListArgs) -> anyhow::Result<()> {
    let store = args.selection.store(Some(&args.index))?;
    let (selector, platform) = (&args.selection.version, &args.selection.platform());
    let mut rows = Vec::new();
    for found in installed::list(&store, selector, platform)? {
        let state = if found.is_complete() {
            "(installed)"
        } else {
            "(incomplete)"
        };
        rows.push([
            state.to_owned(),
            format!("v{}", found.version),
            found.platform.to_string(),
        ]);
    }
    if args.index.installed_only() {
        return output::data(&table(&rows));
    }
    let published = match provide::published(&args.index.index) {
        Ok(published) => published,
        Err(error) => {
            output::data(&table(&rows))?;
            return Err(error);
        }
    };
    for archive in published.matching(selector, platform) {
        let version = format!("v{}", archive.version);
        rows.push([
            "(available)".to_owned(),
            version,
            archive.platform.to_string(),
        ]);
    }
    output::data(&table(&rows))
}

/// Columns with two spaces between them.
fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max();
    let (first, second) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    let line = |[state, version, platform]: &[String; 3]| {
        format!("{state:first$}  {version:second$}  {platform}\n")
    };
    rows.iter().map(line).collect()
}

/// The arguments of `cleanup`.
#[derive(Debug, clap::Args)]
pub struct CleanupArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Has no effect: `cleanup` looks only at versions in the store
    #[arg(short, long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    installed_only: Option<bool>,
}

/// Removes versions from the store, in the order of their folders' names.
pub fn cleanup(args: &CleanupArgs) -> anyhow::Result<()> {
    let store = args.selection.store(None)?;
    if !store.root.exists() {
        return Ok(());
    }
    let work = WorkFolder::lock(&store)?;
    work.clear()?;
    let mut found = installed::list(&store, &args.selection.version, &args.selection.platform())?;
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    for version in found {
        install::remove(&version)?;
        output::data(&format!(
            "removed {} ({})\n",
            version.version, version.platform
        ))?;
    }
    Ok(())
}

/// The arguments of `sideload`.
#[derive(Debug, clap::Args)]
pub struct SideloadArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    format: PrintArgs,
}

/// Adds the archive on standard input to the store.
pub fn sideload(args: &SideloadArgs) -> anyhow::Result<()> {
    let store = args.selection.store(None)?;
    let platform = args.selection.platform();
    let version = args.selection.version.versions.only();
    let Some(version) = version.filter(|_| platform.is_concrete()) else {
        let text = format!(
            "an archive holds one version for one platform, not `{}` for {platform}",
            args.selection.version
        );
        return Err(Diagnostic::new(text)
            .help("name the version of the archive: kbr envtest sideload 1.37.2 < ARCHIVE")
            .into());
    };
    let version = installed::at(&store, version, &platform);
    let work = WorkFolder::lock(&store)?;
    let from = "the archive on standard input";
    install::add(&version, &work, io::stdin().lock(), from).context(provide::UNCHANGED)?;
    print(&Provided::installed(version, None), args.format.print)
}
