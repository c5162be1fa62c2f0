//! Flags and commands of kubebuilder that kbr does not have, and their replacements.

use std::env;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::delete;
use kbr_host::diagnostic::Diagnostic;
use kbr_scaffold::project::Table;
use kbr_scaffold::workdir;

/// Flags without a counterpart, and what to do instead.
const FLAGS: &[(&str, &str)] = &[
    (
        "--make",
        "leave it out: kbr runs no programs; run `make manifests` after editing the types",
    ),
    (
        "--plugins",
        "leave it out: kbr has one layout, and lines in `config/default/kustomization.yaml` turn on components",
    ),
    (
        "--project-version",
        "leave it out: kbr has one layout, `v1`",
    ),
    (
        "--multigroup",
        "leave it out: a project can always have several groups",
    ),
    (
        "--namespaced",
        "leave it out: a line in `config/default/kustomization.yaml` turns on the component `config/namespaced`",
    ),
    (
        "--fetch-deps",
        "leave it out: kbr fetches nothing; cargo fetches the crates in `Cargo.lock` when it builds",
    ),
    (
        "--skip-go-version-check",
        "leave it out: kbr needs no Go, and `rust-version` in `Cargo.toml` says which Rust is needed",
    ),
    (
        "--license-file",
        "leave it out: put your license into `LICENSE` and pass `--license none`; files have no headers",
    ),
    (
        "--component-config",
        "leave it out: the operator takes flags, which `config/manager` sets",
    ),
    (
        "--ssa",
        "leave it out: controllers always use server-side apply, and the types serve as apply configurations",
    ),
    (
        "--external-api-path",
        "pass the crate and the type instead: `--external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate`",
    ),
    (
        "--external-api-module",
        "pass the crate and its version instead: `--external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate`",
    ),
    (
        "--external-api-domain",
        "pass the full group instead: `--group cert-manager.io`",
    ),
    (
        "--crd-version",
        "leave it out: CRDs are `apiextensions.k8s.io/v1`",
    ),
    ("--json", "pass `--output json`"),
    ("--verbose", "leave it out: kbr always reports each change"),
    (
        "--pattern",
        "leave it out: kbr has one template for controllers",
    ),
];

/// Short flags that users try, and the flags that kbr has.
const SHORT: &[(&str, &str)] = &[("-g", "--group"), ("-v", "--version"), ("-k", "--kind")];

/// Commands that kbr does not have, each with the command above it, and what to do instead.
const COMMANDS: &[(&str, &str, &str)] = &[
    (
        "",
        "new",
        "to start a project: `kbr init --directory captains`",
    ),
    (
        "",
        "run",
        "to run the operator: `kbr dev`, or `make run` in your own cluster",
    ),
    ("", "test", "to run all tests: `make test`"),
    ("", "build", "to build the operator: `make build`"),
    ("", "generate", "to generate manifests: `kbr manifests`"),
    ("", "deploy", "to deploy the operator: `make deploy IMG=…`"),
    (
        "",
        "add",
        "to add a kind: `kbr create api`; to add webhooks: `kbr create webhook`",
    ),
    ("", "update", "to upgrade the project: `kbr upgrade`"),
    (
        "",
        "remove",
        "to remove a kind, controller or webhook: `kbr delete`",
    ),
    (
        "",
        "edit",
        "kbr has no modes: lines in `config/default/kustomization.yaml` turn on components",
    ),
    (
        "",
        "alpha",
        "for `alpha generate`, run the commands that PROJECT records again: they restore missing files and lines; for `alpha update`, run `kbr upgrade`",
    ),
    (
        "create",
        "controller",
        "run `kbr create api … --resource=false --controller`",
    ),
    ("cluster", "create", "run `kbr cluster start`"),
    ("cluster", "delete", "run `kbr cluster stop`"),
    ("cluster", "list", "run `kbr cluster status`"),
];

