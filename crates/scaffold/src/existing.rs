//! Finds an existing kind for a controller or a webhook: an own, external or built-in one.

use std::path::Path;

use crate::contents;
use crate::project::Project;
use crate::resource::external::{Dependencies, External};
use crate::resource::target::Target;
use crate::resource::{ApiFlags, Resource, groups, kubernetes};
use kbr_host::diagnostic::{Diagnostic, Problems};

/// A version of a kind, as flags name it.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// With or without the domain: `crew`, `crew.example.com`.
    pub group: &'a str,
    /// The domain of the group, if it is not the project's.
    pub domain: Option<&'a str>,
    /// `v1`.
    pub version: &'a str,
    /// `Captain`.
    pub kind: &'a str,
}

impl Named<'_> {
    /// Whether this names `target`: by its full group, or by its short group.
    pub fn is(&self, target: &Target, project: &Project) -> bool {
        let domain = self.domain.unwrap_or(&project.head.domain);
        let (_, full_group) = groups(self.group, domain);
        // A domain changes nothing for the groups of Kubernetes and of other crates.
        let is_fixed = self.domain.is_none() || !target.is_own();
        let by_word = is_fixed && [&*target.group, &*target.full_group].contains(&self.group);
        self.kind == target.kind
            && self.version == target.version
            && (by_word || target.full_group == full_group)
    }
}

/// An existing kind, as flags describe it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Which kind.
    pub named: Named<'a>,
    /// Its plural, if it is given.
    pub plural: Option<&'a str>,
    /// Its scope, if it is given.
    pub namespaced: Option<bool>,
    /// For a kind of another crate: the crate, and the type in it.
    pub external: Option<(&'a str, &'a str)>,
    /// The name of the crate's package, if the command creates the crate.
    pub package: Option<&'a str>,
}

/// A kind that exists.
#[derive(Debug)]
pub struct Found {
    /// The kind.
    pub target: Target,
    /// Its crate, if it is new to the manifest.
    pub added: Option<Added>,
}

/// A crate that the manifest does not have yet.
#[derive(Debug)]
pub struct Added {
    /// Line for the manifest: `gateway-api = "0.20"`.
    pub line: String,
    /// Its folder, relative to the project, if it is a path dependency.
    pub folder: Option<String>,
}

/// The kind that the flags select.
///
/// # Errors
/// The kind does not exist; the error suggests the nearest ones.
pub fn find(wanted: &Wanted, project: &Project, root: &Path) -> anyhow::Result<Found> {
    if let Some((krate, type_path)) = wanted.external {
        return external(wanted, krate, type_path, project, root);
    }
    let target = known(wanted, project)?;
    Ok(Found {
        target,
        added: None,
    })
}

/// The kind if it needs no new crate: that of a known kind need not be repeated.
fn known(wanted: &Wanted, project: &Project) -> anyhow::Result<Target> {
    let Named {
        group,
        domain,
        version,
        kind,
    } = wanted.named;
    let used = project.targets().find(|target| is_external(target, wanted));
    let own = || {
        let mut own = project.apis().map(Target::own);
        own.find(|target| wanted.named.is(target, project))
    };
    let built_in = || {
        let (_, whole) = groups(group, domain.unwrap_or_default());
        kubernetes::find(group, version, kind)
            .or_else(|| kubernetes::find(&whole, version, kind))
            .map(|kind| Target::kubernetes(&kind))
    };
    match used.cloned().or_else(own).or_else(built_in) {
        Some(target) => check_known(wanted, target),
        None => Err(unknown(wanted.named, project)),
    }
}

/// Whether this names a built-in kind, and none that the project already has.
pub fn is_built_in(named: Named, project: &Project) -> bool {
    let mut own = project.apis().map(Target::own);
    kubernetes::find(named.group, named.version, named.kind).is_some()
        && !own.any(|target| named.is(&target, project))
}

