//! The webhooks that the flags of `kbr create webhook` select.

use crd_lint::check_condition;

use super::args::{Args, WebhookParts};
use kbr_host::diagnostic::Problems;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::names;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::webhook::{AdmissionKind, Calls, Webhook};

/// What the flags select, with defaults filled in.
///
/// # Errors
/// All problems of the flags.
pub fn webhook(
    args: &Args,
    parts: WebhookParts,
    project: &Project,
    target: &Target,
) -> anyhow::Result<Webhook> {
    let mut problems = Problems::default();
    check_flags(args, parts, &mut problems);
    check_empty(args, &mut problems);
    let path = |wanted: bool, given: &Option<String>, verb| match (wanted, given) {
        (false, _) => String::new(),
        (true, Some(path)) => path.clone(),
        (true, None) => target.webhook_path(verb),
    };
    let mut webhook = Webhook {
        target: target.clone(),
        defaulting: path(
            parts.defaulting,
            &args.defaulting_path,
            AdmissionKind::Mutate,
        ),
        validation: path(
            parts.validation,
            &args.validation_path,
            AdmissionKind::Validate,
        ),
        spokes: Vec::new(),
        calls: Calls {
            failure_policy: match args.failure_policy.as_deref() {
                Some(policy) if policy.eq_ignore_ascii_case("ignore") => "Ignore".to_owned(),
                _ => String::new(),
            },
            // A number that does not fit into a byte is out of range, too.
            timeout: args
                .timeout
                .map(|seconds| seconds.try_into().unwrap_or(u8::MAX)),
            namespace_selector: args.namespace_selector.clone().unwrap_or_default(),
            object_selector: args.object_selector.clone().unwrap_or_default(),
            match_conditions: args.match_conditions.clone(),
        },
    };
    if parts.conversion {
        webhook.spokes = wanted_spokes(args, project, target, &mut problems);
    }
    webhook.check(&mut problems);
    let allow = &project.manifests.allow;
    check_conditions(&webhook.calls.match_conditions, allow, &mut problems);
    problems.into_result()?;
    Ok(webhook)
}

/// Reports match conditions that the API server would not compile, unless PROJECT allows the unknown names in them. A missing
/// name or expression is reported elsewhere.
fn check_conditions(conditions: &[String], allow: &[String], problems: &mut Problems) {
    let mut names = Vec::new();
    for (name, expression) in conditions.iter().filter_map(|text| text.split_once('=')) {
        if names.contains(&name) {
            problems.add(
                format!("two match conditions are named `{name}`"),
                "give each its own name",
            );
        }
        names.push(name);
        let result = match expression.trim() {
            "" => Ok(()),
            expression => check_condition(expression),
        };
        if let Err(finding) = result
            && !allow.iter().any(|id| id == finding.id)
        {
            let reason = &finding.message;
            problems.add(
                format!("the match condition `{name}`, `{expression}`: {reason}"),
                format!(
                    "{}; if your Kubernetes is newer than this kbr and has it, write `allow = [\"{}\"]` under `[manifests]` in PROJECT",
                    finding.helps.join("; "),
                    finding.id
                ),
            );
        }
    }
}

/// An empty path does not mean the default path.
fn check_empty(args: &Args, problems: &mut Problems) {
    for (flag, path) in [
        ("defaulting-path", &args.defaulting_path),
        ("validation-path", &args.validation_path),
    ] {
        if path.as_deref() == Some("") {
            problems.add(
                format!("`--{flag}` is empty"),
                format!("leave `--{flag}` out for the default path"),
            );
        }
    }
}

/// Flags without effect, because their webhook is not created.
fn check_flags(args: &Args, parts: WebhookParts, problems: &mut Problems) {
    // kbr will ask which webhooks to create; but it does not always ask about conversion.
    let open = !parts.any();
    let admission = parts.defaulting || parts.validation;
    let either = "--defaulting` or `--validation";
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
            either,
        ),
        ("timeout", args.timeout.is_some(), admission, either),
        (
            "namespace-selector",
            args.namespace_selector.is_some(),
            admission,
            either,
        ),
        (
            "object-selector",
            args.object_selector.is_some(),
            admission,
            either,
        ),
        (
            "match-condition",
            !args.match_conditions.is_empty(),
            admission,
            either,
        ),
    ];
    for (flag, given, sense, with) in pairs {
        if given && !sense && (!open || flag == "spoke") {
            problems.add(
                format!("`--{flag}` has no effect without `{with}`"),
                format!("pass `{with}`, or leave `--{flag}` out"),
            );
        }
    }
}

/// How to create a version of the kind, as a command that can be copied.
fn create_version(target: &Target, version: &str) -> String {
    format!(
        "to create `{version}`: `kbr create api --group {} --version {version} --kind {} --resource --controller=false`",
        target.group, target.kind
    )
}

/// `v2` after `v1`, `v1` after `v1beta1`.
fn next_version(version: &str) -> String {
    let number = version.trim_start_matches('v');
    let end = number.find(|it: char| !it.is_ascii_digit());
    let major: u32 = number[..end.unwrap_or(number.len())].parse().unwrap_or(0);
    format!("v{}", major + u32::from(end.is_none()))
}

/// The versions given by `--spoke`, or all others of the kind.
fn wanted_spokes(
    args: &Args,
    project: &Project,
    target: &Target,
    problems: &mut Problems,
) -> Vec<String> {
    let others = project.versions(target).map(|api| &api.version);
    let others: Vec<String> = others
        .filter(|version| **version != target.version)
        .cloned()
        .collect();
    if !target.is_own() {
        problems.add(
            format!(
                "`{}` is not a kind of this project, so the operator cannot convert its versions",
                target.kind
            ),
            "leave `--conversion` out",
        );
        return Vec::new();
    }
    if others.is_empty() {
        problems.add(
            format!(
                "`{}` has only the version `{}`",
                target.kind, target.version
            ),
            match args
                .spokes
                .first()
                .filter(|spoke| names::is_version(spoke) && **spoke != target.version)
            {
                Some(spoke) => create_version(target, spoke),
                None => create_version(target, &next_version(&target.version)),
            },
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
                format!("is not a version of `{}`", target.kind)
            };
            problems.add(
                format!("`{spoke}` {what}"),
                if *spoke != target.version && names::is_version(spoke) {
                    let create = create_version(target, spoke);
                    format!("its other versions: {}; {create}", others.join(", "))
                } else {
                    format!("its other versions: {}", others.join(", "))
                },
            );
        }
    }
    let mut spokes = args.spokes.clone();
    spokes.sort();
    spokes.dedup();
    spokes
}
