//! What becomes of one file.

use super::{Change, Conflict, Existing, FilePlan, PROJECT, Verb, cargo};
use crate::edit;
use crate::scaffold;

/// The change of the file at `path`, which is `before` now.
pub(super) fn of(
    path: &str,
    plan: &FilePlan,
    before: Option<Vec<u8>>,
    existing: Existing,
) -> Result<Change, Vec<Conflict>> {
    let (verb, after) = match &before {
        None => (Verb::Create, new(path, plan)?.into_bytes()),
        Some(old) => changed(path, plan, old, existing)?,
    };
    let change = Change {
        path: path.to_owned(),
        verb,
        before,
        after,
    };
    check_toml(&change)?;
    Ok(change)
}

fn new(path: &str, plan: &FilePlan) -> Result<String, Vec<Conflict>> {
    if plan.text.is_none() && plan.records.is_empty() {
        let markers = plan.insertions.iter().map(|(marker, _)| *marker);
        return Err(vec![Conflict::missing_file(path, markers)]);
    }
    grow(path, plan, plan.text.unwrap_or_default())
}

fn changed(
    path: &str,
    plan: &FilePlan,
    old: &[u8],
    existing: Existing,
) -> Result<(Verb, Vec<u8>), Vec<Conflict>> {
    if let Some(text) = plan.text {
        // What the command writes counts with what it inserts there itself.
        let whole = grow(path, plan, text).map(String::into_bytes);
        if whole.as_ref().is_ok_and(|whole| whole == old) {
            return Ok((Verb::Same, old.to_vec()));
        }
        match existing {
            Existing::Refuse if plan.owned && cargo::made(path, old) => {
                return Ok((Verb::Update, whole?));
            }
            Existing::Refuse if plan.owned => return Err(vec![Conflict::differs(path)]),
            Existing::Force if plan.owned => return Ok((Verb::Force, whole?)),
            _ if plan.insertions.is_empty() => return Ok((Verb::Keep, old.to_vec())),
            _ => {}
        }
    }
    let text = str::from_utf8(old).map_err(|_| vec![Conflict::not_utf8(path)])?;
    let after = grow(path, plan, text)?.into_bytes();
    let verb = match (after == old, plan.text) {
        (false, _) => Verb::Insert,
        (true, Some(_)) => Verb::Keep,
        (true, None) => Verb::Same,
    };
    Ok((verb, after))
}

/// `text` with the insertions and records.
fn grow(path: &str, plan: &FilePlan, text: &str) -> Result<String, Vec<Conflict>> {
    let mut text = text.to_owned();
    let mut conflicts = Vec::new();
    for (marker, lines) in &plan.insertions {
        match edit::insert(path, &text, marker, lines) {
            Ok(grown) if grown == text => {}
            Ok(grown) => match misplaced(path, marker, &text) {
                Some(conflict) => conflicts.push(conflict),
                None => text = grown,
            },
            Err(found) => conflicts.push(Conflict::marker(path, marker, &found, &text, lines)),
        }
    }
    for record in &plan.records {
        match append(&text, record) {
            Ok(grown) => text = grown,
            Err(conflict) => conflicts.push(conflict),
        }
    }
    if conflicts.is_empty() {
        Ok(text)
    } else {
        Err(conflicts)
    }
}

/// A marker may be moved, and its new place counts. In Rust what goes into a function cannot go to the margin, nor the reverse.
fn misplaced(path: &str, marker: &str, text: &str) -> Option<Conflict> {
    let rust = path.rsplit_once('.').is_some_and(|(_, end)| end == "rs");
    let home = scaffold::home(path, marker).filter(|_| rust)?;
    let (number, margin) = edit::position(path, text, marker)?;
    (margin != home.margin).then(|| Conflict::misplaced(path, marker, number, &home, text))
}

/// PROJECT with one more record: the head first, then tables, each after a blank line.
fn append(project: &str, record: &str) -> Result<String, Conflict> {
    let head = !record.trim_start().starts_with('[');
    match (project.trim().is_empty(), head) {
        (true, true) => return Ok(record.to_owned()),
        (true, false) => return Err(Conflict::no_project()),
        (false, true) => return Err(Conflict::project_exists()),
        (false, false) => {}
    }
    let ending = if project.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let record = record.replace('\n', ending);
    let gap = match () {
        () if !project.ends_with('\n') => ending.repeat(2),
        () if project.ends_with(&ending.repeat(2)) => String::new(),
        () => ending.to_owned(),
    };
    Ok(format!("{project}{gap}{record}"))
}

fn check_toml(change: &Change) -> Result<(), Vec<Conflict>> {
    let toml = change.path == PROJECT
        || change
            .path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end == "toml");
    if !toml || !change.writes() {
        return Ok(());
    }
    let text = str::from_utf8(&change.after).map_err(|_| vec![Conflict::not_utf8(&change.path)])?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::from_str::<toml::Table>(text)
        .map_err(|error| vec![Conflict::not_toml(&change.path, error)])?;
    Ok(())
}
