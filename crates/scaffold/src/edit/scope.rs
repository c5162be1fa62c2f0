//! The scope of a marker: the part of the file in which a line counts as present.
//!
//! | file | scope of a marker |
//! |---|---|
//! | Rust | the outermost block around it; outside of every block, the items of the file itself |
//! | TOML | its table; only the key is compared |
//! | YAML | the list that contains it |
//! | any other | the whole file |

use std::ops::Range;

use crate::rust::comments::lex;
use crate::rust::is_rust;
use crate::rust::uses::{Import, imports};
use crate::tables::{Table, tables};

/// The most lines of a `use` item after its first one.
const LONGEST_USE: usize = 200;

/// Whether the scope of the marker in line `at` (from 0) contains `line`, neither in a string nor commented out.
pub fn has(path: &str, lines: &[String], at: usize, line: &str) -> bool {
    !find(path, lines, at, line).is_empty()
}

/// The lines (from 0) in the scope of the marker in line `at` that are `line` or equivalent to it, in order.
pub fn find(path: &str, lines: &[String], at: usize, line: &str) -> Vec<usize> {
    let line = line.trim();
    let all = 0..lines.len();
    match path.rsplit_once('.').map(|(_, end)| end) {
        _ if is_rust(path) => in_rust(lines, at, line),
        Some("toml") => in_toml(lines, at, line),
        Some("yaml" | "yml") => list(lines, at)
            .filter(|index| entry(&lines[*index]) == entry(line))
            .collect(),
        _ => all.filter(|index| lines[*index].trim() == line).collect(),
    }
}

fn in_rust(lines: &[String], at: usize, line: &str) -> Vec<usize> {
    let text = lines.concat();
    let all = 0..lines.len();
    // cargo reports unterminated strings.
    let Ok(lexed) = lex(&text) else {
        return all.filter(|index| lines[*index].trim() == line).collect();
    };
    let code: Vec<&str> = lexed.code.lines().collect();
    let blocks = outermost_blocks(&code);
    let block = |index: usize| blocks.iter().position(|block| block.contains(&index));
    if let Some(wanted) = use_item(&[line]) {
        let in_scope = all.filter(|index| block(*index) == block(at));
        return importing(&code, in_scope, &imports(&wanted));
    }
    let is_there = |index: usize| {
        let code = code.get(index).map_or("", |code| code.trim());
        if line.starts_with("//") {
            lines[index].trim() == line
        } else {
            // Strings are blanked out in the code, so a line with a string is compared as it is written.
            !code.is_empty() && (lines[index].trim() == line || declares(code, line))
        }
    };
    all.filter(|index| is_there(*index) && block(*index) == block(at))
        .collect()
}

/// The lines that begin the `use` items which together import all of `wanted`; none if something is missing. Imports may be merged,
/// as by rustfmt's `imports_granularity`, over several lines.
fn importing(
    code: &[&str],
    in_scope: impl Iterator<Item = usize>,
    wanted: &[Import],
) -> Vec<usize> {
    let items = in_scope.filter_map(|index| Some((index, imports(&use_item(&code[index..])?))));
    let items: Vec<(usize, Vec<Import>)> = items.collect();
    let is_there = |it: &Import| items.iter().any(|(_, have)| have.contains(it));
    if !wanted.iter().all(is_there) {
        return Vec::new();
    }
    let has_one = |have: &[Import]| wanted.iter().any(|it| have.contains(it));
    let items = items.iter().filter(|(_, have)| has_one(have));
    items.map(|(index, _)| *index).collect()
}

/// What the `use` item that begins in the first of `lines` imports, as one line without `;`.
fn use_item(lines: &[&str]) -> Option<String> {
    let ("use", first) = item(lines.first()?.trim())? else {
        return None;
    };
    let mut tree = String::new();
    for part in
        std::iter::once(first).chain(lines[1..].iter().map(|line| line.trim()).take(LONGEST_USE))
    {
        tree.push_str(part);
        tree.push(' ');
        if let Some((tree, _)) = tree.split_once(';') {
            return Some(tree.trim().to_owned());
        }
    }
    None
}

/// Whether `have`, without its comments, is equivalent to `line`: the same statement, or an item with the same name, ignoring
/// visibility and fields.
fn declares(have: &str, line: &str) -> bool {
    have == line
        || match (item(have), item(line)) {
            (Some((have, name)), Some((wanted, wanted_name))) => {
                have == wanted && word(name) == word(wanted_name)
            }
            _ => false,
        }
}

