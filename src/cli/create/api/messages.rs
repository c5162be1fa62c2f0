//! The messages that `kbr create api` prints at the end.

use super::super::existing;
use super::target::ApiSelection;
use crate::cli::write::Planned;
use kbr_host::lines::Lines;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::api_version::priority;
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
            let versions = project.apis().filter(|it| it.is_version_of(&api.value));
            let newest = versions
                .chain([&api.value])
                .max_by_key(|it| priority(&it.version));
            let hub = &newest.unwrap_or(&api.value).version;
            text.add(format_args!("note: `{0}` {1} is served but not stored, and nothing converts its versions yet: keep their fields equal, or run `kbr create webhook --group {2} --version {hub} --kind {0} --conversion`",
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

    /// How to store a newer version of a kind that has several, and what happens to the objects.
    fn storage(&self, project: &Project) -> Option<String> {
        let api = self.api.as_ref().map(|api| &api.value)?;
        let stored = project.apis().find(|known| known.is_version_of(api))?;
        (priority(&api.version) > priority(&stored.version)).then(|| {
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
    use kbr_scaffold::project::{self, Table};
    use kbr_scaffold::resource::ApiFlags;

    fn api(kind: &str, version: &str, short_names: &[&str]) -> Resource {
        let flags = ApiFlags {
            group: "crew".to_owned(),
            domain: "example.com".to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
            short_names: short_names.iter().map(|&name| name.to_owned()).collect(),
            ..ApiFlags::default()
        };
        Resource::new(&flags).unwrap()
    }

    fn note(kind: &str, short_names: &[&str]) -> String {
        ambiguous(&api(kind, "v1", short_names)).unwrap_or_default()
    }

    /// The notes about a version of a kind that exists in these versions.
    fn notes(versions: &[&str], new: &str) -> String {
        let head = "layout = 'v1'\nkbr = '0.3.0'\nname = 'captains'\ndomain = 'example.com'";
        let mut project = project::parse(head).unwrap();
        let of = |version: &&str| Table::Api(api("Captain", version, &[]));
        project.tables = versions.iter().map(of).collect();
        let value = api("Captain", new, &[]);
        let selection = ApiSelection {
            api: Some(Planned {
                value,
                recorded: false,
            }),
            controller: None,
            added: None,
        };
        selection.notes(&project).to_string()
    }

    #[test]
    fn the_newest_version_is_proposed_as_the_hub_and_never_an_older_one_to_be_stored() {
        for (versions, new, hub, stores) in [
            (&["v1"][..], "v2", "v2", true),
            (&["v1"], "v1beta1", "v1", false),
            (&["v1beta1"], "v1", "v1", true),
            (&["v1beta1"], "v1beta2", "v1beta2", true),
            (&["v1beta1", "v1"], "v1alpha1", "v1", false),
        ] {
            let notes = notes(versions, new);
            let command = format!("--version {hub} --kind Captain --conversion`");
            assert!(notes.contains(&command), "{notes}");
            assert_eq!(notes.contains("to store"), stores, "{notes}");
        }
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
