//! Permissions that controller-gen accepts and the linter of `kbr manifests` does not: they are taken over as they are, and allowed.

use kbr_scaffold::golang::Found;

/// Allows what the linter finds about the permissions, and leaves out those that grant nothing. Returns a note for each.
pub fn check(found: &mut Found) -> Vec<String> {
    let own = own(found);
    let mut notes = Vec::new();
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    found.permissions.retain_mut(|marker| {
        marker.replace("groups=", "groups=core");
        let mut is_valid = true;
        for problem in kbr_manifests::permission(&marker.path, &marker.line(), &own) {
            let text = problem.text();
            if let Some(id) = problem.id() {
                note(format!(
                    "{text}; the permission is taken over as it is, with `+kbr:lint:allow={id}`"
                ));
                marker.allowed.insert(id);
            } else {
                note(format!("not taken over: a permission. {text}"));
                is_valid = false;
            }
        }
        is_valid
    });
    notes
}

/// The resources of the project's own kinds, as group and plural.
fn own(found: &Found) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for definition in &found.definitions {
        let versions = &definition.versions;
        let below = [
            ("/status", versions.iter().any(|it| it.has_status)),
            ("/scale", versions.iter().any(|it| it.scale.is_some())),
            ("/finalizers", true),
            ("", true),
        ];
        for (below, _) in below.into_iter().filter(|(_, has)| *has) {
            let name = format!("{}{below}", definition.plural);
            all.push((definition.group.clone(), name));
        }
    }
    all
}
