//! Compares the webhooks that the code registers with those that the markers make the API server call.

use crd_lint::nearest;

use super::entry::Entry;
use crate::kinds::Kinds;
use crate::problem::Problem;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::webhook::{self, AdmissionKind};
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::uses::call;

/// A webhook that the code registers.
struct Registration {
    at: String,
    /// `None` if it may be either: its marker decides.
    mutating: Option<bool>,
    /// `None` if it cannot be determined without running the code.
    path: Option<String>,
    /// The marker that makes the API server call it, if its kind is known.
    marker: Option<String>,
}

impl Registration {
    fn fits(&self, mutating: bool) -> bool {
        self.mutating.is_none_or(|known| known == mutating)
    }
}

/// Compares the markers with `manager.defaulter::<T>(…)`, `manager.validator::<T>(…)` and `manager.admission_at(…)` in the sources: a path that no code
/// serves is a problem, a webhook that no marker makes the API server call is a warning.
pub fn compare(
    kinds: &Kinds,
    sources: &[Source],
    webhooks: &[Entry],
    problems: &mut Vec<Problem>,
) -> Vec<Problem> {
    let registered: Vec<Registration> = sources
        .iter()
        .flat_map(|source| registrations(kinds, source))
        .collect();
    let unclear = registered
        .iter()
        .any(|registration| registration.path.is_none());
    let paths = |mutating: bool| {
        let of = registered.iter().filter(move |known| known.fits(mutating));
        of.filter_map(|known| known.path.as_deref())
    };
    let called = |known: &&Registration| {
        let path = known.path.as_deref();
        path.is_none()
            || webhooks
                .iter()
                .any(|w| known.fits(w.mutating) && w.path.as_deref() == path)
    };
    let uncalled = |mutating: bool| {
        let mut uncalled = registered.iter().filter(|known| !called(known));
        uncalled.find(|known| known.fits(mutating))
    };
    for webhook in webhooks {
        let Some(path) = webhook.path.as_deref() else {
            continue;
        };
        if unclear || paths(webhook.mutating).any(|known| known == path) {
            continue;
        }
        let (method, other) = methods(webhook.mutating);
        let problem =
            Problem::new(format!("no {method} is registered at `{path}`")).at(&webhook.at);
        problems.push(if paths(!webhook.mutating).any(|known| known == path) {
            problem.help(format!(
                "a {other} is registered there: write `mutating={}`",
                !webhook.mutating
            ))
        } else if let Some(near) = nearest(path, paths(webhook.mutating)) {
            problem.did_you_mean(Some(near))
        } else if let Some(other) = uncalled(webhook.mutating) {
            let path = other.path.as_deref().unwrap_or_default();
            problem.help(format!(
                "the one at `{}` has no marker: write `path={path}`",
                other.at
            ))
        } else {
            problem.help(format!(
                "register it, `manager.{method}::<T>(…)` or `manager.admission_at(…)`, or remove the marker"
            ))
        });
    }
    let uncalled = registered.iter().filter(|known| !called(known));
    uncalled.map(without_marker).collect()
}

fn methods(mutating: bool) -> (&'static str, &'static str) {
    if mutating {
        ("defaulter", "validator")
    } else {
        ("validator", "defaulter")
    }
}

fn without_marker(known: &Registration) -> Problem {
    let path = known.path.as_deref().unwrap_or_default();
    let method = known
        .mutating
        .map_or("webhook", |mutating| methods(mutating).0);
    let text =
        format!("the {method} at `{path}` never runs: no marker registers it with the API server");
    let marker = known.marker.clone().unwrap_or_else(|| format!(
        "// +kbr:webhook:path={path},mutating={},failurePolicy=Fail,sideEffects=None,groups=…,resources=…,verbs=create;update,versions=…,name=…,admissionReviewVersions=v1",
        known.mutating.unwrap_or_default()
    ));
    Problem::new(text).at(&known.at).help(format!(
        "add this comment above the webhook: `{marker}`; or remove the line"
    ))
}

/// The webhooks that one Rust file registers.
fn registrations(kinds: &Kinds, source: &Source) -> Vec<Registration> {
    // A file with an unterminated string is reported where its markers are read.
    let code = source.code().unwrap_or_default();
    let text = &source.text;
    let mut found = Vec::new();
    let methods = [
        (".defaulter", Some(true)),
        (".validator", Some(false)),
        (".admission", None),
    ];
    for (method, mutating) in methods {
        for (at, _) in code.match_indices(method) {
            let rest = &code[at + method.len()..];
            let (explicit, rest) = match rest.strip_prefix("_at") {
                Some(rest) => (true, rest),
                None if mutating.is_none() => continue,
                None => (false, rest),
            };
            let Some((type_name, arguments)) = call(rest) else {
                continue;
            };
            let verb = if mutating == Some(true) {
                AdmissionKind::Mutate
            } else {
                AdmissionKind::Validate
            };
            let kind = type_name.and_then(|name| kinds.find(&source.resolve(&name)));
            let path = if explicit {
                literal(&text[text.len() - arguments.len()..])
            } else {
                kind.map(|kind| kind.webhook_path(verb))
            };
            let marker = kind
                .zip(path.as_deref())
                .map(|(kind, path)| marker(kinds, kind, verb, path));
            found.push(Registration {
                at: format!("{}:{}", source.path, source.lines.number(at)),
                mutating,
                path,
                marker,
            });
        }
    }
    found
}

/// The marker that makes the API server call a webhook at `path`, as `kbr create webhook` writes it.
fn marker(kinds: &Kinds, target: &Target, verb: AdmissionKind, path: &str) -> String {
    let webhook = webhook::Webhook::new(target.clone());
    webhook.marker(verb, path, &kinds.namespace, &kinds.manager_id)
}

/// The string literal at the start of the arguments.
fn literal(arguments: &str) -> Option<String> {
    let (text, _) = arguments.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(text.to_owned())
}
