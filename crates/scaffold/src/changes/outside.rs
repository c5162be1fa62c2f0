//! Edits of files that no template has, and of what a template's file has beside its markers.

use super::{Change, Verb, conflict, outcome};
use kbr_host::diagnostic::Problem;

/// An edit of one file, after what the blueprint adds to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The file's first text, unless it exists.
    Begin(String),
    /// A line at the end, unless the file has it.
    Line(String),
    /// The first text, where it occurs first, becomes the second.
    Replace(String, String),
    /// The file's text from now on, with the verb for a file that exists.
    Whole(Verb, String),
}

impl Outside {
    /// The text after the edit, and the verb; `None` if it changes nothing.
    fn apply(&self, before: Option<&str>) -> Option<(Verb, String)> {
        let (verb, after) = match (self, before) {
            (Outside::Begin(_), Some(_)) => return None,
            (Outside::Begin(text) | Outside::Whole(_, text), None) => (Verb::Create, text.clone()),
            (Outside::Whole(verb, text), Some(_)) => (*verb, text.clone()),
            (Outside::Line(line), _) => {
                let text = before.unwrap_or_default();
                if text.lines().any(|known| known == line) {
                    return None;
                }
                (Verb::Insert, format!("{text}{line}\n"))
            }
            (Outside::Replace(from, to), _) => {
                (Verb::Insert, before?.replacen(from.as_str(), to, 1))
            }
        };
        (before != Some(&*after)).then_some((verb, after))
    }
}

/// `change` with `edits` on top of it.
pub(super) fn edited<'a>(
    mut change: Change,
    edits: impl Iterator<Item = &'a Outside>,
) -> Result<Change, Vec<Problem>> {
    let exists = change.before.is_some() || change.verb == Verb::Create;
    let mut text = match String::from_utf8(change.after) {
        Ok(text) => exists.then_some(text),
        Err(_) => return Err(vec![conflict::not_utf8(&change.path)]),
    };
    for edit in edits {
        if let Some((verb, after)) = edit.apply(text.as_deref()) {
            text = Some(after);
            if matches!(change.verb, Verb::Same | Verb::Keep) {
                change.verb = verb;
            }
        }
    }
    change.after = text.unwrap_or_default().into_bytes();
    outcome::check_syntax(&change)?;
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_build_on_each_other_and_repeated_ones_change_nothing() {
        let edits = |line: &str| {
            [
                Outside::Begin("//! Kinds.\n".to_owned()),
                Outside::Line(line.to_owned()),
            ]
        };
        let after = |before: Option<&str>, edits: &[Outside]| {
            let before = before.map(|it| it.as_bytes().to_vec());
            let change = edited(Change::none("src/lib.rs", before), edits.iter()).unwrap();
            let verb = change.writes().then_some(change.verb);
            (verb, String::from_utf8(change.after).unwrap())
        };
        let (verb, new) = after(None, &[edits("mod a;"), edits("mod b;")].concat());
        assert_eq!(verb, Some(Verb::Create));
        assert_eq!(new, "//! Kinds.\nmod a;\nmod b;\n");
        assert_eq!(after(Some(&new), &edits("mod b;")), (None, new.clone()));
        let replaced = Outside::Replace("mod".to_owned(), "pub mod".to_owned());
        let expected = (Some(Verb::Insert), new.replacen("mod", "pub mod", 1));
        assert_eq!(after(Some(&new), &[replaced]), expected);
    }
}
