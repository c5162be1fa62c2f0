//! A newer CRD of a kind that was imported: its changes go into the types, with the user's.

use anyhow::Context as _;

use super::{api, notes};
use crate::cli::write::{Intent, Plan, Session};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::lines::Lines;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::contents;
use kbr_scaffold::imported::{self, Definition, Types};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::upgrade;

/// The CRD that the types in the crate at `folder` come from: the ancestor of the next one.
pub fn source_path(folder: &str, definition: &Definition) -> String {
    imported::source_path(folder, &definition.group, &definition.plural)
}

/// The file at [`source_path`], now with this definition. `None` if it is the same.
pub fn source(
    folder: &str,
    definition: &Definition,
    session: &Session,
) -> anyhow::Result<Option<Change>> {
    let path = source_path(folder, definition);
    let text = definition.yaml()?;
    let before = contents::text(session.root(), &path).map(String::into_bytes);
    let (verb, after) = (Verb::Create, text.into_bytes());
    let verb = before.as_ref().map_or(verb, |_| Verb::Update);
    let change = Change {
        path,
        verb,
        before,
        after,
    };
    Ok(change.writes().then_some(change))
}

/// Plans the merge of `definition`, of whose kind the project has `known` versions.
///
/// # Errors
/// The CRD that the types come from is missing, or a new version conflicts with what exists.
pub fn plan(
    definition: &Definition,
    known: &[Resource],
    session: Session,
    project: &Project,
) -> anyhow::Result<Plan> {
    let (earlier, types) = (earlier(definition, known, &session)?, definition.types());
    let mut intent = Intent::tables(project);
    let mut changes: Vec<Change> = source("api", definition, &session)?.into_iter().collect();
    let mut text = Lines::default();
    for new in &types {
        let is_same = |version: &str| version == new.version;
        let Some(known) = known.iter().find(|known| is_same(&known.version)) else {
            let api = api(definition, &new.version, project)?;
            api.check_among(project.apis())?;
            let path = api.path();
            intent.add(Table::Api(api));
            intent.add_file(path, new.text.clone());
            continue;
        };
        let (merged, notes) = merged(&known.path(), &earlier, new, &session);
        changes.extend(merged);
        text += &notes;
    }
    text += &gone(known, &types);
    text += &notes(definition, &types);
    let mut plan = session.plan(
        &intent,
        text,
        Lines::from("next:\n  make manifests\n  make test\n"),
    )?;
    plan.changes.extend(changes);
    Ok(plan)
}

/// The types of the CRD that the project has.
fn earlier(
    definition: &Definition,
    known: &[Resource],
    session: &Session,
) -> anyhow::Result<Vec<Types>> {
    let path = source_path("api", definition);
    let Some(types) = ancestors("api", definition, session)? else {
        let Resource {
            kind, full_group, ..
        } = &known[0];
        let error = format!(
            "`{kind}` of `{full_group}` already exists, in `{}`, and `{path}`, the CRD that it comes from, does not",
            known[0].path()
        );
        let help = format!(
            "to merge: copy the earlier CRD to `{path}`; to begin again: `kbr delete api --group {} --version {} --kind {kind}` first, with your changes committed",
            known[0].group, known[0].version
        );
        return Err(Diagnostic::new(error).help(help).into());
    };
    Ok(types)
}

/// The types of the CRD at [`source_path`], if it exists.
pub fn ancestors(
    folder: &str,
    definition: &Definition,
    session: &Session,
) -> anyhow::Result<Option<Vec<Types>>> {
    let path = source_path(folder, definition);
    let Some(text) = contents::text(session.root(), &path) else {
        return Ok(None);
    };
    let earlier = imported::read(&text, Some(&definition.kind));
    Ok(Some(
        earlier
            .with_context(|| format!("cannot read `{path}`"))?
            .types(),
    ))
}

/// Merges the types of a version into the file at `path`: what changes, and notes about the rest.
pub fn merged(
    path: &str,
    earlier: &[Types],
    new: &Types,
    session: &Session,
) -> (Vec<Change>, Lines) {
    let ancestor = earlier.iter().find(|types| types.version == new.version);
    let ancestor = ancestor.map_or("", |types| types.text.as_str());
    let ours = contents::text(session.root(), path);
    let plan = upgrade::merge_file(
        path,
        ancestor,
        ours.as_ref().map(String::as_bytes),
        &new.text,
    );
    let text = unmerged(&plan);
    (
        plan.changes.into_iter().filter(Change::writes).collect(),
        text,
    )
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

fn gone(known: &[Resource], types: &[Types]) -> Lines {
    let is_gone = |known: &&Resource| !types.iter().any(|new| new.version == known.version);
    let gone = known.iter().filter(is_gone).map(|known| {
        format!(
            "note: the CRD no longer has `{0}`; to drop it: `kbr delete api --group {1} --version {0} --kind {2}`",
            known.version, known.group, known.kind
        )
    });
    gone.collect()
}
