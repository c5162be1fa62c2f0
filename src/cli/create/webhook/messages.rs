//! The messages that `kbr create webhook` prints at the end.

use std::fmt::Write as _;

use super::super::existing;
use super::chosen::WebhookSelection;
use kbr_scaffold::project::Project;

impl WebhookSelection {
    /// Consequences that the user might not expect.
    pub fn notes(&self, project: &Project) -> String {
        let mut text = String::new();
        let Some(new) = &self.new else {
            return text;
        };
        if !self.target.is_own() && new.admits() {
            let _ = writeln!(
                text,
                "note: these webhooks skip the operator's own namespace: an operator cannot admit its own Pod before it runs"
            );
        }
        if !new.spokes.is_empty() {
            text += &self.storage(project).unwrap_or_default();
        }
        if let Some(added) = &self.added {
            text += &existing::notes(added);
        }
        text
    }

    /// How to make the hub the storage version, if it is not.
    fn storage(&self, project: &Project) -> Option<String> {
        let hub = &self.target.version;
        let versions = || project.versions(&self.target);
        let stored = versions().find(|api| project.is_storage(api))?;
        let of_hub = versions().find(|api| api.version == *hub)?;
        (stored.version != *hub).then(|| {
            format!(
                "note: `{}` is the storage version and `{hub}` the hub. This works; to store `{hub}`, move the line `storage = false,` from `{}` to `{}`\n",
                stored.version,
                of_hub.path(),
                stored.path(),
            )
        })
    }

    /// The next commands to type.
    pub fn next_steps(&self) -> String {
        let mut text = "next:\n".to_owned();
        if let Some(table) = self.tables().find(|table| table.admits()) {
            let _ = writeln!(text, "  edit {}", table.path());
        }
        for spoke in &self.spokes {
            let _ = writeln!(text, "  edit {}", spoke.conversion_path());
        }
        text + "  make manifests\n  make test\n"
    }
}