/// Whether the flags select this external kind, for which the project already has code.
fn is_external(target: &Target, wanted: &Wanted) -> bool {
    target.is_external()
        && target.kind == wanted.named.kind
        && target.version == wanted.named.version
        && target.full_group == wanted.named.group
}

/// Names and scope of an existing kind are fixed.
fn check_known(wanted: &Wanted, target: Target) -> anyhow::Result<Target> {
    let mut problems = Problems::default();
    let mut differs = |flag: &str, differs: bool| {
        if differs {
            problems.add(
                format!(
                    "`--{flag}` cannot change `{}`, which already exists",
                    target.kind
                ),
                format!("leave `--{flag}` out"),
            );
        }
    };
    let (plural, namespaced) = (wanted.plural, wanted.namespaced);
    differs("plural", plural.is_some_and(|flag| flag != target.plural));
    differs(
        "namespaced",
        namespaced.is_some_and(|flag| flag != target.namespaced),
    );
    problems.into_result()?;
    Ok(target)
}

/// An external kind. The project's domain does not apply to its group.
fn external(
    wanted: &Wanted,
    krate: &str,
    type_path: &str,
    project: &Project,
    root: &Path,
) -> anyhow::Result<Found> {
    let package_of = |folder: &str| match wanted.package {
        Some(package) => Ok(package.to_owned()),
        None => contents::package_name(root, folder),
    };
    let external = External::new(krate, type_path, package_of)?;
    let line = external.missing_dependency(&Dependencies::parse(&contents::manifest(root)))?;
    let resource = Resource::external(&ApiFlags {
        group: wanted.named.group.to_owned(),
        domain: wanted.named.domain.unwrap_or_default().to_owned(),
        version: wanted.named.version.to_owned(),
        kind: wanted.named.kind.to_owned(),
        plural: wanted.plural.map(str::to_owned),
        namespaced: wanted.namespaced.unwrap_or(true),
        ..ApiFlags::default()
    })?;
    let target = Target {
        type_path: type_path.to_owned(),
        external_crate: krate.to_owned(),
        dependency: Some(dependency(&external, line.as_deref(), project)),
        ..Target::own(&resource)
    };
    let added = line.map(|line| Added {
        line,
        folder: external.folder().map(str::to_owned),
    });
    Ok(Found { target, added })
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

fn unknown(named: Named, project: &Project) -> anyhow::Error {
    let Named {
        group,
        domain,
        version,
        kind,
    } = named;
    let own = |api: &Resource| {
        let near = strsim::damerau_levenshtein(&api.kind_lower(), &kind.to_lowercase()) <= 2;
        near.then(|| {
            format!(
                "--group {} --version {} --kind {}",
                api.group, api.version, api.kind
            )
        })
    };
    let mut near: Vec<String> = project.apis().filter_map(own).collect();
    let kubernetes = kubernetes::nearest(group, version, kind);
    // A misspelled built-in kind is not a new kind.
    let may_be_new = kubernetes.is_empty();
    near.extend(kubernetes);
    let group = if group.is_empty() { "core" } else { group };
    let is_word = !group.contains('.') && !kubernetes::kinds().any(|it| it.is_of_group(group));
    let whole = match domain.unwrap_or(&project.head.domain) {
        domain if is_word => groups(group, domain).1,
        _ => group.to_owned(),
    };
    let mut error = Diagnostic::new(format_args!(
        "no kind `{kind}` found in `{whole}/{version}`, neither in this project nor in Kubernetes {}",
        kubernetes::TYPES
    ));
    for flags in near {
        error = error.help(format_args!("did you mean `{flags}`?"));
    }
    error = error.help("for an external kind, pass `--external-crate` and `--external-type`");
    if may_be_new {
        error = error.help(format_args!(
            "to create a new kind: `kbr create api --group {group} --version {version} --kind {kind} --resource`"
        ));
    }
    error.into()
}
