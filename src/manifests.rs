//! `kbr manifests`: CRDs from the types of the `api` crate, roles and webhooks from `+kbr:` comments.

mod cargo;
mod comments;
mod crd;
mod drift;
mod files;
mod history;
mod lint;
mod markers;
mod paths;
mod problem;
mod rbac;
mod sources;
mod version;
mod webhook;
mod yaml;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cli::report;
use crate::commit;
use crate::project::{self, Project};
use files::{BASES, Compared, File};
use problem::Problem;
use sources::Sources;

/// Generate CRDs, roles and webhook configurations from the code
///
/// CRDs go to `config/crd/bases`, from the types that `api/src/bin/crdgen.rs` lists; roles to `config/rbac/role.yaml`,
/// from comments like `// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch` in the operator's sources;
/// webhooks to `config/webhook/manifests.yaml`, from comments that begin with `// +kbr:webhook:`.
/// A file that is right is not touched, and one without kbr's first line is yours and stays as it is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Write nothing; print what is stale as a diff, and fail if anything is
    #[arg(long)]
    pub check: bool,
    /// Generate the CRDs only
    #[arg(long)]
    pub crd_only: bool,
}

/// Generates the manifests of the project that the current folder belongs to.
///
/// # Errors
/// When the code does not compile, or says what no API server would take: everything that is wrong at once, nothing
/// written. With `--check`, also when anything is stale.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = std::env::current_dir().context("cannot tell the current folder")?;
    let root = project::find_root(&folder)?;
    finish(&root, args.check)?;
    let project = Project::load(&root)?;
    let (files, warnings) = generate(&root, &project, args.crd_only)?;
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    if args.check {
        check(&root, &files)
    } else {
        write(&root, &files)
    }
}

/// Ends a commit that was interrupted before its files are read; `--check` only tells of it.
fn finish(root: &Path, check: bool) -> anyhow::Result<()> {
    match commit::unfinished(root)? {
        Some(state) if check => eprintln!("warning: {state}"),
        Some(_) => drop(commit::lock(root)?),
        None => {}
    }
    Ok(())
}

/// `captains-manager-role`: what the scaffolded bindings refer to.
fn manager_role(project: &Project) -> String {
    format!("{}-manager-role", project.name)
}

/// Every file as it should be, and what a person should know.
fn generate(
    root: &Path,
    project: &Project,
    crd_only: bool,
) -> anyhow::Result<(Vec<File>, Vec<Problem>)> {
    let packages = cargo::packages(root)?;
    let mut problems = Vec::new();
    let mut files = Vec::new();
    let sources = if crd_only {
        Sources::default()
    } else {
        Sources::read(root, &packages, &mut problems)?
    };
    if !crd_only {
        files = roles(root, &manager_role(project), &sources, &mut problems)?;
    }
    let mut crds = Vec::new();
    if packages.iter().any(|package| package.crdgen) {
        match cargo::crds(root) {
            Ok(printed) => crds = crd::merge(&printed, &mut problems),
            Err(error) => problems.push(Problem::new(format!("{error:#}"))),
        }
    }
    let mut warnings = Vec::new();
    for crd in &crds {
        let (errors, doubts) = lint::check(crd);
        problems.extend(errors);
        warnings.extend(doubts);
        paths::check(crd, &mut problems);
        problems.extend(drift::selectable_fields(crd));
    }
    if !crd_only {
        let (file, found) = webhooks(root, project, &sources, &crds, &mut problems)?;
        files.extend(file);
        warnings.extend(found);
    }
    if let Some(error) = problem::error(&problems) {
        return Err(error);
    }
    for crd in &crds {
        files.push(File {
            path: format!("{BASES}/{}", crd.file()),
            text: yaml::render(
                &files::header("the types in `api`"),
                std::slice::from_ref(&crd.object),
            )?,
        });
    }
    warnings.extend(crds.iter().filter_map(drift::lost_fields));
    warnings.extend(history::differences(project, &crds));
    warnings.extend(unlisted(root, &crds)?);
    Ok((files, warnings))
}

