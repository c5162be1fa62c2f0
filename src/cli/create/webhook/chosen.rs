//! What `kbr create webhook` creates, in the project as it is.

use std::fmt::Write as _;
use std::path::Path;

use super::super::conversion::Spoke;
use super::super::existing::Added;
use super::{Args, Parts, target};
use crate::problems::Problems;
use crate::project::Project;
use crate::resource::Resource;
use crate::resource::target::Target;
use crate::resource::webhook::{Calls, Verb, Webhook};
use crate::vars::Vars;

/// What the command creates.
#[derive(Debug)]
pub struct Chosen {
    target: Target,
    /// The tables that PROJECT has for the kind and version.
    known: Vec<Webhook>,
    /// The table for PROJECT, if anything is new.
    pub new: Option<Webhook>,
    /// The versions that get a conversion.
    pub spokes: Vec<Spoke>,
    /// What the kind's crate adds to the manifest.
    pub added: Option<Added>,
}

/// Finds what `parts` are.
///
/// # Errors
/// Everything that is wrong with it.
pub fn choose(args: &Args, parts: Parts, project: &Project, root: &Path) -> anyhow::Result<Chosen> {
    let mut added = None;
    let target = target::find(args, project, root, &mut added)?;
    let wanted = wanted(args, parts, project, &target)?;
    let of_kind = project
        .webhooks
        .iter()
        .filter(|known| known.target.is(&target));
    let known: Vec<Webhook> = of_kind.cloned().collect();
    check_others(&wanted, &known, project)?;
    let new = new(&wanted, &known);
    Ok(Chosen {
        spokes: spokes(&target, &known, new.as_ref(), project),
        target,
        known,
        new,
        added,
    })
}

/// What the flags say, with what they leave open filled in.
fn wanted(
    args: &Args,
    parts: Parts,
    project: &Project,
    target: &Target,
) -> anyhow::Result<Webhook> {
    let mut problems = Problems::default();
    check_flags(args, parts, &mut problems);
    let path = |wanted: bool, given: &Option<String>, verb| match (wanted, given) {
        (false, _) => String::new(),
        (true, Some(path)) => path.clone(),
        (true, None) => target.webhook_path(verb),
    };
    let mut webhook = Webhook {
        target: target.clone(),
        defaulting: path(parts.defaulting, &args.defaulting_path, Verb::Mutate),
        validation: path(parts.validation, &args.validation_path, Verb::Validate),
        spokes: Vec::new(),
        calls: Calls {
            failure_policy: match args.failure_policy.as_deref() {
                Some(policy) if policy.eq_ignore_ascii_case("ignore") => "Ignore".to_owned(),
                _ => String::new(),
            },
            timeout: args.timeout,
            namespace_selector: args.namespace_selector.clone().unwrap_or_default(),
            object_selector: args.object_selector.clone().unwrap_or_default(),
            match_conditions: args.match_conditions.clone(),
        },
    };
    if parts.conversion {
        webhook.spokes = wanted_spokes(args, project, target, &mut problems);
    }
    webhook.check(&mut problems);
    problems.into_result()?;
    Ok(webhook)
}

/// Flags that say something of what is not created.
fn check_flags(args: &Args, parts: Parts, problems: &mut Problems) {
    let asked = !(args.defaulting || args.validation || args.conversion);
    let admission = parts.defaulting || parts.validation || asked;
    let pairs = [
        (
            "defaulting-path",
            args.defaulting_path.is_some(),
            parts.defaulting,
            "--defaulting",
        ),
        (
            "validation-path",
            args.validation_path.is_some(),
            parts.validation,
            "--validation",
        ),
        (
            "spoke",
            !args.spokes.is_empty(),
            parts.conversion,
            "--conversion",
        ),
        (
            "failure-policy",
            args.failure_policy.is_some(),
            admission,
            "--defaulting` or `--validation",
        ),
        (
            "timeout",
            args.timeout.is_some(),
            admission,
            "--defaulting` or `--validation",
        ),
        (
            "namespace-selector",
            args.namespace_selector.is_some(),
            admission,
            "--defaulting` or `--validation",
        ),
        (
            "object-selector",
            args.object_selector.is_some(),
            admission,
            "--defaulting` or `--validation",
        ),
        (
            "match-condition",
            !args.match_conditions.is_empty(),
            admission,
            "--defaulting` or `--validation",
        ),
    ];
    for (flag, given, sense, with) in pairs {
        if given && !sense && !(asked && parts == NOTHING) {
            problems.add(
                format!("`--{flag}` says something of a webhook that is not asked for"),
                format!("pass `{with}` too, or leave `--{flag}` out"),
            );
        }
    }
}

