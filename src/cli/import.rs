//! `kbr import`: a project from one of kubebuilder or operator-sdk.

mod check;
mod controllers;
mod files;
mod head;
mod messages;
mod permissions;
mod report;
mod running;
mod unclaimed;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::WriteArgs;
use super::create::api::from_crd;
use super::write::{self, Intent, Plan};
use super::{init, workspace};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_scaffold::blueprint::{Edit, Presence};
use kbr_scaffold::changes;
use kbr_scaffold::existing::{self, Named, Wanted};
use kbr_scaffold::golang::deployed::{self, Deployed};
use kbr_scaffold::golang::{self, Found, GoResource, carried};
use kbr_scaffold::imported::{self, Definition, Shared, SharedFile, Types};
use kbr_scaffold::project::{Head, Project, Table};
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{Resource, names};
use kbr_scaffold::trust;
use kbr_scaffold::workdir;
use report::Report;

/// Start a project from one of kubebuilder or operator-sdk
///
/// Reads the project in the folder DIR, which is in Go, and writes a project of kbr into another folder: its kinds with equal CRDs,
/// controllers and webhooks with the permissions of the Go files, samples, names, and what the Deployment needs. Each reconciler in Go
/// becomes a comment in the Rust file that replaces it, and `IMPORT.md` lists what is not taken over. Runs nothing, and changes nothing
/// in DIR.
///
/// With `--check`, in the new project, compares it with the cluster where the operator in Go runs.
///
///     kbr import ../captains --directory ../captains-rs
///     kbr import --check
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Folder of the project in Go
    #[arg(value_name = "DIR", required_unless_present = "check")]
    from: Option<PathBuf>,
    /// Write nothing, but look at the cluster of the current context: what would go wrong if this project took over, and what to do
    ///
    /// Compares the Lease, the selector of the Deployment, finalizers, owners of fields, CRDs and webhooks, with kubectl. Run it in
    /// the new project, before you deploy. Fails if anything would go wrong.
    #[arg(long, conflicts_with_all = ["from", "directory", "project_name", "domain", "crds", "leader_election_id", "dry_run", "force", "yes"])]
    check: bool,
    /// Folder of the new project; created if it is missing
    #[arg(long, value_name = "PATH", default_value = ".")]
    directory: PathBuf,
    /// Name of the crate and the binary [default: the name of the project in Go]
    ///
    /// What the project in Go deploys keeps its names, which the table `[names]` of PROJECT has.
    #[arg(long)]
    project_name: Option<String>,
    /// Domain of the project [default: that of the project in Go]
    ///
    /// The groups of its kinds are those of their CRDs.
    #[arg(long)]
    domain: Option<String>,
    /// Folder with the CRDs [default: `config/crd`, or another folder of the project that has those of its kinds]
    #[arg(long, value_name = "PATH")]
    crds: Option<PathBuf>,
    /// Name of the Lease with which the operator in Go elects its leader [default: `LeaderElectionID` of its `main.go`]
    ///
    /// With the same one, never do both lead.
    #[arg(long, value_name = "NAME", value_parser = lease)]
    leader_election_id: Option<String>,
    #[command(flatten)]
    write: WriteArgs,
}

fn lease(name: &str) -> Result<String, &'static str> {
    if names::is_subdomain(name) {
        return Ok(name.to_owned());
    }
    Err("a Lease has lower-case letters, digits, `-` and `.` in its name")
}

/// Runs the command.
///
/// # Errors
/// As [`write::run`].
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.from {
        Some(from) if !args.check => write::run(plan(args, from).map(Some)),
        _ => check::run(),
    }
}

fn plan(args: &Args, from: &Path) -> anyhow::Result<Plan> {
    let crds = args.crds.as_deref().map(files::crds).transpose()?;
    let mut found = golang::read_with(&files::read(from)?, crds.as_ref())
        .with_context(|| format!("cannot import `{}`", from.display()))?;
    let current = env::current_dir().context("cannot find the current folder")?;
    let root = current.join(&args.directory);
    let root = changes::real(&root).with_context(|| format!("cannot read `{}`", root.display()))?;
    check_beside(&root, from)?;
    if root.exists() {
        trust::check_existing(&root)?;
    }
    // The folder is created by the lock, so what can fail comes before it.
    if args.leader_election_id.is_some() {
        found.lease.clone_from(&args.leader_election_id);
    }
    let (imported, report) = imported(args, &mut found)?;
    let session = write::lock(root, args.write)?;
    if workdir::load_if_any(session.root())?.is_some() {
        let text = format!("`{}` already is a project", args.directory.display());
        let help = "pass an empty folder: `--directory ../captains-rs`";
        return Err(Diagnostic::new(text).help(help).into());
    }
    output::message(messages::summary(&imported));
    workspace::warn(session.root());
    let notes = report.lines(!args.write.dry_run);
    let next_steps = messages::next_steps(args, &imported);
    session.plan(&imported.intent, notes, next_steps)
}

