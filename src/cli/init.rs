//! `kbr init`: a new project.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::write::{self, Intent, Plan};
use super::{WriteArgs, prompt, workspace};
use crate::embedded;
use kbr_host::diagnostic::Problems;
use kbr_host::lines::Lines;
use kbr_host::output;
use kbr_scaffold::blueprint::Presence;
use kbr_scaffold::contents;
use kbr_scaffold::library::Origin;
use kbr_scaffold::project::{self, Head, KBR, Project, name, values};
use kbr_scaffold::resource::controller::FIELD_MANAGER_MAX;
use kbr_scaffold::resource::names;
use kbr_scaffold::resource::protected;
use kbr_scaffold::scaffold::LAYOUT;
use kbr_scaffold::trust;
use kbr_scaffold::workdir;

/// The default domain.
const DOMAIN: &str = "my.domain";

/// The length reserved for a controller's name in its field manager, `<project>.<domain>/<controller>`.
const CONTROLLER_ROOM: usize = 24;

/// Start a project in a new or existing folder
///
/// Keeps all files of the folder, and writes nothing if one of its own files exists and differs. A README, a license, `.gitignore` and
/// the result of `cargo init` are no conflict. Downloads nothing and runs no programs. Running the command again restores missing files.
///
///     kbr init --domain example.com --repo github.com/crew/captains
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Suffix of the project's API groups, as in `crew.example.com` [default: my.domain]
    ///
    /// It becomes part of names in the cluster and cannot change later. On a terminal, kbr asks for it.
    #[arg(long)]
    domain: Option<String>,
    /// Name of the crate, the binary, and the objects in the cluster [default: the name of the package in the folder, or of the folder]
    #[arg(long)]
    project_name: Option<String>,
    /// Repository: a URL, or a path such as `github.com/crew/captains`, for `Cargo.toml`
    ///
    /// A single word, as in a Go module path, is recorded in PROJECT but is not a URL.
    #[arg(long)]
    repo: Option<String>,
    /// Copyright owner
    #[arg(long)]
    owner: Option<String>,
    /// License: a `LICENSE` file and a key in `Cargo.toml` [default: apache2]
    #[arg(long)]
    license: Option<License>,
    /// Where the runtime library is: in the project, or in the registry, as any other crate [default: vendored]
    ///
    /// `kbr upgrade --library` changes it later.
    #[arg(long, value_parser = library(), value_name = "WHERE")]
    library: Option<Origin>,
    /// Folder of the project; created if it is missing
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum License {
    Apache2,
    Mit,
    None,
}

impl License {
    /// The value of `--license`.
    fn name(self) -> &'static str {
        match self {
            License::Apache2 => "apache2",
            License::Mit => "mit",
            License::None => "none",
        }
    }
}

/// Runs the command.
///
/// # Errors
/// As [`write::run`].
pub fn run(args: &Args) -> anyhow::Result<()> {
    write::run(plan(args).map(Some))
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let current = env::current_dir().context("cannot find the current folder")?;
    let root = current.join(&args.directory);
    let root = root.canonicalize().unwrap_or(root);
    if root.exists() {
        trust::check_existing(&root)?;
    }
    let domain = ask(args, &root)?;
    let session = write::lock(root, args.write)?;
    let found = workdir::load_if_any(session.root())?;
    let package = package(session.root());
    let head = wanted(
        args,
        domain.as_deref(),
        session.root(),
        found.as_ref().map(|found| &found.head),
        package.as_deref(),
    );
    if let Some(found) = &found {
        embedded::check(&found.head.kbr)?;
    }
    check(&head)?;
    if let Some(found) = &found {
        check_same(&head, &found.head)?;
    }
    let named_by = match package {
        Some(_) => "from `Cargo.toml`",
        None => "from the folder",
    };
    output::lines(&summary(args, &head, found.is_some(), named_by));
    workspace::warn(session.root());
    let (intent, next_steps) = match found {
        Some(found) => (Intent::head(&found, Presence::Recorded), Lines::default()),
        None => (
            Intent::head(&Project::new(head), Presence::New),
            next_steps(args),
        ),
    };
    session.plan(&intent, Lines::default(), next_steps)
}

