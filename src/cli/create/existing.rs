//! Finds an existing kind for a controller or a webhook: an own, external or built-in one.

use std::path::Path;

use super::super::kind::KindArgs;
use kbr_host::diagnostic::{Diagnostic, Problems};
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::external::{Dependencies, External};
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{ApiFlags, Resource, groups, kubernetes};
use kbr_scaffold::workdir;

/// The flags that select a kind, and describe one of another crate.
#[derive(Debug, clap::Args)]
pub struct ExistingArgs {
    #[command(flatten)]
    pub kind: KindArgs,
    /// Plural in lower case [default: the English plural]
    #[arg(long)]
    pub plural: Option<String>,
    /// Crate that defines an external kind: its name on crates.io, or a path
    #[arg(long, value_name = "NAME[@VERSION]|PATH", requires = "external_type")]
    pub external_crate: Option<String>,
    /// Type of the external kind in that crate: `cert_manager::v1::Certificate`
    #[arg(long, value_name = "TYPE", requires = "external_crate")]
    pub external_type: Option<String>,
}

/// A crate that the manifest does not have yet.
#[derive(Debug)]
pub struct Added {
    /// Line for the manifest: `gateway-api = "0.20"`.
    pub line: String,
    /// Its folder, relative to the project, if it is a path dependency.
    pub folder: Option<String>,
}

impl Added {
    /// What a new crate requires: network access once, and a line in the Dockerfile.
    pub fn notes(&self) -> String {
        let Added { line, folder } = self;
        let Some(folder) = folder else {
            return format!(
                "note: `Cargo.lock` lacks `{line}`: the next cargo command adds it and needs the network\n"
            );
        };
        let lock = format!("note: `Cargo.lock` lacks `{line}`: the next cargo command adds it\n");
        let image = if folder.starts_with("..") || folder.starts_with('/') {
            format!(
                "note: `make docker-build` copies only the project's folder: first move the crate `{folder}` into it\n"
            )
        } else {
            format!(
                "note: the image needs the crate too: add `COPY {folder} {folder}` to `Dockerfile`, below `COPY third_party third_party`\n"
            )
        };
        lock + &image
    }
}

/// The kind that the flags select; sets `added` if its crate is new to the manifest.
///
/// # Errors
/// The kind does not exist; the error suggests the nearest ones.
pub fn find(
    args: &ExistingArgs,
    namespaced: Option<bool>,
    project: &Project,
    root: &Path,
    added: &mut Option<Added>,
) -> anyhow::Result<Target> {
    if let Some((krate, type_path)) = args
        .external_crate
        .as_ref()
        .zip(args.external_type.as_ref())
    {
        let package_of = |folder: &str| workdir::package_name(root, folder);
        let external = External::new(krate, type_path, package_of)?;
        let line = external.missing_dependency(&Dependencies::parse(&workdir::manifest(root)))?;
        let mut target = self::external(args, namespaced, krate, type_path)?;
        target.dependency = Some(dependency(&external, line.as_deref(), project));
        *added = line.map(|line| Added {
            line,
            folder: external.folder().map(str::to_owned),
        });
        return Ok(target);
    }
    // The crate of a known kind need not be repeated.
    if let Some(target) = project.targets().find(|target| is_external(target, args)) {
        check_known(args, namespaced, &target.plural, target.namespaced)?;
        return Ok(target.clone());
    }
    let known = project
        .apis()
        .find(|api| args.kind.select(&Target::own(api), project));
    if let Some(api) = known {
        check_known(args, namespaced, &api.plural, api.namespaced)?;
        return Ok(Target::own(api));
    }
    let (_, whole) = groups(
        &args.kind.group,
        args.kind.domain.as_deref().unwrap_or_default(),
    );
    let found = kubernetes::find(&args.kind.group, &args.kind.version, &args.kind.kind)
        .or_else(|| kubernetes::find(&whole, &args.kind.version, &args.kind.kind));
    let Some(kind) = found else {
        return Err(unknown(args, project));
    };
    check_known(args, namespaced, kind.plural, kind.namespaced)?;
    Ok(Target::kubernetes(&kind))
}

/// The line that PROJECT records for the crate, if kbr adds it to the manifest now or has added it for another kind; empty if the
/// user added it.
fn dependency(external: &External, missing: Option<&str>, project: &Project) -> String {
    let line = external.dependency();
    let mut targets = project.targets();
    let added_by_kbr = targets.any(|target| target.dependency.as_ref() == Some(&line));
    if missing.is_some() || added_by_kbr {
        line
    } else {
        String::new()
    }
}

/// Whether the flags select this external kind, for which the project already has code.
fn is_external(target: &Target, args: &ExistingArgs) -> bool {
    target.is_external()
        && target.kind == args.kind.kind
        && target.version == args.kind.version
        && target.full_group == args.kind.group
}

/// Names and scope of an existing kind are fixed.
fn check_known(
    args: &ExistingArgs,
    wanted: Option<bool>,
    plural: &str,
    namespaced: bool,
) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    let mut differs = |flag: &str, differs: bool| {
        if differs {
            problems.add(
                format!(
                    "`--{flag}` cannot change `{}`, which already exists",
                    args.kind.kind
                ),
                format!("leave `--{flag}` out"),
            );
        }
    };
    differs(
        "plural",
        args.plural.as_ref().is_some_and(|flag| flag != plural),
    );
    differs("namespaced", wanted.is_some_and(|flag| flag != namespaced));
    problems.into_result()
}

/// An external kind. The project's domain does not apply to its group.
fn external(
    args: &ExistingArgs,
    namespaced: Option<bool>,
    krate: &str,
    type_path: &str,
) -> anyhow::Result<Target> {
    let wanted = ApiFlags {
        group: args.kind.group.clone(),
        domain: args.kind.domain.clone().unwrap_or_default(),
        version: args.kind.version.clone(),
        kind: args.kind.kind.clone(),
        plural: args.plural.clone(),
        namespaced: namespaced.unwrap_or(true),
        ..ApiFlags::default()
    };
    let resource = Resource::external(&wanted)?;
    let mut target = Target::own(&resource);
    type_path.clone_into(&mut target.type_path);
    krate.clone_into(&mut target.external_crate);
    Ok(target)
}

fn unknown(args: &ExistingArgs, project: &Project) -> anyhow::Error {
    let own = |api: &Resource| {
        let near =
            strsim::damerau_levenshtein(&api.kind_lower(), &args.kind.kind.to_lowercase()) <= 2;
        near.then(|| {
            format!(
                "--group {} --version {} --kind {}",
                api.group, api.version, api.kind
            )
        })
    };
    let mut near: Vec<String> = project.apis().filter_map(own).collect();
    let kubernetes = kubernetes::nearest(&args.kind.group, &args.kind.version, &args.kind.kind);
    // A misspelled built-in kind is not a new kind.
    let may_be_new = kubernetes.is_empty();
    near.extend(kubernetes);
    let group = if args.kind.group.is_empty() {
        "core"
    } else {
        &args.kind.group
    };
    let mut error = Diagnostic::new(format_args!(
        "no kind `{}` found in `{}/{}`, neither in this project nor in Kubernetes {}",
        args.kind.kind,
        group,
        args.kind.version,
        kubernetes::TYPES
    ));
    for flags in near {
        error = error.help(format_args!("did you mean `{flags}`?"));
    }
    error = error.help("for an external kind, pass `--external-crate` and `--external-type`");
    if may_be_new {
        error = error.help(format_args!(
            "to create a new kind: `kbr create api --group {} --version {} --kind {} --resource`",
            group, args.kind.version, args.kind.kind
        ));
    }
    error.into()
}
