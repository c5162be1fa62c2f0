//! Types of a kind that another operator owns, in a crate of the project that has no CRDs.

use std::path::Path;

use super::again;
use super::types_crate::{self, TypesCrate};
use crate::cli::create::existing;
use crate::cli::write::Session;
use kbr_host::lines::Lines;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::contents;
use kbr_scaffold::existing::{Added, Found, Named, Wanted};
use kbr_scaffold::imported::Definition;
use kbr_scaffold::project::Project;
use kbr_scaffold::quote;
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::target::Target;

/// The files of the crate with these types, and notes about what was not merged into files that exist.
///
/// # Errors
/// The crate lacks a dependency, or the CRD that existing types come from cannot be read.
pub fn files(
    krate: &TypesCrate,
    apis: &[Resource],
    definition: &Definition,
    session: &Session,
    project: &Project,
) -> anyhow::Result<(Vec<Change>, Lines)> {
    krate.check(session)?;
    let folder = &krate.folder;
    let types = definition.types();
    let earlier = again::ancestors(folder, definition, session)?.unwrap_or_default();
    let mut notes = Lines::default();
    let mut files = Files {
        root: session.root(),
        folder,
        changes: Vec::new(),
    };
    let manifest = types_crate::manifest(&krate.package(project, session));
    files.once("Cargo.toml", &manifest);
    for api in apis {
        let (module, version) = (api.group_module(), &api.version);
        let (kind, file) = (&api.kind, api.kind_module());
        let about = "//! Kinds that other operators own, from their CRDs.\n";
        files.line("src/lib.rs", about, &format!("pub mod {module};"));
        let about = format!("//! Group `{}`.\n", api.full_group);
        files.line(
            &format!("src/{module}/mod.rs"),
            &about,
            &format!("pub mod {version};"),
        );
        let about = format!("//! Version `{version}` of `{}`.\n", api.full_group);
        let path = format!("src/{module}/{version}/mod.rs");
        files.line(&path, &about, &format!("pub mod {file};"));
        files.line(&path, &about, &format!("pub use {file}::{kind};"));
        let Some(types) = types.iter().find(|types| types.version == *version) else {
            continue;
        };
        let path = format!("{folder}/src/{module}/{version}/{file}.rs");
        if files.text(&path).is_none() {
            files.write(&path, Verb::Create, types.text.clone());
            continue;
        }
        let (merged, unmerged) = again::merged(&path, &earlier, types, session);
        files.changes.extend(merged);
        notes += &unmerged;
    }
    notes.extend(files.member());
    files
        .changes
        .extend(again::source(folder, definition, session)?);
    Ok((files.changes, notes))
}

/// Files of the crate before and after.
struct Files<'a> {
    root: &'a Path,
    /// The crate's.
    folder: &'a str,
    changes: Vec<Change>,
}

impl Files<'_> {
    /// The text of a file, with the changes until now.
    fn text(&self, path: &str) -> Option<String> {
        let known = self.changes.iter().find(|change| change.path == path);
        known.map_or_else(
            || contents::text(self.root, path),
            |change| Some(String::from_utf8_lossy(&change.after).into_owned()),
        )
    }

    fn write(&mut self, path: &str, verb: Verb, text: String) {
        let known = self.changes.iter_mut().find(|change| change.path == path);
        if let Some(change) = known {
            change.after = text.into_bytes();
            return;
        }
        let before = contents::text(self.root, path).map(String::into_bytes);
        self.changes.push(Change {
            path: path.to_owned(),
            verb: before.as_ref().map_or(Verb::Create, |_| verb),
            before,
            after: text.into_bytes(),
        });
    }

    /// Writes a file of the crate unless it exists.
    fn once(&mut self, path: &str, text: &str) {
        let path = format!("{}/{path}", self.folder);
        if self.text(&path).is_none() {
            self.write(&path, Verb::Create, text.to_owned());
        }
    }

    /// Adds a line to a file of the crate, which begins with `about`, unless it has the line.
    fn line(&mut self, path: &str, about: &str, line: &str) {
        let path = format!("{}/{path}", self.folder);
        let text = self.text(&path).unwrap_or_else(|| format!("{about}\n"));
        if !text.lines().any(|known| known == line) {
            self.write(&path, Verb::Insert, format!("{text}{line}\n"));
        }
    }

    /// Makes the crate a member of the workspace; or what to do, if the manifest has another form than kbr's.
    fn member(&mut self) -> Option<String> {
        let text = self.text("Cargo.toml").unwrap_or_default();
        if let Some(text) = with_member(&text, self.folder) {
            self.write("Cargo.toml", Verb::Insert, text);
        } else if !is_member(&text, self.folder) {
            let folder = quote::toml(self.folder);
            return Some(format!(
                "note: add `{folder}` to the `members` of the workspace in `Cargo.toml`"
            ));
        }
        None
    }
}

/// The kind as controllers and webhooks select it, with the line that the manifest lacks.
///
/// # Errors
/// The manifest has another crate of the same name.
pub fn target(
    krate: &TypesCrate,
    api: &Resource,
    definition: &Definition,
    session: &Session,
    project: &Project,
) -> anyhow::Result<(Target, Option<Added>)> {
    let type_path = format!(
        "{}::{}::{}::{}",
        krate.key(),
        api.group_module(),
        api.version,
        api.kind
    );
    let (flag, package) = (krate.flag(), krate.package(project, session));
    let wanted = Wanted {
        named: named(definition, api),
        plural: Some(&definition.plural),
        namespaced: Some(definition.namespaced),
        external: Some((&flag, &type_path)),
        package: Some(&package),
    };
    let Found { target, added } = kbr_scaffold::existing::find(&wanted, project, session.root())?;
    Ok((target, added))
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

/// Makes the crate a member of the workspace, in a change of the manifest.
pub fn join(manifest: &mut Change, krate: &TypesCrate) {
    let text = String::from_utf8_lossy(&manifest.after).into_owned();
    manifest.after = with_member(&text, &krate.folder)
        .unwrap_or(text)
        .into_bytes();
}

/// A manifest with the crate as a member of the workspace, if it lacks it.
fn with_member(text: &str, folder: &str) -> Option<String> {
    const BEFORE: &str = "members = [\"api\"";
    let lacks = text.contains(BEFORE) && !is_member(text, folder);
    lacks.then(|| text.replacen(BEFORE, &format!("{BEFORE}, {}", quote::toml(folder)), 1))
}

/// Whether the workspace of a manifest lists a folder.
fn is_member(text: &str, folder: &str) -> bool {
    let manifest: toml::Table = toml::from_str(text).unwrap_or_default();
    let members = manifest.get("workspace").and_then(|it| it.get("members"));
    let mut members = members.and_then(|it| it.as_array()).into_iter().flatten();
    members.any(|it| it.as_str() == Some(folder))
}

/// What to do about a new crate.
pub fn notes(added: Option<&Added>) -> Lines {
    added.map(existing::notes).unwrap_or_default()
}