/// The keyword and the rest of a `mod`, `struct` or `use` item.
fn item(line: &str) -> Option<(&str, &str)> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1,
        Some(rest) if rest.starts_with(' ') => rest,
        _ => line,
    };
    let (keyword, rest) = line.trim_start().split_once(' ')?;
    ["mod", "struct", "use"]
        .contains(&keyword)
        .then_some((keyword, rest.trim()))
}

fn word(text: &str) -> &str {
    let end = text.find(|character: char| !(character.is_alphanumeric() || character == '_'));
    &text[..end.unwrap_or(text.len())]
}

fn in_toml(lines: &[String], at: usize, line: &str) -> Vec<usize> {
    let toml = Toml::read(lines);
    let here = toml.around(at);
    let Some(key) = key(line) else {
        let is_same = |index: &usize| lines[*index].trim() == line && toml.around(*index) == here;
        return (0..lines.len()).filter(is_same).collect();
    };
    let is_key = |path: &[String]| path.first().map(|part| as_crate(part)).as_ref() == Some(&key);
    let scope = &toml.tables[here];
    let entries = scope.entries.iter().filter(|entry| is_key(&entry.path));
    // `[dependencies.kube]` is a key of `[dependencies]`.
    let tables = toml.tables.iter().filter(|table| {
        let rest = table.path.strip_prefix(&scope.path[..]);
        rest.is_some_and(|rest| rest.len() == 1 && is_key(rest))
    });
    let starts = entries.map(|entry| entry.key.start);
    let starts = starts.chain(tables.map(|table| table.header.start));
    let mut found: Vec<usize> = starts.map(|start| toml.line(start)).collect();
    found.sort_unstable();
    found
}

/// The name of the TOML table around line `at`; `None` above the first table.
pub fn header(lines: &[String], at: usize) -> Option<String> {
    let mut toml = Toml::read(lines);
    let path = toml.tables.swap_remove(toml.around(at)).path;
    (!path.is_empty()).then(|| path.join("."))
}

/// A text of TOML in lines.
struct Toml {
    tables: Vec<Table>,
    /// The offset of each line.
    starts: Vec<usize>,
}

impl Toml {
    fn read(lines: &[String]) -> Self {
        let offset = |end: &mut usize, line: &String| {
            let start = *end;
            *end += line.len();
            Some(start)
        };
        Self {
            tables: tables(&lines.concat()),
            starts: lines.iter().scan(0, offset).collect(),
        }
    }

    /// The line of a byte.
    fn line(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte) - 1
    }

    /// The index of the table around line `at`.
    fn around(&self, at: usize) -> usize {
        let start = self.starts[at];
        let above = |table: &Table| table.header.start <= start;
        self.tables.partition_point(above) - 1
    }
}

/// The first part of the key in a line of TOML.
fn key(line: &str) -> Option<String> {
    let tables = tables(line);
    let entry = tables.first()?.entries.first()?;
    Some(as_crate(entry.path.first()?))
}

/// With `-` for `_`, which cargo treats as equal in the names of crates.
fn as_crate(name: &str) -> String {
    name.replace('_', "-")
}

/// The lines inside each top-level block of a Rust file, without those that open and close it.
fn outermost_blocks(code: &[&str]) -> Vec<Range<usize>> {
    let (mut blocks, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, line) in code.iter().enumerate() {
        let before = depth;
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        match (before, depth) {
            (0, 1..) => start = at + 1,
            (1.., 0) => blocks.push(start..at),
            _ => {}
        }
    }
    blocks
}

/// An item of a YAML list without its comment, its quotes and a slash at its end.
fn entry(line: &str) -> &str {
    let line = line.trim();
    let text = line.strip_prefix("- ").unwrap_or(line);
    let text = text.split(" #").next().unwrap_or_default().trim();
    text.trim_matches(['"', '\'']).trim_end_matches('/')
}

/// The YAML list around line `at`: the surrounding lines with at least its indentation, ignoring comments and blank lines.
fn list(lines: &[String], at: usize) -> Range<usize> {
    let depth = indentation(&lines[at]);
    let belongs = |line: &String| {
        let text = line.trim();
        let is_key = !text.starts_with('-') && (text.ends_with(':') || text.contains(": "));
        let inside = indentation(line) > depth || (indentation(line) == depth && !is_key);
        text.is_empty() || text.starts_with('#') || inside
    };
    let start = lines[..at]
        .iter()
        .rposition(|line| !belongs(line))
        .map_or(0, |end| end + 1);
    let end = lines[at + 1..].iter().position(|line| !belongs(line));
    start..end.map_or(lines.len(), |end| at + 1 + end)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests;
