//! The messages that `kbr create webhook` prints at the end.

use super::super::existing;
use super::chosen::WebhookSelection;
use kbr_host::lines::Lines;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::api_version::priority;

impl WebhookSelection {
    /// Consequences that the user might not expect.
    pub fn notes(&self, project: &Project) -> Lines {
        let mut text = Lines::default();
        let Some(new) = &self.new else {
            return text;
        };
        if !self.target.is_own() && new.admits() {
            text.add(format_args!("note: these webhooks skip the operator's own namespace: an operator cannot admit its own Pod before it runs"));
        }
        if !new.spokes.is_empty() {
            text.extend(self.storage(project));
        }
        if let Some(added) = &self.added {
            text += &existing::notes(added);
        }
        text
    }

    /// How to make the hub the storage version, if an older one is.
    fn storage(&self, project: &Project) -> Option<String> {
        let hub = &self.target.version;
        let versions = || project.versions(&self.target);
        let stored = versions().find(|api| project.is_storage(api))?;
        let of_hub = versions().find(|api| api.version == *hub)?;
        (priority(hub) > priority(&stored.version)).then(|| {
            format!(
                "note: `{}` is the storage version and `{hub}` the hub. This works; to store `{hub}`, move the line `storage = false,` from `{}` to `{}`",
                stored.version,
                of_hub.path(),
                stored.path(),
            )
        })
    }

    /// The next commands to type.
    pub fn next_steps(&self) -> Lines {
        let mut text = Lines::from("next:\n");
        if let Some(table) = self.tables().find(|table| table.admits()) {
            text.add(format_args!("  edit {}", table.path()));
        }
        for spoke in &self.spokes {
            text.add(format_args!("  edit {}", spoke.conversion_path()));
        }
        text += &Lines::from("  make manifests\n  make test\n");
        text
    }
}