/// What is written, with `IMPORT.md`, and what that says.
fn imported(args: &Args, found: &mut Found) -> anyhow::Result<(Imported, Report)> {
    let head = head::head(args, found);
    let mut imported = Imported::new(found, head)?;
    let report = messages::report(args, found, &imported);
    let file = report::FILE.to_owned();
    imported.intent.add_file(file, report.markdown());
    Ok((imported, report))
}

/// The new project lies neither in the old one nor around it.
fn check_beside(root: &Path, from: &Path) -> anyhow::Result<()> {
    let from = from
        .canonicalize()
        .with_context(|| format!("cannot read `{}`", from.display()))?;
    if root.starts_with(&from) || from.starts_with(root) {
        let text = "the new project needs a folder beside the one in Go, not in it or around it";
        let help = "pass another folder: `--directory ../captains-rs`";
        return Err(Diagnostic::new(text).help(help).into());
    }
    Ok(())
}

/// What is written, and what has to be said about it.
#[derive(Debug)]
struct Imported {
    intent: Intent,
    /// Notes about the types.
    types: Vec<String>,
    /// The types that kinds share, by group.
    shared: BTreeMap<String, Shared>,
    /// Each controller's file, with the Go file that it replaces.
    controllers: Vec<(String, Option<String>)>,
    /// The Go files that are carried, each with the first Rust file that it belongs to, which has it as a comment.
    carried: BTreeMap<String, String>,
    /// The same for webhooks, whose files need not have the permissions.
    carried_webhooks: BTreeMap<String, String>,
    /// Each webhook's file, with a Go file that it replaces.
    webhooks: Vec<(String, Option<String>)>,
    /// The reconcilers that have a controller, by file and name.
    ported: BTreeSet<(String, String)>,
    /// Notes about controllers.
    code: Vec<String>,
    /// Kinds of other projects, whose crates are not known.
    external: Vec<GoResource>,
    /// Kinds of PROJECT that have no CRD, such as those of configuration files.
    undefined: Vec<GoResource>,
    /// Notes about permissions.
    permissions: Vec<String>,
    /// Webhooks of PROJECT that are not taken over, each a note.
    webhooks_left: Vec<String>,
    /// What else is deployed.
    deployed: Deployed,
    /// A note about further samples.
    samples: Option<String>,
}

impl Imported {
    fn new(found: &mut Found, head: Head) -> anyhow::Result<Self> {
        init::check_imported(&head)?;
        let permissions = permissions::check(found);
        let intent = Intent::head(&Project::new(head), Presence::New);
        let mut imported = Imported {
            intent,
            types: Vec::new(),
            shared: BTreeMap::new(),
            controllers: Vec::new(),
            carried: BTreeMap::new(),
            carried_webhooks: BTreeMap::new(),
            webhooks: Vec::new(),
            ported: BTreeSet::new(),
            code: Vec::new(),
            external: Vec::new(),
            undefined: Vec::new(),
            permissions,
            webhooks_left: Vec::new(),
            deployed: Deployed::default(),
            samples: None,
        };
        let resources = &found.project.resources;
        let is_own = |it: &&Definition| !resources.iter().any(|one| one.external && one.is_of(it));
        let own: Vec<&Definition> = found.definitions.iter().filter(is_own).collect();
        let files = imported.share(&own)?;
        for resource in resources.iter().filter(|it| !it.external) {
            imported.kind(resource, found)?;
        }
        // PROJECT need not name all kinds.
        for definition in own {
            imported.definition(definition, found)?;
        }
        for (group, file) in files {
            imported.shared_file(&group, file);
        }
        for resource in resources {
            imported.code(resource, found)?;
        }
        imported.unnamed(found);
        for resource in resources {
            imported.admission(resource, found)?;
        }
        imported.unnamed_webhooks(found);
        let mut edits = carried::deployment(found, imported.intent.project());
        let is_carried = |path: &str| imported.carried.contains_key(path);
        edits.extend(carried::others(&found.permissions, is_carried));
        imported.intent.edit(edits);
        imported.deployed(found)?;
        found
            .bundle
            .iter()
            .for_each(|text| imported.intent.add_text(text.clone()));
        Ok(imported)
    }

    /// Finds the types that kinds share; returns their files, with their groups.
    fn share(&mut self, definitions: &[&Definition]) -> anyhow::Result<Vec<(String, SharedFile)>> {
        let mut groups: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
        for definition in definitions {
            groups
                .entry(&definition.group)
                .or_default()
                .push(definition);
        }
        let mut all = Vec::new();
        for (group, definitions) in groups {
            let (shared, files) = imported::shared(&definitions)?;
            self.shared.insert(group.to_owned(), shared);
            all.extend(files.into_iter().map(|file| (group.to_owned(), file)));
        }
        Ok(all)
    }

    fn shared_file(&mut self, group: &str, file: SharedFile) {
        let is_of = |api: &&Resource| api.full_group == group && api.version == file.version;
        let Some(api) = self.intent.project().apis().find(is_of) else {
            return;
        };
        let folder = api.version_folder();
        let list = imported::list_path("api", group, &file.version);
        self.types.extend(from_crd::kept(&file.version, &file.kept));
        self.intent
            .add_file(imported::file_path(&folder), file.text);
        self.intent.add_file(list, file.list);
        let marker = "// +kbr:scaffold:modules";
        let with = format!("pub mod {};\n{marker}", imported::SHARED);
        self.intent
            .edit([Edit::replace(&format!("{folder}/mod.rs"), marker, &with)]);
    }