/// The roles of the whole cluster and of namespaces; for who deploys `config/namespaced`, the same for one namespace.
fn roles(
    root: &Path,
    role: &str,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> anyhow::Result<Vec<File>> {
    let roles = rbac::Roles::new(role, &sources.called("rbac"), problems);
    let header = files::header("the `+kbr:rbac` comments in the sources");
    let mut files = vec![File {
        path: "config/rbac/role.yaml".to_owned(),
        text: yaml::render(&header, &roles.manifests())?,
    }];
    if root.join("config/namespaced/role").is_dir() {
        files.push(File {
            path: "config/namespaced/role/role.yaml".to_owned(),
            text: yaml::render(&header, &[roles.namespaced(role)])?,
        });
    }
    Ok(files)
}

/// The webhook configurations, unless the project has never had any; and what a person should know of them.
fn webhooks(
    root: &Path,
    project: &Project,
    sources: &Sources,
    crds: &[crd::Crd],
    problems: &mut Vec<Problem>,
) -> anyhow::Result<(Option<File>, Vec<Problem>)> {
    let names = webhook::Names::of(project);
    let webhooks = webhook::read(&names, &sources.called("webhook"), problems);
    let own = sources.called("webhookconfiguration");
    let configurations = webhook::configurations(&names, &own, &webhooks, problems);
    let kinds = webhook::Kinds::of(project, crds);
    let warnings = webhook::compare(&kinds, &sources.files, &webhooks, problems);
    // An empty file is what `config/webhook/kustomization.yaml` still can list when the last webhook is gone.
    if configurations.is_empty() && !root.join(webhook::PATH).is_file() {
        return Ok((None, warnings));
    }
    let header = files::header("the `+kbr:webhook` comments in the sources");
    let file = File {
        path: webhook::PATH.to_owned(),
        text: yaml::render(&header, &configurations)?,
    };
    Ok((Some(file), warnings))
}

/// CRDs that `config/crd/kustomization.yaml` does not list, so that nobody would install them.
fn unlisted(root: &Path, crds: &[crd::Crd]) -> anyhow::Result<Vec<Problem>> {
    const PATH: &str = "config/crd/kustomization.yaml";
    let Some(text) = files::read(&root.join(PATH))? else {
        return Ok(Vec::new());
    };
    let text = String::from_utf8_lossy(&text);
    let parsed: Value = serde_saphyr::from_str(&text)
        .with_context(|| format!("cannot read `{PATH}`, nothing was written"))?;
    let listed: Vec<&str> = parsed["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let lines = crds.iter().map(|crd| format!("bases/{}", crd.file()));
    let missing = lines.filter(|line| !listed.contains(&line.as_str()));
    Ok(missing
        .map(|line| {
            let text = format!("`{PATH}` does not list `{line}`, so it is not installed");
            Problem::new(text).help(format!("add `- {line}` to its `resources`"))
        })
        .collect())
}

fn check(root: &Path, files: &[File]) -> anyhow::Result<()> {
    let compared = files::compare(root, files)?;
    let mut stdout = std::io::stdout().lock();
    for change in &compared.changes {
        write!(stdout, "{}", files::diff(change)).context("cannot print the diff")?;
    }
    leftovers(&compared);
    let stale = compared.changes.len() + compared.gone.len();
    if stale > 0 {
        let files = if stale == 1 {
            "1 manifest is".to_owned()
        } else {
            format!("{stale} manifests are")
        };
        bail!("{files} stale, nothing was written\nhelp: run `kbr manifests`");
    }
    Ok(())
}

fn write(root: &Path, files: &[File]) -> anyhow::Result<()> {
    let mut compared = files::compare(root, files)?;
    // Without changes there is nothing to lock for: builds and tests that run side by side all come this way.
    if !compared.changes.is_empty() {
        let lock = commit::lock(root)?;
        compared = files::compare(root, files)?;
        commit::commit(&lock, &compared.changes)?;
    }
    report::report(&compared.changes);
    leftovers(&compared);
    let same = files.len() - compared.changes.len() - compared.kept.len();
    if same > 0 {
        eprintln!("{:>12} {same} of {} manifests", "same", files.len());
    }
    Ok(())
}

/// What is neither written nor right.
fn leftovers(compared: &Compared) {
    for path in &compared.kept {
        eprintln!(
            "{:>12} {path} (yours: it does not begin with kbr's first line)",
            "keep"
        );
    }
    for path in &compared.gone {
        eprintln!(
            "warning: no type gives `{path}` any more\n    help: `git rm {path}`, and its line in `config/crd/kustomization.yaml`"
        );
    }
}
