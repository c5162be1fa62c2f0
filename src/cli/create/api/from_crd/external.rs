//! Types of a kind that another operator owns, in a crate of the project that has no CRDs.

use super::Import;
use super::types_crate::{self, TypesCrate};
use crate::cli::write::Intent;
use kbr_host::lines::Lines;
use kbr_scaffold::changes::Outside;
use kbr_scaffold::contents;
use kbr_scaffold::existing::{self, Found, Named, Wanted};
use kbr_scaffold::imported::Definition;
use kbr_scaffold::quote;
use kbr_scaffold::resource::Resource;

impl Import<'_> {
    /// Writes the crate with these types; returns notes about what was not merged into files that exist.
    ///
    /// # Errors
    /// The crate lacks a dependency, or the CRD that existing types come from cannot be read.
    pub fn write_types(
        &self,
        krate: &TypesCrate,
        apis: &[Resource],
        intent: &mut Intent,
    ) -> anyhow::Result<Lines> {
        krate.check(self.root)?;
        let folder = &krate.folder;
        let earlier = self.ancestors(folder)?.unwrap_or_default();
        let mut notes = Lines::default();
        let manifest = types_crate::manifest(&krate.package(self.project, self.root));
        intent.outside(format!("{folder}/Cargo.toml"), Outside::Begin(manifest));
        for api in apis {
            let (module, version, group) = (api.group_module(), &api.version, &api.full_group);
            let (kind, file) = (&api.kind, api.kind_module());
            let lines = [
                (
                    "lib.rs",
                    "Kinds that other operators own, from their CRDs.".to_owned(),
                    format!("pub mod {module};"),
                ),
                (
                    &format!("{module}/mod.rs"),
                    format!("Group `{group}`."),
                    format!("pub mod {version};"),
                ),
                (
                    &format!("{module}/{version}/mod.rs"),
                    format!("Version `{version}` of `{group}`."),
                    format!("pub mod {file};\npub use {file}::{kind};"),
                ),
            ];
            for (path, about, lines) in lines {
                let path = format!("{folder}/src/{path}");
                intent.outside(&path, Outside::Begin(format!("//! {about}\n\n")));
                for line in lines.lines() {
                    intent.outside(&path, Outside::Line(line.to_owned()));
                }
            }
            let path = format!("{folder}/src/{module}/{version}/{file}.rs");
            if contents::text(self.root, &path).is_some() {
                notes += &self.merge(&path, &earlier, self.types(version), intent);
            } else if let Some(types) = self.types(version) {
                intent.outside(path, Outside::Begin(types.text.clone()));
            }
        }
        notes.extend(self.join(folder, intent));
        self.keep_source(folder, intent)?;
        Ok(notes)
    }

    /// Makes the crate a member of the workspace; or says what to do, if the manifest has another form than kbr's.
    fn join(&self, folder: &str, intent: &mut Intent) -> Option<String> {
        const BEFORE: &str = "members = [\"api\"";
        let text = contents::text(self.root, "Cargo.toml").unwrap_or_default();
        if is_member(&text, folder) {
            return None;
        }
        let folder = quote::toml(folder);
        if !text.contains(BEFORE) {
            return Some(format!(
                "note: add `{folder}` to the `members` of the workspace in `Cargo.toml`"
            ));
        }
        let (from, to) = (BEFORE.to_owned(), format!("{BEFORE}, {folder}"));
        intent.outside("Cargo.toml", Outside::Replace(from, to));
        None
    }

    /// Makes the operator depend on the crate, whose kinds other controllers may read; or says what to do, as [`Self::join`].
    pub fn depend(&self, line: &str, intent: &mut Intent) -> Option<String> {
        const MARKER: &str = "# +kbr:scaffold:dependencies";
        let text = contents::text(self.root, "Cargo.toml").unwrap_or_default();
        if !text.lines().any(|it| it == MARKER) {
            return Some(format!(
                "note: add `{line}` to the `dependencies` in `Cargo.toml`"
            ));
        }
        let (from, to) = (MARKER.to_owned(), format!("{line}\n{MARKER}"));
        intent.outside("Cargo.toml", Outside::Replace(from, to));
        None
    }

    /// The kind as controllers and webhooks select it, with the line that the manifest lacks.
    ///
    /// # Errors
    /// The manifest has another crate of the same name.
    pub fn target(&self, krate: &TypesCrate, api: &Resource) -> anyhow::Result<Found> {
        let (key, module) = (krate.key(), api.group_module());
        let type_path = format!("{key}::{module}::{}::{}", api.version, api.kind);
        let wanted = Wanted {
            named: named(self.definition, api),
            plural: Some(&self.definition.plural),
            namespaced: Some(self.definition.namespaced),
            external: Some((&krate.flag(), &type_path)),
            package: Some(&krate.package(self.project, self.root)),
        };
        existing::find(&wanted, self.project, self.root)
    }
}

/// The name of a version of the kind; its group is given whole.
pub fn named<'a>(definition: &'a Definition, api: &'a Resource) -> Named<'a> {
    Named {
        group: &definition.group,
        domain: Some(""),
        version: &api.version,
        kind: &api.kind,
    }
}

/// Whether the workspace of a manifest lists a folder.
fn is_member(text: &str, folder: &str) -> bool {
    let manifest: toml::Table = toml::from_str(text).unwrap_or_default();
    let members = manifest.get("workspace").and_then(|it| it.get("members"));
    let mut members = members.and_then(|it| it.as_array()).into_iter().flatten();
    members.any(|it| it.as_str() == Some(folder))
}
