//! The inverse of [`insert`](super::insert): finds the lines that kbr inserted, and removes them.
//!
//! Lines are located in the unchanged text first, and removed together, so that their numbers stay valid.

use std::ops::Range;

use super::snippet::{Snippet, closing, is_head, snippets};
use super::{is_attribute, only_marker, scope};

/// A snippet in a text, with the blank line that `insert` added below a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The lines, from 0.
    pub lines: Range<usize>,
    /// The line that identifies the snippet, from 0.
    pub key: usize,
    /// Whether it is exactly as kbr inserts it, except for its indentation and line endings.
    pub is_as_written: bool,
    /// Whether it is a block, whose end is known even if its content was edited.
    pub is_block: bool,
    /// Whether only a blank line that `insert` added separates it from the line above.
    crowded: bool,
}

/// Finds the snippets of `lines` in the scope of the marker. A snippet that is not there is left out. `pristine` is the text of
/// the file without the snippets as kbr would write it: it shows whether the marker has a blank line above it.
///
/// # Errors
/// As [`insert`](super::insert).
pub fn locate(
    path: &str,
    source: &str,
    marker: &str,
    lines: &str,
    pristine: &str,
) -> Result<Vec<Located>, Vec<usize>> {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let have: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = only_marker(path, text, marker)?;
    let spaced = has_gap(path, pristine, marker);
    let mut found: Vec<Located> = Vec::new();
    for snippet in snippets(lines) {
        let Some(mut located) = find(path, &have, at, &snippet) else {
            continue;
        };
        if located.is_block && is_blank(have.get(located.lines.end)) {
            located.lines.end += 1;
            located.crowded = located.lines.end == at && !spaced;
        }
        found.push(located);
    }
    Ok(found)
}

/// `source` without `located`, and without the blank lines that separated its blocks from what is left.
pub fn cut(source: &str, located: &[Located]) -> String {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut gone = vec![false; lines.len()];
    let mut sorted: Vec<&Located> = located.iter().collect();
    sorted.sort_by_key(|it| it.lines.start);
    for it in sorted {
        gone[it.lines.clone()].fill(true);
        let blanks = (0..it.lines.start).rev();
        let mut blanks = blanks.take_while(|at| lines[*at].trim().is_empty());
        let Some(last) = blanks.next().filter(|_| it.is_block) else {
            continue;
        };
        let first = blanks.last().unwrap_or(last);
        // `insert` puts a blank line between a line and the block below it; if the line goes as well, so does the blank one.
        let follows_gone = first.checked_sub(1).is_some_and(|above| gone[above]);
        let opens = first
            .checked_sub(1)
            .is_some_and(|above| lines[above].trim_end().ends_with('{'));
        if follows_gone || opens || it.crowded {
            gone[last] = true;
        }
    }
    let kept = lines.iter().zip(gone).filter(|(_, gone)| !gone);
    let mark = &source[..source.len() - text.len()];
    format!("{mark}{}", kept.map(|(line, _)| *line).collect::<String>())
}

/// The lines of `source`, from 0, that open a block whose only content is `located`. Comments other than markers do not count.
pub fn emptied(source: &str, located: &[Located]) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let stays = |at: &usize| {
        let is_comment = lines[*at].trim().starts_with("//");
        let is_content = !is_comment || super::marker_name(lines[*at]).is_some();
        let goes = located.iter().any(|it| it.lines.contains(at));
        is_content && !goes && !lines[*at].trim().is_empty()
    };
    let opener = |it: &Located| {
        let above = (0..it.lines.start).rev().find(stays)?;
        let below = (it.lines.end..lines.len()).find(stays)?;
        let is_empty =
            lines[above].trim_end().ends_with('{') && lines[below].trim_start().starts_with('}');
        is_empty.then_some(above)
    };
    let mut openers: Vec<usize> = located.iter().filter_map(opener).collect();
    openers.sort_unstable();
    openers.dedup();
    openers
}

/// The snippet nearest to the marker that is as kbr wrote it, or else an edited one.
fn find(path: &str, have: &[String], at: usize, snippet: &Snippet) -> Option<Located> {
    let mut candidates = scope::find(path, have, at, snippet.key());
    if candidates.is_empty() {
        // With a comment at its end, for example.
        let begins = |index: &usize| have[*index].trim_start().starts_with(snippet.key().trim());
        candidates.extend((0..have.len()).filter(begins));
    }
    let exact = |key: &usize| as_written(have, *key, snippet);
    let above = candidates.iter().rev().filter(|key| **key < at);
    let below = candidates.iter().filter(|key| **key > at);
    let written = above.chain(below).copied().find(exact);
    let key = written.or_else(|| candidates.last().copied())?;
    let lines = match written {
        Some(key) => {
            let start = key - snippet.lines_above_key();
            Some(start..start + snippet.lines.len())
        }
        None if snippet.is_block() => extent(have, key),
        None => None,
    };
    Some(Located {
        is_as_written: written.is_some(),
        is_block: snippet.is_block() && lines.is_some(),
        lines: lines.unwrap_or(key..key + 1),
        key,
        crowded: false,
    })
}

/// Whether the snippet whose key is in line `key` is as kbr wrote it, with any indentation.
fn as_written(have: &[String], key: usize, snippet: &Snippet) -> bool {
    let Some(start) = key.checked_sub(snippet.lines_above_key()) else {
        return false;
    };
    let Some(lines) = have.get(start..start + snippet.lines.len()) else {
        return false;
    };
    let indent = have[key].strip_suffix(have[key].trim_start());
    let indent = indent.unwrap_or_default();
    let is_same = |(have, wanted): (&String, &&str)| match wanted.trim_end() {
        "" => have.trim().is_empty(),
        wanted => have.trim_end().strip_prefix(indent) == Some(wanted),
    };
    // An attribute or a comment that the user put above an item belongs to it.
    let has_more = || {
        let above = start.checked_sub(1).map(|above| &have[above]);
        !snippet.is_block() && above.is_some_and(|above| is_attribute(above))
    };
    lines.iter().zip(&snippet.lines).all(is_same) && !has_more()
}

/// The lines of the edited block that opens in line `key`, with the comments and attributes above it.
fn extent(have: &[String], key: usize) -> Option<Range<usize>> {
    let lines: Vec<&str> = have.iter().map(String::as_str).collect();
    let end = closing(&lines, key)?;
    let heads = lines[..key].iter().rev();
    let heads = heads.take_while(|line| is_head(line) && super::marker_name(line).is_none());
    Some(key - heads.count()..end + 1)
}

/// Whether the line above the marker is blank.
fn has_gap(path: &str, text: &str, marker: &str) -> bool {
    let Ok(at) = only_marker(path, text, marker) else {
        return false;
    };
    let above = at.checked_sub(1);
    above.is_some_and(|above| {
        text.lines()
            .nth(above)
            .is_some_and(|line| line.trim().is_empty())
    })
}

fn is_blank(line: Option<&String>) -> bool {
    line.is_some_and(|line| line.trim().is_empty())
}

#[cfg(test)]
mod tests;
