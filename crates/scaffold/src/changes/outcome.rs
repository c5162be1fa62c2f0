//! The change to one file.

use toml::de::DeTable;

use super::{Change, Verb, cargo_init, conflict};
use crate::blueprint::{Differing, Lines, WantedFile};
use crate::edit;
use crate::project::PROJECT;
use crate::scaffold::Scaffolds;
use crate::tables;
use kbr_host::diagnostic::Problem;

/// The change of a file whose current content is `before`.
pub(super) fn change(
    wanted: &WantedFile,
    before: Option<Vec<u8>>,
    scaffolds: &Scaffolds,
) -> Result<Change, Vec<Problem>> {
    let (verb, after) = match (&before, wanted.whole) {
        (None, None) => {
            let markers = wanted.lines.iter().map(|lines| lines.marker.as_str());
            return Err(vec![conflict::missing_file(wanted.path, markers)]);
        }
        (None, Some(_)) => (Verb::Create, whole(wanted)?),
        (Some(old), None) => with_lines(wanted, old, Verb::Same, scaffolds)?,
        (Some(old), Some(differing)) => existing(wanted, old, differing, scaffolds)?,
    };
    let change = Change {
        path: wanted.path.to_owned(),
        verb,
        before,
        after,
    };
    check_syntax(&change)?;
    Ok(change)
}

/// An existing file that the command owns.
fn existing(
    wanted: &WantedFile,
    old: &[u8],
    differing: Differing,
    scaffolds: &Scaffolds,
) -> Result<(Verb, Vec<u8>), Vec<Problem>> {
    if differing == Differing::Keep && !wanted.lines.is_empty() {
        let (verb, after) = with_lines(wanted, old, Verb::Keep, scaffolds)?;
        if verb == Verb::Insert {
            return Ok((verb, after));
        }
    }
    let whole = whole(wanted)?;
    Ok(match differing {
        _ if whole == old => (Verb::Same, whole),
        Differing::Keep => (Verb::Keep, old.to_vec()),
        Differing::Overwrite => (Verb::Force, whole),
        Differing::Conflict if cargo_init::made(wanted.path, old) => (Verb::Update, whole),
        Differing::Conflict => return Err(vec![conflict::differs(wanted.path)]),
    })
}

/// The file in the tree.
fn whole(wanted: &WantedFile) -> Result<Vec<u8>, Vec<Problem>> {
    let text = wanted.file.text(wanted.path);
    text.map(String::into_bytes)
        .map_err(|error| vec![conflict::mistake(&error)])
}

/// `old` with the command's lines; if it already has them, `otherwise` and the same bytes.
fn with_lines(
    wanted: &WantedFile,
    old: &[u8],
    otherwise: Verb,
    scaffolds: &Scaffolds,
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
            Ok(inserted) if inserted == text => {}
            Ok(inserted) => match misplaced(path, marker, &text, scaffolds) {
                Some(conflict) => conflicts.push(conflict),
                None => text = inserted,
            },
            Err(found) => {
                let place = scaffolds.marker_location(path, marker);
                let place = place.as_ref().and_then(|it| it.neighbour_in(&text));
                conflicts.push(conflict::marker(path, marker, &found, place, &text, lines));
            }
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let verb = if text == old { otherwise } else { Verb::Insert };
    Ok((verb, text.into_bytes()))
}

/// A conflict if a marker was moved to where its lines would be invalid: in Rust, into or out of a function; in TOML, into another
/// table. Other moves are allowed.
fn misplaced(path: &str, marker: &str, text: &str, scaffolds: &Scaffolds) -> Option<Problem> {
    let location = scaffolds.marker_location(path, marker)?;
    let (number, margin) = edit::position(path, text, marker)?;
    match extension(path) {
        "rs" if margin != location.margin => {
            Some(conflict::misplaced(path, marker, number, &location, text))
        }
        "toml" => {
            let (found, wanted) = (edit::table(path, text, marker), location.table?);
            (found.as_ref() != Some(&wanted))
                .then(|| conflict::other_table(path, marker, number, &wanted))
        }
        _ => None,
    }
}

/// Checks that the file is still TOML or YAML after the change.
pub(super) fn check_syntax(change: &Change) -> Result<(), Vec<Problem>> {
    let format = if change.path == PROJECT {
        "toml"
    } else {
        extension(&change.path)
    };
    // The text that kbr itself writes is checked by the tests of the scaffolds.
    if !change.writes() || change.before.is_none() && format != "toml" {
        return Ok(());
    }
    let text = || {
        let text = str::from_utf8(&change.after).map_err(|_| conflict::not_utf8(&change.path));
        text.map(|text| text.strip_prefix('\u{feff}').unwrap_or(text))
    };
    let checked = match format {
        "toml" => text().and_then(|text| {
            DeTable::parse(text)
                .map(drop)
                .map_err(|error| conflict::broken(&change.path, "TOML", tables::shown(&error)))
        }),
        "yaml" => text().and_then(|text| {
            kbr_host::yaml::documents::<serde_json::Value>(text)
                .map(drop)
                .map_err(|error| conflict::broken(&change.path, "YAML", error))
        }),
        _ => Ok(()),
    };
    checked.map_err(|problem| vec![problem])
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, end)| end)
}
