//! The messages that `kbr create api` prints at the end.

use super::super::existing;
use super::target::ApiSelection;
use crate::cli::write::Planned;
use kbr_host::lines::Lines;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{Resource, kubernetes};

impl ApiSelection {
    /// Consequences that the user might not expect.
    pub fn notes(&self, project: &Project) -> Lines {
        let mut text = Lines::default();
        if let Some(api) = &self.api
            && !project.is_storage(&api.value)
            && project
                .hub(&api.value.full_group, &api.value.kind)
                .is_none()
        {
            text.add(format_args!("note: `{}` {} is served but not stored, and nothing converts its versions yet: keep their fields equal, or run `kbr create webhook --group {2} --version {1} --kind {0} --conversion`",
                api.value.kind, api.value.version, api.value.group));
        }
        if let Some(api) = &self.api {
            text.extend(ambiguous(&api.value));
            text.extend(long_group(&api.value));
        }
        text.extend(self.storage(project));
        if let Some(Planned {
            value,
            recorded: false,
        }) = &self.controller
        {
            let kind = value.target.kind.to_lowercase();
            let other = project.controllers().find(|known| known.name == kind);
            if let Some(other) =
                other.filter(|other| other.target.full_group != value.target.full_group)
            {
                text.add(format_args!("note: named the controller `{}`: `{kind}` is already the controller for `{}` of `{}`",
                    value.name,
                    other.target.kind,
                    other.target.group_shown()));
            }
        }
        if let Some(added) = &self.added {
            text += &existing::notes(added);
        }
        text
    }

    /// How to store another version of a kind that has several, and what happens to the objects.
    fn storage(&self, project: &Project) -> Option<String> {
        let api = self.api.as_ref().map(|api| &api.value)?;
        let stored = project.apis().find(|known| known.is_version_of(api))?;
        (!stored.matches(api)).then(|| {
            format!(
                "note: objects are stored in {0}; to store {1}, move the line `storage = false,` from `{2}` to `{3}`, and add `manager.migrate_storage::<{4}>();` to `src/main.rs`: it rewrites the stored objects, so that you can drop {0} later",
                stored.version,
                api.version,
                api.path(),
                stored.path(),
                Target::own(api).type_path,
            )
        })
    }

    /// The next commands to type.
    pub fn next_steps(&self, project: &Project) -> Lines {
        let mut text = Lines::from("next:\n");
        if let Some(api) = &self.api {
            text.add(format_args!("  edit {}", api.value.path()));
            if project
                .hub(&api.value.full_group, &api.value.kind)
                .is_some()
            {
                text.add(format_args!("  edit {}", api.value.conversion_path()));
            }
        }
        if let Some(controller) = &self.controller {
            text.add(format_args!("  edit {}", controller.value.path()));
        }
        text += &Lines::from("  make manifests\n  make test\n");
        text
    }
}

/// A note if `--group` looks like a full group, and the domain was added to it.
fn long_group(api: &Resource) -> Option<String> {
    let (group, full) = (&api.group, &api.full_group);
    (group.contains('.') && group != full).then(|| {
        format!("note: the full group is `{full}`; if you meant `{group}`, pass `--domain ''`")
    })
}

/// A note if kubectl takes a name of the kind for that of a built-in one.
fn ambiguous(api: &Resource) -> Option<String> {
    let names = [&api.plural, &api.singular].into_iter();
    let names = names.chain(&api.short_names);
    let mut found = names.filter_map(|name| Some((name, kubernetes::meant_by(name)?)));
    let (name, known) = found.next()?;
    let (kind, full) = (known.kind, format!("{}.{}", api.plural, api.full_group));
    let others: Vec<String> = found.map(|(name, _)| format!("`{name}`")).collect();
    let others = match &others[..] {
        [] => String::new(),
        others => format!(", as it does for {}", others.join(", ")),
    };
    Some(format!(
        "note: `kubectl get {name}` shows Kubernetes' own `{kind}`{others}; type `kubectl get {full}` for this kind, or choose other names"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_scaffold::resource::ApiFlags;

    fn note(kind: &str, short_names: &[&str]) -> String {
        let flags = ApiFlags {
            group: "crew".to_owned(),
            domain: "example.com".to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
            short_names: short_names.iter().map(|&name| name.to_owned()).collect(),
            ..ApiFlags::default()
        };
        ambiguous(&Resource::new(&flags).unwrap()).unwrap_or_default()
    }

    #[test]
    fn a_name_that_kubectl_takes_for_a_built_in_kind_is_noted() {
        assert_eq!(
            note("Role", &[]),
            "note: `kubectl get roles` shows Kubernetes' own `Role`, as it does for `role`; type `kubectl get roles.crew.example.com` for this kind, or choose other names"
        );
        assert_eq!(
            note("Captain", &["cap", "svc"]),
            "note: `kubectl get svc` shows Kubernetes' own `Service`; type `kubectl get captains.crew.example.com` for this kind, or choose other names"
        );
        assert_eq!(note("Captain", &["cap"]), "");
    }
}