const NOTHING: Parts = Parts {
    defaulting: false,
    validation: false,
    conversion: false,
};

/// The versions that `--spoke` names, or all others of the kind.
fn wanted_spokes(
    args: &Args,
    project: &Project,
    target: &Target,
    problems: &mut Problems,
) -> Vec<String> {
    let others: Vec<String> = project
        .apis
        .iter()
        .filter(|api| is_version_of(api, target) && api.version != target.version)
        .map(|api| api.version.clone())
        .collect();
    if !target.is_own() {
        problems.add(
            format!(
                "versions of `{}` are converted by whoever defines it",
                target.kind
            ),
            "leave `--conversion` out",
        );
        return Vec::new();
    }
    if others.is_empty() {
        problems.add(
            format!("`{}` has no other version than `{}`", target.kind, target.version),
            format!(
                "create it first: `kbr create api --group {} --version … --kind {} --resource --controller=false`",
                target.group, target.kind
            ),
        );
        return Vec::new();
    }
    if args.spokes.is_empty() {
        return others;
    }
    for spoke in &args.spokes {
        if !others.contains(spoke) {
            let what = if *spoke == target.version {
                "is the hub itself".to_owned()
            } else {
                format!("is no version of `{}`", target.kind)
            };
            problems.add(
                format!("`{spoke}` {what}"),
                format!("its other versions are: {}", others.join(", ")),
            );
        }
    }
    let mut spokes = args.spokes.clone();
    spokes.sort();
    spokes.dedup();
    spokes
}

fn is_version_of(api: &Resource, target: &Target) -> bool {
    target.is_own() && api.full_group == target.full_group && api.kind == target.kind
}

/// Checks the webhook against all that PROJECT has; `known` are those of the same kind and version.
fn check_others(wanted: &Webhook, known: &[Webhook], project: &Project) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    let file = wanted.path();
    for other in &project.webhooks {
        let same = other.target.is(&wanted.target);
        if !same && other.module() == wanted.module() {
            problems.add(
                format!(
                    "`{file}` is the file of `{}` of `{}` already",
                    other.target.kind,
                    other.target.group_shown()
                ),
                "one of both groups needs another short name",
            );
        }
        let paths = [&wanted.defaulting, &wanted.validation];
        for path in paths.into_iter().filter(|path| !path.is_empty()) {
            if !same && [&other.defaulting, &other.validation].contains(&path) {
                problems.add(
                    format!(
                        "`{path}` is served for `{}` of `{}` already",
                        other.target.kind,
                        other.target.group_shown()
                    ),
                    "pass another path with `--defaulting-path` or `--validation-path`",
                );
            }
        }
        let hub = !other.spokes.is_empty() && !same;
        if hub && !wanted.spokes.is_empty() && other.target.is_version_of(&wanted.target) {
            problems.add(
                format!(
                    "the hub of `{}` is `{}` already",
                    other.target.kind, other.target.version
                ),
                format!("pass `--version {}`", other.target.version),
            );
        }
    }
    for table in known {
        same_parameters(wanted, table, &file, &mut problems);
    }
    problems.into_result()
}

