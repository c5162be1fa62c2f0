//! What the Go code has and PROJECT does not name.

use super::Imported;
use kbr_scaffold::golang::Found;

/// A sentence for each reconciler and webhook that is not taken over.
pub fn notes(found: &Found, imported: &Imported) -> Vec<String> {
    let is_taken = |path: &str| {
        let mut taken = imported.controllers.iter();
        taken.any(|(_, go)| go.as_deref() == Some(path))
    };
    let mut notes = Vec::new();
    for reconciler in found.reconcilers.iter().filter(|it| !is_taken(&it.path)) {
        notes.push(format!(
            "not taken over: the reconciler `{}` in `{}`, of which `PROJECT` names no controller; create one with `kbr create api --resource=false --controller`",
            reconciler.receiver, reconciler.path
        ));
    }
    let webhooks = || imported.intent.project().webhooks();
    let markers = found.markers.iter().filter(|it| it.name == "webhook");
    for marker in markers {
        let Some(path) = marker.value("path") else {
            continue;
        };
        if !webhooks().any(|it| it.defaulting == path || it.validation == path) {
            notes.push(format!(
                "not taken over: the webhook at `{path}` in `{}`, which `PROJECT` does not name; create it with `kbr create webhook`",
                marker.path
            ));
        }
    }
    notes
}

/// What to do about a finalizer. A part of its name comes from another expression if it begins or ends like a part.
pub fn finalizer(name: &str) -> String {
    let is_end = |it: char| it.is_ascii_alphanumeric();
    if name.starts_with(is_end) && name.ends_with(is_end) {
        return format!(
            "the Go code has the finalizer `{name}`: keep its name, `.finalizer(\"{name}\", cleanup)`"
        );
    }
    format!(
        "the Go code has a finalizer of which `{name}` is a part: keep its whole name, `.finalizer(NAME, cleanup)`"
    )
}
