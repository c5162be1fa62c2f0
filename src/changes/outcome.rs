//! The change to one file.

use super::{Change, Verb, cargo, conflict};
use crate::blueprint::{Differing, Lines, WantedFile};
use crate::diagnostic::Problem;
use crate::edit;
use crate::project::PROJECT;
use crate::scaffold;

/// The change of a file that is `before` now.
pub(super) fn of(wanted: &WantedFile, before: Option<Vec<u8>>) -> Result<Change, Vec<Problem>> {
    let (verb, after) = match (&before, wanted.whole) {
        (None, None) => {
            let markers = wanted.lines.iter().map(|lines| lines.marker.as_str());
            return Err(vec![conflict::missing_file(wanted.path, markers)]);
        }
        (None, Some(_)) => (Verb::Create, whole(wanted)?),
        (Some(old), None) => grown(wanted, old, Verb::Same)?,
        (Some(old), Some(differing)) => existing(wanted, old, differing)?,
    };
    let change = Change {
        path: wanted.path.to_owned(),
        verb,
        before,
        after,
    };
    check_toml(&change)?;
    Ok(change)
}

/// A file of the command's own that is there already.
fn existing(
    wanted: &WantedFile,
    old: &[u8],
    differing: Differing,
) -> Result<(Verb, Vec<u8>), Vec<Problem>> {
    if differing == Differing::Keep && !wanted.lines.is_empty() {
        let (verb, after) = grown(wanted, old, Verb::Keep)?;
        if verb == Verb::Insert {
            return Ok((verb, after));
        }
    }
    let whole = whole(wanted)?;
    Ok(match differing {
        _ if whole == old => (Verb::Same, whole),
        Differing::Keep => (Verb::Keep, old.to_vec()),
        Differing::Overwrite => (Verb::Force, whole),
        Differing::Conflict if cargo::made(wanted.path, old) => (Verb::Update, whole),
        Differing::Conflict => return Err(vec![conflict::differs(wanted.path)]),
    })
}

/// The file as the tree has it.
fn whole(wanted: &WantedFile) -> Result<Vec<u8>, Vec<Problem>> {
    let text = wanted.file.text(wanted.path);
    text.map(String::into_bytes)
        .map_err(|error| vec![conflict::mistake(&error)])
}

/// `old` with the command's lines, or, if it has them already, `otherwise` and the same bytes.
fn grown(
    wanted: &WantedFile,
    old: &[u8],
    otherwise: Verb,
) -> Result<(Verb, Vec<u8>), Vec<Problem>> {
    let path = wanted.path;
    let old = str::from_utf8(old).map_err(|_| vec![conflict::not_utf8(path)])?;
    let mut text = old.to_owned();
    let mut conflicts = Vec::new();
    for Lines {
        marker,
        text: lines,
        ..
    } in &wanted.lines
    {
        match edit::insert(path, &text, marker, lines) {
            Ok(grown) if grown == text => {}
            Ok(grown) => match misplaced(path, marker, &text) {
                Some(conflict) => conflicts.push(conflict),
                None => text = grown,
            },
            Err(found) => conflicts.push(conflict::marker(path, marker, &found, &text, lines)),
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let verb = if text == old { otherwise } else { Verb::Insert };
    Ok((verb, text.into_bytes()))
}

/// A marker may be moved, and its new place counts. In Rust what goes into a function cannot go to the margin, nor the reverse.
fn misplaced(path: &str, marker: &str, text: &str) -> Option<Problem> {
    let rust = path.rsplit_once('.').is_some_and(|(_, end)| end == "rs");
    let location = scaffold::marker_location(path, marker).filter(|_| rust)?;
    let (number, margin) = edit::position(path, text, marker)?;
    (margin != location.margin).then(|| conflict::misplaced(path, marker, number, &location, text))
}

pub(super) fn check_toml(change: &Change) -> Result<(), Vec<Problem>> {
    let toml = change.path == PROJECT
        || change
            .path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end == "toml");
    if !toml || !change.writes() {
        return Ok(());
    }
    let text = str::from_utf8(&change.after).map_err(|_| vec![conflict::not_utf8(&change.path)])?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::from_str::<toml::Table>(text)
        .map_err(|error| vec![conflict::not_toml(&change.path, error)])?;
    Ok(())
}
