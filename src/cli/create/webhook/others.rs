//! Clashes between the webhooks of `kbr create webhook` and those in PROJECT.

use kbr_host::diagnostic::Problems;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::webhook::{Calls, Webhook};

/// Checks the webhook against all webhooks in PROJECT; `known` holds those of the same kind and version.
///
/// # Errors
/// All clashes.
pub fn check(wanted: &Webhook, known: &[Webhook], project: &Project) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    let file = wanted.path();
    for other in project.webhooks() {
        let same = other.target.matches(&wanted.target);
        if !same && other.module() == wanted.module() {
            problems.add(
                format!(
                    "`{file}` already belongs to `{}` of `{}`",
                    other.target.kind,
                    other.target.group_shown()
                ),
                "give one of the groups another short name",
            );
        }
        let paths = [&wanted.defaulting, &wanted.validation];
        for path in paths.into_iter().filter(|path| !path.is_empty()) {
            if !same && [&other.defaulting, &other.validation].contains(&path) {
                problems.add(
                    format!(
                        "`{path}` is already the path of a webhook for `{}` of `{}`",
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
                    "the hub of `{}` is already `{}`",
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

/// A repeated command must not change the user's file.
fn same_parameters(wanted: &Webhook, known: &Webhook, file: &str, problems: &mut Problems) {
    let defaulting = (&wanted.defaulting, &known.defaulting);
    let validation = (&wanted.validation, &known.validation);
    for (wanted_path, known_path) in [defaulting, validation] {
        if wanted_path.is_empty() || known_path.is_empty() {
            continue;
        }
        let mut differences = differences(&wanted.calls, &known.calls);
        if wanted_path != known_path {
            differences.insert(
                0,
                format!("its path is `{known_path}`, not `{wanted_path}`"),
            );
        }
        if !differences.is_empty() {
            problems.add(
                format!("the webhook `{known_path}` already exists: {}", differences.join("; ")),
                format!("edit its comment `+kbr:webhook:path={known_path}` in `{file}`, and leave the flags out"),
            );
        }
    }
}

/// What the flags say about the calls of a webhook, and what it has instead.
fn differences(wanted: &Calls, known: &Calls) -> Vec<String> {
    if *wanted == Calls::default() {
        return Vec::new();
    }
    let or = |text: &str, default: &str| match text {
        "" => default.to_owned(),
        text => format!("`{text}`"),
    };
    let seconds = |calls: &Calls| format!("`{}`", calls.timeout.unwrap_or(10));
    let conditions = |calls: &Calls| or(&calls.match_conditions.join("`, `"), "none");
    let (wanted, known) = [wanted, known]
        .map(|calls| {
            [
                ("failure-policy", or(&calls.failure_policy, "`Fail`")),
                ("timeout", seconds(calls)),
                ("namespace-selector", or(&calls.namespace_selector, "none")),
                ("object-selector", or(&calls.object_selector, "none")),
                ("match-condition", conditions(calls)),
            ]
        })
        .into();
    let pairs = wanted.into_iter().zip(known);
    let differing = pairs.filter(|(wanted, known)| wanted != known);
    differing
        .map(|((flag, wanted), (_, known))| format!("`--{flag}` is {known}, not {wanted}"))
        .collect()
}
