//! A newer CRD of a kind that was imported: its changes go into the types, with the user's.

use anyhow::Context as _;

use super::Import;
use crate::cli::write::Intent;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::lines::Lines;
use kbr_scaffold::changes::{Outside, Verb};
use kbr_scaffold::contents;
use kbr_scaffold::imported::{self, Shared, Types};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::upgrade;

impl Import<'_> {
    /// The CRD that the types in the crate at `folder` come from: the ancestor of the next one.
    fn source_path(&self, folder: &str) -> String {
        imported::source_path(folder, &self.definition.group, &self.definition.plural)
    }

    /// The types that kinds of the project share, which the import of a project in Go has found.
    ///
    /// # Errors
    /// A list of them cannot be read.
    pub fn shared(&self) -> anyhow::Result<Shared> {
        let mut shared = Shared::default();
        let is_of_group = |api: &&Resource| api.full_group == self.definition.group;
        for api in self.project.apis().filter(is_of_group) {
            let path = imported::list_path("api", &api.full_group, &api.version);
            let rust = imported::file_path(&api.version_folder());
            let texts = (
                contents::text(self.root, &path),
                contents::text(self.root, &rust),
            );
            if let (Some(list), Some(rust)) = texts {
                let read = shared.read(&api.version, &list, &rust);
                read.with_context(|| format!("cannot read `{path}`"))?;
            }
        }
        Ok(shared)
    }

    /// Makes the definition the ancestor of the next one.
    pub fn keep_source(&self, folder: &str, intent: &mut Intent) -> anyhow::Result<()> {
        let edit = Outside::Whole(Verb::Update, self.definition.yaml()?);
        intent.outside(self.source_path(folder), edit);
        Ok(())
    }

    /// The types of the CRD from which the `known` versions of the project come.
    ///
    /// # Errors
    /// The CRD is missing, or cannot be read.
    pub fn earlier(&self, known: &[&Resource]) -> anyhow::Result<Vec<Types>> {
        let Some(first) = known.first() else {
            return Ok(Vec::new());
        };
        if let Some(types) = self.ancestors("api")? {
            return Ok(types);
        }
        let path = self.source_path("api");
        let Resource {
            group,
            full_group,
            version,
            kind,
            ..
        } = first;
        let error = format!(
            "`{kind}` of `{full_group}` already exists, in `{}`, and `{path}`, the CRD that it comes from, does not",
            first.path()
        );
        let help = format!(
            "to merge: copy the earlier CRD to `{path}`; to begin again: `kbr delete api --group {group} --version {version} --kind {kind}` first, with your changes committed"
        );
        Err(Diagnostic::new(error).help(help).into())
    }

    /// The types of the earlier CRD of the crate at `folder`, if it has one.
    pub fn ancestors(&self, folder: &str) -> anyhow::Result<Option<Vec<Types>>> {
        let path = self.source_path(folder);
        let Some(text) = contents::text(self.root, &path) else {
            return Ok(None);
        };
        let earlier = imported::read(&text, Some(&self.definition.kind));
        let earlier = earlier.with_context(|| format!("cannot read `{path}`"))?;
        Ok(Some(earlier.types_beside(&self.shared)))
    }

    /// Merges the types of a version into the file at `path`; returns notes about what was not merged.
    pub fn merge(
        &self,
        path: &str,
        earlier: &[Types],
        new: Option<&Types>,
        intent: &mut Intent,
    ) -> Lines {
        let Some(new) = new else {
            return Lines::default();
        };
        let ancestor = earlier.iter().find(|types| types.version == new.version);
        let ancestor = ancestor.map_or("", |types| types.text.as_str());
        let ours = contents::text(self.root, path);
        let ours = ours.as_ref().map(String::as_bytes);
        let plan = upgrade::merge_file(path, ancestor, ours, &new.text);
        for change in plan.changes.iter().filter(|change| change.writes()) {
            let text = String::from_utf8_lossy(&change.after).into_owned();
            intent.outside(path, Outside::Whole(change.verb, text));
        }
        unmerged(&plan)
    }

    /// The `known` versions that the CRD no longer has.
    pub fn gone(&self, known: &[&Resource]) -> Lines {
        let gone = known
            .iter()
            .filter(|known| self.types(&known.version).is_none());
        let note = |known: &&Resource| {
            format!(
                "note: the CRD no longer has `{0}`; to drop it: `kbr delete api --group {1} --version {0} --kind {2}`",
                known.version, known.group, known.kind
            )
        };
        gone.map(note).collect()
    }
}

/// What was not merged, and why.
fn unmerged(plan: &upgrade::Plan) -> Lines {
    let mut text = Lines::default();
    for upgrade::Unmerged { path, diff } in &plan.unmerged {
        text.add(format_args!("note: you and the CRD changed the same lines of `{path}`; kept yours. The CRD's changes:"));
        text.extend(diff.lines());
        text.add("");
    }
    for path in &plan.deleted {
        text.add(format_args!("note: `{path}` stays deleted"));
    }
    for path in &plan.not_text {
        text.add(format_args!(
            "note: kept `{path}`: it is too long to merge, or not text"
        ));
    }
    text
}
