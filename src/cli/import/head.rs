//! The head of PROJECT: what the new project is called, and what the operator in Go is called in the cluster.

use std::path::Path;

use super::Args;
use crate::embedded;
use kbr_scaffold::golang::Found;
use kbr_scaffold::library::Origin;
use kbr_scaffold::project::{Given, Head, KBR, is_built_in, is_name, name};
use kbr_scaffold::scaffold::LAYOUT;

/// The head, with `[names]`.
pub fn head(args: &Args, found: &Found) -> Head {
    let project = &found.project;
    let name = match (&args.project_name, &project.project_name) {
        (None, name) if name.is_empty() => named_after(&project.repo, args.from.as_deref()),
        (Some(name), _) | (None, name) => name.clone(),
    };
    let mut head = Head {
        layout: LAYOUT.to_owned(),
        kbr: KBR.to_owned(),
        name,
        domain: args.domain.as_ref().unwrap_or(&project.domain).clone(),
        repo: project.repo.clone(),
        owner: String::new(),
        license: found.license.to_owned(),
        library: Origin::default(),
        names: Given::default(),
    };
    head.names = names(found).besides(&head);
    head
}

/// The names that the operator in Go has in the cluster, and that the new one keeps.
fn names(found: &Found) -> Given {
    let (manager, project) = (&found.manager, &found.project.project_name);
    let kept = |name: &str| is_name(name).then(|| name.to_owned());
    let (name, namespace) = manager.deployed.clone().unzip();
    let of_manager = |name: &String| kept(name.strip_suffix("-controller-manager")?);
    // An operator without a prefix, or with names that are not known, has that of its project.
    let of_objects = || kept(manager.prefix.as_ref()?.strip_suffix('-')?);
    let prefix = name.as_ref().and_then(of_manager).or_else(of_objects);
    let namespace = namespace.unwrap_or_else(|| format!("{project}-system"));
    Given {
        prefix: prefix.or_else(|| kept(project)),
        namespace: kept(&namespace).filter(|it| !is_built_in(it)),
        deployment: name.and_then(|it| kept(&it)),
        service_account: manager.account.as_ref().and_then(|it| kept(it)),
        container: manager.container.as_ref().and_then(|it| kept(it)),
        lease: found.lease.clone(),
    }
}

/// The name of a project that has none: the last word of its Go module, or of its folder.
fn named_after(module: &str, from: Option<&Path>) -> String {
    let is_version = |word: &&str| {
        let number = word.strip_prefix('v').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())
    };
    let word = module
        .rsplit('/')
        .find(|it| !is_version(it))
        .unwrap_or_default();
    let folder = from
        .and_then(|it| it.canonicalize().ok())
        .unwrap_or_default();
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    name::propose(if word.is_empty() { &folder } else { word }, embedded::LOCK)
}