/// The domain, from the flag or from the user; `None` for that of PROJECT, or the default. Errors that no answer avoids are reported before
/// the question.
fn ask(args: &Args, root: &Path) -> anyhow::Result<Option<String>> {
    if args.domain.is_some() || args.write.yes || !prompt::is_terminal() {
        return Ok(args.domain.clone());
    }
    if root.exists() {
        write::recover(root, args.write)?;
    }
    if workdir::load_if_any(root)?.is_some() {
        return Ok(None);
    }
    check(&wanted(args, None, root, None, package(root).as_deref()))?;
    let domain = prompt::text("Domain", DOMAIN, |domain| {
        let problem = domain_problem(domain).or_else(|| protected_problem(domain));
        problem.map_or(Ok(()), |(problem, _)| Err(problem))
    });
    domain.map(Some)
}

/// The name of the package in the folder, as `cargo init` leaves one.
fn package(root: &Path) -> Option<String> {
    let text = contents::text(root, "Cargo.toml")?;
    let manifest: toml::Table = text.parse().ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Resolves the parameters from the flags and the answer, then PROJECT, then defaults. `package` is the name of the package in the folder.
fn wanted(
    args: &Args,
    domain: Option<&str>,
    root: &Path,
    found: Option<&Head>,
    package: Option<&str>,
) -> Head {
    let or = |flag: Option<&str>, recorded: fn(&Head) -> &String, default: &str| {
        let recorded = || found.map_or(default.to_owned(), |project| recorded(project).clone());
        flag.map_or_else(recorded, |flag| flag.trim().to_owned())
    };
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    let license = args.license.map(License::name);
    Head {
        layout: LAYOUT.to_owned(),
        kbr: KBR.to_owned(),
        name: or(
            args.project_name.as_deref(),
            |head| &head.name,
            &name::propose(package.unwrap_or(&folder), embedded::LOCK),
        ),
        domain: or(domain, |head| &head.domain, DOMAIN),
        repo: or(args.repo.as_deref(), |head| &head.repo, ""),
        owner: or(args.owner.as_deref(), |head| &head.owner, ""),
        license: or(license, |head| &head.license, "apache2"),
        library: args
            .library
            .or(found.map(|head| head.library))
            .unwrap_or_default(),
        names: found.map(|head| head.names.clone()).unwrap_or_default(),
    }
}

/// Checks what PROJECT records of a new project.
///
/// # Errors
/// All problems.
pub fn check(project: &Head) -> anyhow::Result<()> {
    let mut problems = problems(project);
    if let Some((problem, help)) = protected_problem(&project.domain) {
        problems.add(problem, help);
    }
    problems.into_result()
}

/// As [`check`], for a project whose kinds exist: those of the Kubernetes project itself may be of its domain.
///
/// # Errors
/// All problems.
pub fn check_imported(project: &Head) -> anyhow::Result<()> {
    problems(project).into_result()
}

fn problems(project: &Head) -> Problems {
    let mut problems = Problems::default();
    if let Some(problem) = name::problem(&project.name, embedded::LOCK) {
        let name = name::propose(&project.name, embedded::LOCK);
        let help = format!("try `--project-name {name}`");
        problems.add(problem, help);
    }
    let manager_id = project.manager_id();
    if let Some((problem, help)) = domain_problem(&project.domain) {
        problems.add(problem, help);
    } else if manager_id.len() + 1 + CONTROLLER_ROOM > FIELD_MANAGER_MAX {
        problems.add(
            format!("`{manager_id}` is too long: a field manager is `{manager_id}/<controller>`, of at most {FIELD_MANAGER_MAX} characters"),
            format!("use a shorter domain or project name: together at most {} characters", FIELD_MANAGER_MAX - CONTROLLER_ROOM - 2),
        );
    }
    if let Some(problem) = values::repo_problem(&project.repo) {
        problems.add(
            problem,
            "pass a URL or a path: `--repo github.com/crew/captains`",
        );
    }
    if let Some(problem) = values::owner_problem(&project.owner) {
        problems.add(problem, "pass a name: `--owner 'The Crew'`");
    }
    problems
}

/// The problem of an invalid domain, and a valid one.
fn domain_problem(domain: &str) -> Option<(String, String)> {
    if names::is_subdomain(domain) {
        return None;
    }
    let nearest = match names::to_subdomain(domain) {
        nearest if nearest.is_empty() => DOMAIN.to_owned(),
        nearest => nearest,
    };
    let rule = "use lower-case letters, digits, and `-` or `.` between them";
    let problem = format!("`{domain}` is not a domain: {rule}");
    Some((problem, format!("try `--domain {nearest}`")))
}

/// The problem of a domain in which no one may create a kind, and another one.
fn protected_problem(domain: &str) -> Option<(String, String)> {
    let owner = protected(domain)?;
    Some((
        format!(
            "`{domain}` belongs to the Kubernetes project: the API server rejects new kinds under `{owner}`"
        ),
        "use your own domain: `--domain example.com`".to_owned(),
    ))
}

/// A repeated `init` must not change what PROJECT records.
fn check_same(wanted: &Head, found: &Head) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    for (flag, wanted, found) in [
        ("project-name", &wanted.name, &found.name),
        ("domain", &wanted.domain, &found.domain),
        ("repo", &wanted.repo, &found.repo),
        ("owner", &wanted.owner, &found.owner),
        ("license", &wanted.license, &found.license),
    ] {
        if wanted != found {
            problems.add(
                format!("this project has `--{flag} '{found}'`, not `{wanted}`"),
                format!("leave `--{flag}` out, or use another folder"),
            );
        }
    }
    if wanted.library != found.library {
        let [found, wanted] = [found, wanted].map(|head| head.library.name());
        problems.add(
            format!("this project has `--library {found}`, not `{wanted}`"),
            format!("run `kbr upgrade --library {wanted}`"),
        );
    }
    problems.into_result()
}

