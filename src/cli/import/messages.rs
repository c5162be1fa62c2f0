//! What `kbr import` says.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Args, Imported, running, unclaimed};
use kbr_host::lines::Lines;
use kbr_scaffold::golang::{Found, GoResource, carried};

/// What is taken over, in numbers.
pub fn summary(imported: &Imported) -> String {
    let project = imported.intent.project();
    let count = |number: usize, word: &str| {
        let end = if number == 1 { "" } else { "s" };
        format!("{number} {word}{end}")
    };
    let found = [
        count(project.apis().count(), "version"),
        count(project.controllers().count(), "controller"),
        count(project.webhooks().count(), "webhook"),
    ];
    format!("imported {}: {}", project.head.name, found.join(", "))
}

/// What is not taken over, and where it belongs.
pub fn notes(args: &Args, found: &Found, imported: &Imported) -> Lines {
    let (mut text, mut said) = (Lines::default(), BTreeSet::new());
    let mut line = |line: String| {
        if said.insert(line.clone()) {
            text.add(line);
        }
    };
    // First, what keeps the new operator from replacing the one in Go.
    for said in running::notes(found, &imported.intent.project().head) {
        line(format!("note: {said}"));
    }
    let types = imported.types.to_string();
    types.lines().map(str::to_owned).for_each(&mut line);
    let mut note = |text: String| line(format!("note: {text}"));
    if found.project.project_name.is_empty() && args.project_name.is_none() {
        let name = &imported.intent.project().head.name;
        note(format!(
            "`PROJECT` has no project name: the new project is `{name}`; `--project-name` changes it"
        ));
    }
    for folder in &found.elsewhere {
        note(format!(
            "the CRDs come from `{folder}`; `--crds` names another folder"
        ));
    }
    for resource in &imported.external {
        external(resource, found).map(&mut note);
    }
    for GoResource { kind, .. } in &imported.undefined {
        note(format!(
            "found no CRD of `{kind}`, so it is not imported: right for a kind of configuration files; otherwise run `make manifests` in the project in Go, or name the folder of its CRDs with `--crds DIR`, and import it again"
        ));
    }
    imported.permissions.iter().cloned().for_each(&mut note);
    unclaimed::notes(found, imported)
        .into_iter()
        .for_each(&mut note);
    if let Some(namespaces) = carried::watched(found) {
        let namespaces = namespaces.escape_debug();
        note(format!(
            "the operator in Go watches the namespaces `{namespaces}`: add them to `config/namespaced`, as `kustomization.yaml` there says"
        ));
    }
    for flag in &found.manager.flags {
        let flag = flag.escape_debug();
        note(format!(
            "the Deployment has the flag `{flag}`: add it to `src/main.rs` first, then to `config/manager/manager.yaml`"
        ));
    }
    for finalizer in &found.finalizers {
        note(unclaimed::finalizer(finalizer));
    }
    for paths in found.left.chunk_by(|a, b| folder(a) == folder(b)) {
        let (folder, place) = (folder(&paths[0]), place(&paths[0]));
        note(match paths {
            [path] => format!("not taken over: `{path}`; {place}"),
            _ => format!(
                "not taken over: {} in `{folder}`; {place}",
                unclaimed::some(paths.iter().map(|path| &path[folder.len() + 1..]))
            ),
        });
    }
    text
}

/// The commands for a kind of another project; `None` without any.
fn external(resource: &GoResource, found: &Found) -> Option<String> {
    let GoResource { version, kind, .. } = resource;
    let of = format!(
        "--group {} --version {version} --kind {kind}",
        resource.full_group()
    );
    let mut commands = Vec::new();
    if !resource.controller_names().is_empty() {
        commands.push(format!("api {of} --resource=false --controller"));
    }
    let webhooks = resource.webhooks.iter();
    let webhooks = webhooks.filter(|_| found.no_webhooks.is_none());
    let flags = webhooks.flat_map(|it| {
        [
            (it.defaulting, " --defaulting"),
            (it.validation, " --validation"),
        ]
    });
    let flags: String = flags.filter(|(on, _)| *on).map(|(_, flag)| flag).collect();
    if !flags.is_empty() {
        commands.push(format!("webhook {of}{flags}"));
    }
    let command =
        |it: &String| format!("`kbr create {it} --external-crate CRATE --external-type TYPE`");
    let commands: Vec<_> = commands.iter().map(command).collect();
    (!commands.is_empty()).then(|| {
        format!(
            "`{kind}` is a kind of another project: {}",
            commands.join(", and ")
        )
    })
}

/// The folder below `config` that a file is in, at any depth.
fn folder(path: &str) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    let end = ends.nth(1).or_else(|| path.rfind('/'));
    &path[..end.unwrap_or(0)]
}

/// Where the content of a file below `config` belongs.
fn place(path: &str) -> &'static str {
    if path.starts_with("config/default/") {
        "a patch of the Deployment belongs in `config/manager/manager.yaml`"
    } else if path.starts_with("config/crd/") {
        "a patch of a CRD belongs in the types in `api/src`"
    } else if path.starts_with("config/webhook/") {
        "a patch of a webhook belongs in its `+kbr:webhook` comment"
    } else {
        "a folder of yours becomes a component or an overlay in `config`"
    }
}

/// What to do next.
pub fn next_steps(args: &Args, imported: &Imported) -> Lines {
    let mut text = Lines::from("next:\n");
    if args.directory != Path::new(".") {
        text.add(format_args!("  cd {}", args.directory.display()));
    }
    text.add("  make manifests");
    for (path, go) in &imported.controllers {
        match go {
            Some(go) => {
                text.add(format_args!("  port {path}, which has {go} as a comment"));
            }
            None => {
                text.add(format_args!(
                    "  edit {path}: no reconciler was found for it"
                ));
            }
        }
    }
    text.add("  make test");
    text
}
