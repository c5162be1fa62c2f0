//! What the Go code has and PROJECT does not name.

use std::collections::BTreeSet;

use super::Imported;
use kbr_scaffold::golang::{self, Described, Found, Reconciler};

/// A sentence for each Go file with reconcilers that is not taken over.
pub fn reconcilers(found: &Found, imported: &Imported) -> Vec<String> {
    let files = found.reconcilers.all.chunk_by(|a, b| a.path == b.path);
    let others = files.filter(|it| !it[0].is_part && !imported.carried.contains_key(&*it[0].path));
    let note = |reconcilers: &[Reconciler]| {
        let of = reconcilers.iter().find_map(|it| it.kind.as_ref());
        let of = of.filter(|it| !it.package.is_empty());
        let (reconciled, flags) = match of {
            Some(of) => (
                format!(
                    ", for `{}` of `{}`",
                    of.name.escape_debug(),
                    of.package.escape_debug()
                ),
                format!(
                    "--group GROUP --version VERSION --kind {} --external-crate CRATE --external-type TYPE",
                    of.name.escape_debug()
                ),
            ),
            None => (
                String::new(),
                "--group GROUP --version VERSION --kind KIND".to_owned(),
            ),
        };
        let path = &reconcilers[0].path;
        format!(
            "not taken over: {} in `{path}`{reconciled}, because no kind of this project or of Kubernetes is known to be its own; `kbr create api {flags} --resource=false --controller --from-go FILE` creates its controller, with that file as a comment; `src/main.rs` has its permissions",
            named(reconcilers),
        )
    };
    others.map(note).collect()
}

/// A sentence for each webhook that is not taken over, with the reason.
pub fn webhooks(found: &Found, imported: &Imported) -> Vec<String> {
    let mut notes = imported.webhooks_left.clone();
    notes.extend(found.rendered.webhook_patches.iter().map(|folder| {
        format!(
            "`{folder}/kustomization.yaml` patches webhooks, such as their `namespaceSelector` or `objectSelector`, and kbr generates its own configurations: write that into the `patch` of their `+kbr:webhook` comments before you deploy, or they reject what they did not see before"
        )
    }));
    let tables: Vec<_> = imported.intent.project().webhooks().collect();
    let taken: BTreeSet<&str> = tables
        .iter()
        .flat_map(|it| [it.defaulting.as_str(), it.validation.as_str()])
        .collect();
    let firsts: Vec<&Described> = tables
        .iter()
        .flat_map(|table| golang::described(table, &found.webhooks))
        .map(|(_, _, first)| first)
        .collect();
    for webhook in &found.webhooks {
        let path = webhook.path.as_deref().unwrap_or_default();
        if firsts.iter().any(|it| webhook.is_more_of(it)) {
            continue;
        }
        let reason = match found.no_webhooks {
            Some(reason) => reason,
            None if path.is_empty() => "its comment has no `path`",
            None if taken.contains(path) => "another one has the same path",
            None => "it is not for a kind of this project or of Kubernetes that has none yet",
        };
        notes.push(format!(
            "not taken over: webhooks in `{}`, because {reason}; create each with `kbr create webhook`: `{path}`",
            webhook.marker.path
        ));
    }
    notes
}

fn named(reconcilers: &[Reconciler]) -> String {
    let end = if reconcilers.len() == 1 { "" } else { "s" };
    let names = some(reconcilers.iter().map(|it| it.receiver.as_str()));
    format!("the reconciler{end} {names}")
}

/// The first names in quotes, and the number of the others.
pub fn some<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let others = names.len().saturating_sub(SHOWN);
    let names: Vec<_> = names.take(SHOWN).map(|it| format!("`{it}`")).collect();
    match others {
        0 => names.join(", "),
        _ => format!("{} and {others} more", names.join(", ")),
    }
}

/// What to do about a finalizer. A part of its name comes from another expression if it begins or ends like a part.
pub fn finalizer(name: &str) -> String {
    let is_end = |it: char| it.is_ascii_alphanumeric();
    if name.starts_with(is_end) && name.ends_with(is_end) {
        return format!(
            "finalizers of the Go code keep their names in `.finalizer(NAME, cleanup)`: `{name}`"
        );
    }
    format!(
        "finalizers of the Go code keep their names in `.finalizer(NAME, cleanup)`; these are only a part of the name: `{name}`"
    )
}