/// The values of `--library`.
pub fn library() -> impl TypedValueParser<Value = Origin> {
    let words = PossibleValuesParser::new(Origin::ALL.map(Origin::name));
    words.map(|word| {
        let named = Origin::ALL.into_iter().find(|it| it.name() == word);
        named.unwrap_or_default()
    })
}

/// Every value, and its source unless it is a flag.
fn summary(args: &Args, project: &Head, again: bool, named_by: &str) -> Lines {
    let mut text = Lines::default();
    let mut line = |what: &str, flag: &str, value: &str, given: bool, source: &str| {
        let source = match (given, again) {
            (true, _) => String::new(),
            (false, true) => " (from PROJECT)".to_owned(),
            (false, false) => format!(" ({source}; change it with `--{flag}`)"),
        };
        text.add(format_args!("{what:>8} {value}{source}"));
    };
    // An answer is as good as the flag.
    let domain_given = args.domain.is_some() || (!again && project.domain != DOMAIN);
    line(
        "project",
        "project-name",
        &project.name,
        args.project_name.is_some(),
        named_by,
    );
    line(
        "domain",
        "domain",
        &project.domain,
        domain_given,
        "the default",
    );
    line(
        "license",
        "license",
        &project.license,
        args.license.is_some(),
        "the default",
    );
    if !project.repo.is_empty() && project::repository(&project.repo).is_none() {
        text.add(format_args!(
            "note: `{}` is not a URL: PROJECT records it, but `Cargo.toml` gets no `repository`",
            project.repo
        ));
    }
    text
}

fn next_steps(args: &Args) -> Lines {
    let mut text = Lines::from("next:\n");
    if args.directory != Path::new(".") {
        text.add(format_args!("  cd {}", args.directory.display()));
    }
    text.add("  kbr create api --group crew --version v1 --kind Captain");
    text
}