/// The command again: what stands in the user's file by now stays.
fn same_parameters(wanted: &Webhook, known: &Webhook, file: &str, problems: &mut Problems) {
    for (verb, wanted_path, known_path) in [
        ("mutate", &wanted.defaulting, &known.defaulting),
        ("validate", &wanted.validation, &known.validation),
    ] {
        if wanted_path.is_empty() || known_path.is_empty() {
            continue;
        }
        let given = wanted.calls != Calls::default() && wanted.calls != known.calls;
        if wanted_path != known_path || given {
            problems.add(
                format!("the webhook `{known_path}` is there already, with other parameters"),
                format!("edit its comment `+kbr:webhook:path={known_path}` in `{file}`, and leave the flags out; ({verb})"),
            );
        }
    }
}

/// What of `wanted` is not in `known`.
fn new(wanted: &Webhook, known: &[Webhook]) -> Option<Webhook> {
    let mut new = wanted.clone();
    for table in known {
        if !table.defaulting.is_empty() {
            new.defaulting.clear();
        }
        if !table.validation.is_empty() {
            new.validation.clear();
        }
        new.spokes.retain(|spoke| !table.spokes.contains(spoke));
    }
    if !new.admits() {
        new.calls = Calls::default();
    }
    (new.admits() || !new.spokes.is_empty()).then_some(new)
}

fn spokes(
    target: &Target,
    known: &[Webhook],
    new: Option<&Webhook>,
    project: &Project,
) -> Vec<Spoke> {
    let find = |version: &str| {
        let mut apis = project.apis.iter();
        apis.find(|api| is_version_of(api, target) && api.version == version)
    };
    let spoke = |version: &String, recorded| {
        Some(Spoke {
            resource: find(version)?.clone(),
            hub: target.clone(),
            recorded,
        })
    };
    let known = known.iter().flat_map(|table| &table.spokes);
    let new = new.iter().flat_map(|table| &table.spokes);
    known
        .filter_map(|version| spoke(version, true))
        .chain(new.filter_map(|version| spoke(version, false)))
        .collect()
}

impl Chosen {
    /// The kind.
    pub fn target(&self) -> Target {
        self.target.clone()
    }

    /// Whether PROJECT has a webhook for the kind already: then its file is the user's.
    pub fn is_recorded(&self) -> bool {
        !self.known.is_empty()
    }

    /// Fills in what templates may use: of everything that the kind's file has in the end.
    pub fn fill(&self, vars: &mut Vars) {
        Webhook::new(self.target.clone()).fill(vars);
        for table in self.tables() {
            table.fill_calls(vars);
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Webhook> {
        self.known.iter().chain(&self.new)
    }

    /// What the user would not expect.
    pub fn notes(&self, project: &Project) -> String {
        let mut text = String::new();
        let Some(new) = &self.new else {
            return text;
        };
        if !self.target.is_own() && new.admits() {
            let _ = writeln!(
                text,
                "note: objects in the operator's own namespace pass by these webhooks: one that had to admit the operator's own Pod could not start"
            );
        }
        if !new.spokes.is_empty() {
            text += &self.storage(project).unwrap_or_default();
        }
        if let Some(added) = &self.added {
            text += &added.notes();
        }
        text
    }

    /// What to change if the hub is to be the stored version, and is not.
    fn storage(&self, project: &Project) -> Option<String> {
        let hub = &self.target.version;
        let versions = || {
            project
                .apis
                .iter()
                .filter(|api| is_version_of(api, &self.target))
        };
        let stored = versions().find(|api| project.is_storage(api))?;
        let of_hub = versions().find(|api| api.version == *hub)?;
        (stored.version != *hub).then(|| {
            format!(
                "note: `{}` is stored and `{hub}` is the hub, which works; to store `{hub}`, move the line `storage = false,` from `{}` to `{}`\n",
                stored.version,
                of_hub.path(),
                stored.path(),
            )
        })
    }

    /// What to type next.
    pub fn next_steps(&self) -> String {
        let mut text = "next:\n".to_owned();
        if let Some(table) = self.tables().find(|table| table.admits()) {
            let _ = writeln!(text, "  edit {}", table.path());
        }
        for spoke in &self.spokes {
            let _ = writeln!(text, "  edit {}", spoke.resource.conversion_path());
        }
        text + "  make manifests\n  make test\n"
    }
}
