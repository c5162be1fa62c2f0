//! `kbr manifests`: CRDs from the types of the `api` crate, roles and webhooks from `+kbr:` comments.

mod crd;
mod descriptions;
mod drift;
mod files;
mod history;
mod lint;
mod markers;
mod output;
mod packages;
mod paths;
mod problem;
mod rbac;
mod samples;
mod sources;
mod version;
mod webhook;
mod yaml;

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::commit;
use crate::project::Project;
use crate::watch::Watch;
use crate::workdir;
use files::{BASES, File};
use lint::places::Places;
pub use lint::rules::condition::check as check_condition;
use output::Generated;
pub use problem::Problem;
use sources::Sources;
pub use webhook::PATH as WEBHOOKS;

/// Generate CRDs, roles and webhook configurations from the code, and check the samples
///
/// CRDs go to `config/crd/bases`, from the types that `api/src/bin/crdgen.rs` lists; roles to `config/rbac/role.yaml`,
/// from comments like `// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch` in the operator's sources;
/// webhooks to `config/webhook/manifests.yaml`, from comments that begin with `// +kbr:webhook:`. What a sample below
/// `config/samples` says otherwise than its type is told; one that nobody has touched is brought up to date.
/// A file that is right is not touched, and one without kbr's first line is yours and stays as it is.
#[derive(Clone, Debug, Default, clap::Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
pub struct Args {
    /// Write nothing; print what is stale as a diff, and fail if anything is
    #[arg(long)]
    pub check: bool,
    /// Generate the CRDs only
    #[arg(long)]
    pub crd_only: bool,
    /// Remove the CRDs that kbr wrote for types that are gone
    #[arg(long, conflicts_with = "check")]
    pub prune: bool,
    /// Cut descriptions in CRDs to so many bytes, at the end of a sentence or word; 0 leaves none
    #[arg(long, value_name = "N")]
    pub max_description_length: Option<usize>,
    /// Run again whenever a source changes, until interrupted; one line a run
    #[arg(long, conflicts_with = "check")]
    pub watch: bool,
}

/// Generates the manifests of the project that the current folder belongs to.
///
/// # Errors
/// When the code does not compile, or says what no API server would take: everything that is wrong at once, nothing
/// written. With `--check`, also when anything is stale.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = std::env::current_dir().context("cannot tell the current folder")?;
    let root = workdir::find_root(&folder)?;
    if args.watch {
        let mut told = Vec::new();
        loop {
            let mut watch = Watch::new(&root);
            match again(&root, args, &mut told) {
                Ok(written) => written.iter().for_each(|path| watch.wrote(path)),
                Err(error) => crate::output::message(format_args!("error: {error:#}")),
            }
            while !watch.changed() {}
        }
    }
    let generated = generate(&root, args)?;
    for warning in &generated.warnings {
        crate::output::message(format_args!("warning: {warning}"));
    }
    if args.check {
        return output::check(&root, &generated);
    }
    output::tell(&generated, &output::write(&root, &generated, args.prune)?);
    Ok(())
}

/// One run of several, in one line; of warnings only those that are not `told` yet. Gives the files that it wrote.
///
/// # Errors
/// As [`run`].
pub fn again(root: &Path, args: &Args, told: &mut Vec<Problem>) -> anyhow::Result<Vec<String>> {
    let generated = generate(root, args)?;
    let warnings = generated.warnings.iter();
    for warning in warnings.filter(|warning| !told.contains(warning)) {
        crate::output::message(format_args!("warning: {warning}"));
    }
    told.clone_from(&generated.warnings);
    let compared = output::write(root, &generated, args.prune)?;
    crate::output::message(format_args!(
        "manifests: {}",
        output::summary(&generated, &compared)
    ));
    let changes = compared.changes.into_iter();
    Ok(changes.map(|change| change.path).collect())
}

/// Ends a commit that was interrupted before its files are read; `--check` only tells of it.
fn finish(root: &Path, check: bool) -> anyhow::Result<()> {
    match commit::unfinished(root)? {
        Some(state) if check => crate::output::message(format_args!("warning: {state}")),
        Some(_) => drop(commit::lock(root)?),
        None => {}
    }
    Ok(())
}

/// `captains-manager-role`: what the scaffolded bindings refer to.
fn manager_role(project: &Project) -> String {
    format!("{}-manager-role", project.head.name)
}