/// The error for a command line that only kubebuilder understands; `arguments` are those of the process.
pub fn answer(error: &clap::Error, arguments: &[String]) -> Option<Diagnostic> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let argument = context(ContextKind::InvalidArg)?;
            let flag = argument.split('=').next().unwrap_or_default();
            if let Some((flag, instead)) = FLAGS.iter().find(|(known, _)| *known == flag) {
                let text = format!("kbr has no `{flag}`");
                return Some(Diagnostic::new(text).help(instead));
            }
            if let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == flag) {
                let text = format!("unexpected argument `{argument}`");
                return Some(Diagnostic::new(text).help(format!("write `{long}`")));
            }
            if let "true" | "false" = argument {
                return Some(no_value(argument, arguments));
            }
            if let Some(help) = positional(argument, arguments) {
                let text = format!("unexpected argument `{argument}`");
                return Some(Diagnostic::new(text).help(help));
            }
            let of_init = context(ContextKind::Usage).is_none() && is_init(arguments);
            (of_init && !argument.starts_with('-')).then(|| {
                let help = if argument.contains('.') {
                    format!("did you mean `--domain {argument}`?")
                } else {
                    format!("did you mean `--project-name {argument}`?")
                };
                Diagnostic::new(format_args!("`kbr init` takes no `{argument}`")).help(help)
            })
        }
        ErrorKind::InvalidSubcommand => {
            let command = context(ContextKind::InvalidSubcommand)?;
            let first = arguments.get(1).map_or("", String::as_str);
            let parent = if first == command { "" } else { first };
            if parent == "delete" {
                return Some(deleted(command));
            }
            let mut known = COMMANDS.iter();
            let (_, _, instead) =
                known.find(|(of, known, _)| (*of, *known) == (parent, command))?;
            let full = format!("{parent} {command}");
            let text = format!("kbr has no command `{}`", full.trim_start());
            Some(Diagnostic::new(text).help(instead))
        }
        _ => None,
    }
}

/// What to type instead of an argument without a flag, as far as the command tells it.
fn positional(argument: &str, arguments: &[String]) -> Option<String> {
    if argument.starts_with('-') {
        return None;
    }
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    match words[..] {
        ["delete", "controller", ..] => {
            Some(format!("did you mean `--controller-name {argument}`?"))
        }
        ["create" | "delete", _, group, version, kind]
            if ![group, version, kind]
                .iter()
                .any(|word| word.starts_with('-')) =>
        {
            Some(format!(
                "did you mean `--group {group} --version {version} --kind {kind}`?"
            ))
        }
        ["create" | "delete", ..] => Some("pass `--group`, `--version` and `--kind`".to_owned()),
        ["envtest", "run", ..] => {
            let at = words.iter().position(|word| *word == argument)?;
            let (before, after) = words.split_at(at);
            Some(format!(
                "did you mean `kbr {} -- {}`?",
                before.join(" "),
                after.join(" ")
            ))
        }
        _ => None,
    }
}

/// For `kbr delete captain`: the commands that delete what the project has by that name, or all.
fn deleted(name: &str) -> Diagnostic {
    let error = Diagnostic::new(format_args!("`kbr delete` cannot delete `{name}`"));
    let same = |word: &str| word.eq_ignore_ascii_case(name);
    let project = env::current_dir()
        .map_err(anyhow::Error::from)
        .and_then(|folder| workdir::load(&workdir::find_root(&folder)?));
    let tables = project.map(|project| project.tables).unwrap_or_default();
    let found: Vec<String> = tables
        .iter()
        .filter(|table| match table {
            Table::Api(api) => same(&api.kind),
            Table::Controller(controller) => same(&controller.name),
            Table::Webhook(webhook) => same(&webhook.target.kind),
        })
        .map(|table| format!("did you mean `{}`?", delete::command(table)))
        .collect();
    if found.is_empty() {
        return error.help("pass `api`, `controller` or `webhook`: `kbr delete --help`");
    }
    found.into_iter().fold(error, Diagnostic::help)
}

/// For `true` or `false` after a flag without `=`, which clap reads as a separate argument.
fn no_value(word: &str, arguments: &[String]) -> Diagnostic {
    const SWITCHES: &[&str] = &["--resource", "--controller", "--namespaced"];
    let flag = arguments
        .windows(2)
        .find(|pair| pair[1] == word && pair[0].starts_with('-'))
        .map(|pair| pair[0].as_str());
    let help = match flag {
        Some(flag) if SWITCHES.contains(&flag) => format!("write it with `=`: `{flag}={word}`"),
        Some(flag) if !flag.contains('=') => format!("`{flag}` takes no value"),
        _ => format!("leave `{word}` out"),
    };
    Diagnostic::new(format_args!("unexpected argument `{word}`")).help(help)
}

/// Whether this process was started as `kbr init …`: clap does not report which command an argument belongs to.
fn is_init(arguments: &[String]) -> bool {
    arguments.get(1).is_some_and(|command| command == "init")
}