    /// What the project in Go deploys besides, and further samples.
    fn deployed(&mut self, found: &Found) -> anyhow::Result<()> {
        let mut deployed = deployed::deployed(found, &self.intent.project().head)?;
        let project = self.intent.project();
        let is_own = |api_version: &str, kind: &str| {
            let mut apis = project.apis();
            apis.any(|it| {
                let (group, version) = api_version.split_once('/').unwrap_or_default();
                it.kind == kind && it.full_group == group && it.version == version
            })
        };
        let samples = carried::more_samples(found, is_own);
        if let Some((path, _)) = samples.first() {
            let folder = path.rsplit_once('/').map_or("", |it| it.0);
            self.samples = Some(format!(
                "`{folder}` has {} more files of samples, which no test applies",
                samples.len()
            ));
        }
        let files = std::mem::take(&mut deployed.files).into_iter();
        for (path, text) in files.chain(samples) {
            self.intent.add_file(path, text);
        }
        self.intent.edit(std::mem::take(&mut deployed.edits));
        self.deployed = deployed;
        Ok(())
    }

    /// The kind of a resource that is the project's own.
    fn kind(&mut self, resource: &GoResource, found: &Found) -> anyhow::Result<()> {
        if let Some(definition) = found.definitions.iter().find(|it| resource.is_of(it)) {
            return self.definition(definition, found);
        }
        if resource.is_own() && found.definitions.is_empty() {
            return Err(no_definition(resource));
        }
        if resource.is_own() {
            self.undefined.push(resource.clone());
        }
        Ok(())
    }

    /// All versions of a kind, unless an earlier resource is one of them.
    fn definition(&mut self, definition: &Definition, found: &Found) -> anyhow::Result<()> {
        let (group, kind) = (&definition.group, &definition.kind);
        let is_known = |api: &Resource| api.full_group == *group && api.kind == *kind;
        if self.intent.project().apis().any(is_known) {
            return Ok(());
        }
        let types = self.shared.get(group).cloned().unwrap_or_default();
        let types = definition.types_beside(&types);
        self.types.extend(from_crd::notes(definition, &types));
        for api in from_crd::apis(definition, self.intent.project())? {
            self.version(definition, &types, &api, found);
        }
        // What the types are compared with later.
        let path = imported::source_path("api", &definition.group, &definition.plural);
        self.intent.add_file(path, definition.yaml()?);
        Ok(())
    }

    fn version(&mut self, definition: &Definition, types: &[Types], api: &Resource, found: &Found) {
        self.intent.add(Table::Api(api.clone()));
        if let Some(types) = types.iter().find(|types| types.version == api.version) {
            self.intent.add_file(api.path(), types.text.clone());
        }
        let group = &definition.group;
        self.intent.edit(carried::sample(
            found,
            &api.group,
            group,
            &api.version,
            &api.kind,
        ));
    }

    /// The controllers of a resource.
    fn code(&mut self, resource: &GoResource, found: &Found) -> anyhow::Result<()> {
        let names = resource.controller_names();
        let has_code = !names.is_empty() || resource.webhooks.is_some();
        if !has_code || self.undefined.contains(resource) {
            return Ok(());
        }
        let Some(target) = target(resource, self.intent.project()) else {
            self.external.push(resource.clone());
            return Ok(());
        };
        for name in names {
            self.controller(&name, target.clone(), resource, found)?;
        }
        Ok(())
    }

    /// The webhooks of a resource. A Go file that has its reconciler, too, is carried with that.
    fn admission(&mut self, resource: &GoResource, found: &Found) -> anyhow::Result<()> {
        let target = target(resource, self.intent.project());
        let target = target.filter(|_| !self.undefined.contains(resource));
        match (&resource.webhooks, target) {
            (Some(webhooks), Some(target)) => self.webhooks(resource, webhooks, &target, found),
            _ => Ok(()),
        }
    }
}

/// The kind of a controller or webhook, if its type is known: the project's own, or a built-in one.
fn target(resource: &GoResource, project: &Project) -> Option<Target> {
    let group = resource.full_group();
    let wanted = Wanted {
        named: Named {
            group: if group.is_empty() { "core" } else { &group },
            domain: Some(""),
            version: &resource.version,
            kind: &resource.kind,
        },
        plural: None,
        namespaced: None,
        external: None,
        package: None,
    };
    // Without a crate, nothing is read of the root.
    let found = existing::find(&wanted, project, Path::new(""));
    found.ok().map(|found| found.target)
}

fn no_definition(resource: &GoResource) -> anyhow::Error {
    let text = format!(
        "found no CRD of `{}` in `{}`",
        resource.kind,
        resource.full_group()
    );
    let help = "run `make manifests` in the project in Go, or name the folder of its CRDs with `--crds DIR`, then import it again";
    Diagnostic::new(text).help(help).into()
}

#[cfg(test)]
mod tests {
    mod fuzz;
}
