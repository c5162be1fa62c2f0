//! What `kbr import` says.

use std::path::Path;

use super::report::{self, Part, Report};
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
pub fn report(args: &Args, found: &Found, imported: &Imported) -> Report {
    let mut report = Report::default();
    report.extend(
        Part::Running,
        running::notes(found, &imported.intent.project().head),
    );
    report.extend(Part::Admission, unclaimed::webhooks(found, imported));
    report.extend(Part::Admission, found.admission_notes.iter().cloned());
    report.extend(Part::Permissions, imported.permissions.iter().cloned());
    report.extend(Part::Running, imported.deployed.running.iter().cloned());
    report.extend(Part::Deployment, imported.deployed.notes.iter().cloned());
    report.extend(Part::Deployment, deployment(found));
    report.extend(Part::Types, types(args, found, imported));
    let external = imported.external.iter();
    report.extend(
        Part::Code,
        external.filter_map(|it| external_kind(it, found)),
    );
    report.extend(Part::Code, imported.code.iter().cloned());
    report.extend(Part::Code, unclaimed::reconcilers(found, imported));
    let helpers = found.helpers.iter();
    report.extend(
        Part::Code,
        helpers.map(|it| {
            format!("port what the reconcilers use of other files of their package: `{it}`")
        }),
    );
    let finalizers = found.finalizers.iter();
    report.extend(Part::Code, finalizers.map(|it| unclaimed::finalizer(it)));
    report.extend(Part::Files, imported.samples.clone());
    report.extend(Part::Files, files(found));
    report.port(&imported.controllers);
    report.port(&imported.webhooks);
    report
}

fn deployment(found: &Found) -> Vec<String> {
    let watched = carried::watched(found).map(|namespaces| {
        let namespaces = namespaces.escape_debug();
        format!(
            "the operator in Go watches the namespaces `{namespaces}`: add them to `config/namespaced`, as `kustomization.yaml` there says"
        )
    });
    let flags = found.manager.flags.iter().map(|flag| {
        let flag = flag.escape_debug();
        format!(
            "not taken over: what the Deployment passes as `{flag}`; add the flag to `src/main.rs` first, then to `config/manager/manager.yaml`"
        )
    });
    // Every program of clap has `--version`.
    let others = found.flags.iter().filter(|it| *it != "version");
    let others: Vec<_> = others.map(|it| format!("`{it}`")).collect();
    let others = (!others.is_empty()).then(|| {
        format!(
            "`main.go` has flags that the new operator does not have: {}; add those that your users set to `struct Cli` in `src/main.rs`, and pass their values by `with`",
            others.join(", ")
        )
    });
    watched.into_iter().chain(flags).chain(others).collect()
}

fn types(args: &Args, found: &Found, imported: &Imported) -> Vec<String> {
    let mut notes = imported.types.clone();
    if found.project.project_name.is_empty() && args.project_name.is_none() {
        let name = &imported.intent.project().head.name;
        notes.push(format!(
            "`PROJECT` has no project name: the new project is `{name}`; `--project-name` changes it"
        ));
    }
    let folders = found.elsewhere.iter();
    notes.extend(
        folders
            .map(|folder| format!("the CRDs come from `{folder}`; `--crds` names another folder")),
    );
    let undefined = imported.undefined.iter();
    let undefined = undefined.filter(|it| !it.kind.is_empty());
    notes.extend(undefined.map(|GoResource { kind, .. }| {
        format!(
            "found no CRD of `{kind}`, so it is not imported: right for a kind of configuration files; otherwise run `make manifests` in the project in Go, or name the folder of its CRDs with `--crds DIR`, and import it again"
        )
    }));
    notes
}

/// A sentence for each folder with files that are not taken over.
fn files(found: &Found) -> Vec<String> {
    let folders = found.left.chunk_by(|a, b| folder(a) == folder(b));
    let note = |paths: &[String]| {
        let (folder, place) = (folder(&paths[0]), place(&paths[0]));
        match paths {
            [path] => format!("not taken over: `{path}`; {place}"),
            _ if place == OF_YOURS => format!("not taken over: files in `{folder}`; {place}"),
            _ => format!(
                "not taken over: {} in `{folder}`; {place}",
                unclaimed::some(paths.iter().map(|path| &path[folder.len() + 1..]))
            ),
        }
    };
    folders.map(note).collect()
}

/// The commands for a kind of another project; `None` without any.
fn external_kind(resource: &GoResource, found: &Found) -> Option<String> {
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

/// Where a folder that kubebuilder does not know belongs.
const OF_YOURS: &str = "a folder of yours becomes a component or an overlay in `config`";

/// Where the content of a file below `config` belongs.
fn place(path: &str) -> &'static str {
    if path.starts_with("config/default/") {
        "`config/default` in Go does not include it"
    } else if path.starts_with("config/crd/") {
        "a patch of a CRD belongs in the types in `api/src`"
    } else if path.starts_with("config/webhook/") {
        "a patch of a webhook belongs in its `+kbr:webhook` comment"
    } else {
        OF_YOURS
    }
}

/// What to do next.
pub fn next_steps(args: &Args, imported: &Imported) -> Lines {
    let mut text = Lines::from("next:\n");
    if args.directory != Path::new(".") {
        text.add(format_args!("  cd {}", args.directory.display()));
    }
    text.add(format_args!("  read {}", report::FILE));
    text.add("  make manifests");
    text.add("  make test");
    match &imported.controllers[..] {
        [] => {}
        [(path, Some(go))] => text.add(format_args!("  port {path}, which has {go} as a comment")),
        _ => text.add("  port the controllers, which have their Go files as comments"),
    }
    text
}