/// Every file as it should be, and what a person should know.
fn generate(root: &Path, args: &Args) -> anyhow::Result<Generated> {
    finish(root, args.check)?;
    let project = &workdir::load(root)?;
    let crd_only = args.crd_only;
    let packages = packages::packages(root)?;
    let mut problems = Vec::new();
    let mut files = Vec::new();
    let sources = if crd_only {
        // Where fields are matters still; what other comments say does not.
        Sources::read(root, &packages, &mut Vec::new())?
    } else {
        Sources::read(root, &packages, &mut problems)?
    };
    problems.extend(lint::comments(&sources.called("lint")));
    let places = Places::new(&sources.files, &sources.called("lint"));
    let mut crds = Vec::new();
    if packages.iter().any(|package| package.crdgen) {
        match packages::crds(root, args.watch) {
            Ok(printed) => crds = crd::merge(&printed, &places, &mut problems),
            Err(error) => {
                problems.push(Problem::new(format!("{error:#}")));
                if error.is::<packages::Failed>() {
                    problems.extend(lint::panics(&places));
                }
            }
        }
    }
    if let Some(most) = args.max_description_length {
        for crd in &mut crds {
            crd.truncate_descriptions(most);
        }
    }
    let mut warnings = Vec::new();
    for crd in &crds {
        let (errors, doubts) = lint::check(crd, &places);
        problems.extend(errors);
        warnings.extend(doubts);
        paths::check(crd, &places, &mut problems);
        problems.extend(drift::selectable_fields(crd));
    }
    if !crd_only {
        files = roles(root, project, &sources, &crds, &mut problems)?;
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
    warnings.extend(crds.iter().filter_map(|crd| {
        let allowed = |version: &str, path: &str| {
            places.allows(&places.way(&crd.kind, version, path), "versions")
        };
        let hub = project.hub(&crd.group, &crd.kind);
        let hub = hub.map(|hub| hub.target.version.as_str());
        drift::lost_fields(crd, &project.head.domain, hub, &allowed)
    }));
    warnings.extend(history::differences(project, &crds));
    warnings.extend(listing(root, &crds)?);
    let mut samples = Vec::new();
    if !crd_only {
        let (changes, found) = samples::check(root, &crds)?;
        samples = changes;
        warnings.extend(found);
    }
    Ok(Generated {
        files,
        samples,
        warnings,
    })
}

/// The roles of the whole cluster and of namespaces; for who deploys `config/namespaced`, the same for one namespace.
fn roles(
    root: &Path,
    project: &Project,
    sources: &Sources,
    crds: &[crd::Crd],
    problems: &mut Vec<Problem>,
) -> anyhow::Result<Vec<File>> {
    let role = &manager_role(project);
    let roles = rbac::Roles::new(role, &sources.called("rbac"), &resources(crds), problems);
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

/// The project's own resources, as group and plural.
fn resources(crds: &[crd::Crd]) -> Vec<(String, String)> {
    crds.iter()
        .map(|crd| (crd.group.clone(), crd.plural.clone()))
        .collect()
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
    let webhooks = webhook::read(
        &names,
        &sources.called("webhook"),
        &resources(crds),
        problems,
    );
    let own = sources.called("webhookconfiguration");
    let mut configurations = webhook::configurations(&names, &own, &webhooks, problems);
    let before = files::read(&root.join(webhook::PATH))?;
    if let Some(text) = before.filter(|text| files::is_generated(text)) {
        // What cannot be read is written anew.
        let documents = serde_saphyr::from_multiple(&String::from_utf8_lossy(&text));
        webhook::emptied(&documents.unwrap_or_default(), &mut configurations);
    }
    let kinds = webhook::Kinds::of(project, crds);
    let mut warnings = webhook::compare(&kinds, &sources.files, &webhooks, problems);
    let overlay = files::read(&root.join("config/default/kustomization.yaml"))?.unwrap_or_default();
    if webhook::is_self_managed(&String::from_utf8_lossy(&overlay)) {
        let unkept = webhook::unkept(&names, &own);
        if unkept.is_empty() {
            let roles = files::read(&root.join(webhook::rights::ROLE))?.unwrap_or_default();
            let roles = serde_saphyr::from_multiple(&String::from_utf8_lossy(&roles))
                .with_context(|| format!("`{}` is not YAML", webhook::rights::ROLE))?;
            let objects = configurations
                .iter()
                .chain(crds.iter().map(|crd| &crd.object));
            warnings.extend(webhook::rights::missing(&roles, objects));
        }
        warnings.extend(unkept);
    }
    webhook::check_conversions(&kinds, &sources.files, project, crds, problems);
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

/// CRDs that `config/crd/kustomization.yaml` does not list, so that nobody would install them, and those that it lists in vain.
fn listing(root: &Path, crds: &[crd::Crd]) -> anyhow::Result<Vec<Problem>> {
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
    let given: Vec<String> = lines.collect();
    let missing = given.iter().filter(|line| !listed.contains(&line.as_str()));
    let missing = missing.map(|line| {
        let text = format!("`{PATH}` does not list `{line}`, so it is not installed");
        Problem::new(text).help(format!("add `- {line}` to its `resources`"))
    });
    let theirs = |line: &str| {
        files::read(&root.join("config/crd").join(line))
            .is_ok_and(|text| text.is_some_and(|text| !files::is_generated(&text)))
    };
    let vain = listed.iter().filter(|line| {
        line.starts_with("bases/") && !given.iter().any(|given| given == *line) && !theirs(line)
    });
    let vain = vain.map(|line| {
        let text = format!("`{PATH}` lists `{line}`, which no type gives");
        Problem::new(text).help(format!("remove `- {line}` from its `resources`"))
    });
    Ok(missing.chain(vain).collect())
}
