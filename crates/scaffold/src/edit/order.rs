//! The order in which rustfmt (style edition 2024) sorts `mod` and `use` items.
//!
//! Modules are sorted by bytes; names in `use` paths by the style guide's "Sorting": digits by value, `_` before everything else. Both
//! ignore `r#`. The tests compare with rustfmt itself.

use std::cmp::Ordering;

/// A `mod name;` or `use path;`.
#[derive(Debug)]
pub enum Item {
    Mod(String),
    Use(Path),
}

type Path = Vec<Segment>;

/// The deepest groups that are read: no program has deeper ones, and reading them is recursive.
const DEEPEST: usize = 100;

/// One part of a `use` path. The variants are in the order in which rustfmt sorts them.
#[derive(Debug, PartialEq, Eq)]
pub enum Segment {
    SelfModule,
    Super,
    Crate,
    Name { name: String, alias: Option<String> },
    Glob,
    List(Vec<Path>),
}

impl Item {
    /// Reads one item; text after its `;` is ignored. `None` if it is neither, or a module with a body.
    pub fn parse(text: &str) -> Option<Item> {
        let item = text.split_once(';')?.0.trim();
        let item = match item.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
            Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
            _ => item,
        };
        if let Some(name) = item.strip_prefix("mod ") {
            return Some(Item::Mod(plain(name).to_owned()));
        }
        item.strip_prefix("use ")
            .filter(|path| depth(path) <= DEEPEST)
            .map(|path| Item::Use(parse_path(path)))
    }
}

/// How deep the groups of a path are nested.
fn depth(path: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for sign in path.chars() {
        match sign {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// `None` between a `mod` and a `use`, which rustfmt does not sort together.
impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Item) -> Option<Ordering> {
        match (self, other) {
            (Item::Mod(a), Item::Mod(b)) => Some(a.cmp(b)),
            (Item::Use(a), Item::Use(b)) => Some(compare_paths(a, b)),
            _ => None,
        }
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.partial_cmp(other).is_some_and(Ordering::is_eq)
    }
}

fn parse_path(text: &str) -> Path {
    let text = text.trim();
    let (path, list) = match text.split_once('{') {
        Some((path, list)) => (path, Some(list.strip_suffix('}').unwrap_or(list))),
        None => (text, None),
    };
    let names = path
        .split("::")
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let mut segments: Path = names.map(parse_segment).collect();
    if let Some(list) = list {
        let mut paths: Vec<Path> = split_list(list).into_iter().map(parse_path).collect();
        paths.sort_by(compare_paths);
        segments.push(Segment::List(paths));
    }
    segments
}

fn parse_segment(text: &str) -> Segment {
    match text {
        "self" => Segment::SelfModule,
        "super" => Segment::Super,
        "crate" => Segment::Crate,
        "*" => Segment::Glob,
        _ => {
            let (name, alias) = match text.split_once(" as ") {
                Some((name, alias)) => (name, Some(plain(alias).to_owned())),
                None => (text, None),
            };
            Segment::Name {
                name: plain(name).to_owned(),
                alias,
            }
        }
    }
}

/// Splits `a, b::{c, d}` at its outer commas.
fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

fn plain(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("r#").unwrap_or(name)
}

#[allow(clippy::ptr_arg, reason = "it is passed to `sort_by` of paths")]
fn compare_paths(a: &Path, b: &Path) -> Ordering {
    let differing = a
        .iter()
        .zip(b)
        .map(|(a, b)| compare_segments(a, b))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare_segments(a: &Segment, b: &Segment) -> Ordering {
    match (a, b) {
        (Segment::Name { name: a, alias: x }, Segment::Name { name: b, alias: y }) => {
            compare_names(a, b).then_with(|| match (x, y) {
                (Some(x), Some(y)) => compare_names(x, y),
                _ => x.is_some().cmp(&y.is_some()),
            })
        }
        (Segment::List(a), Segment::List(b)) => {
            let differing = a
                .iter()
                .zip(b)
                .map(|(a, b)| compare_paths(a, b))
                .find(|order| order.is_ne());
            differing.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => segment_rank(a).cmp(&segment_rank(b)),
    }
}

fn segment_rank(segment: &Segment) -> u8 {
    match segment {
        Segment::SelfModule => 0,
        Segment::Super => 1,
        Segment::Crate => 2,
        Segment::Name { .. } => 3,
        Segment::Glob => 4,
        Segment::List(_) => 5,
    }
}

fn compare_names(a: &str, b: &str) -> Ordering {
    let (chunks_a, chunks_b) = (chunks(a), chunks(b));
    let mut more_zeros_first = Ordering::Equal;
    for (a, b) in chunks_a.iter().zip(&chunks_b) {
        let order = match (*a, *b) {
            ("_", "_") => Ordering::Equal,
            ("_", _) => Ordering::Less,
            (_, "_") => Ordering::Greater,
            (a, b) if is_number(a) && is_number(b) => {
                let (x, y) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                more_zeros_first = more_zeros_first.then(b.len().cmp(&a.len()));
                x.len().cmp(&y.len()).then(x.cmp(y))
            }
            (a, b) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    chunks_a.len().cmp(&chunks_b.len()).then(more_zeros_first)
}

/// Splits a name for comparison: `a10_b` is `a`, `10`, `_`, `b`.
fn chunks(name: &str) -> Vec<&str> {
    let class = |c: char| {
        if c == '_' {
            0
        } else {
            1 + u8::from(c.is_ascii_digit())
        }
    };
    let mut chunks = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '_' => 1,
            _ => rest
                .find(|c| class(c) != class(first))
                .unwrap_or(rest.len()),
        };
        let (chunk, tail) = rest.split_at(end);
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

fn is_number(chunk: &str) -> bool {
    chunk.starts_with(|c: char| c.is_ascii_digit())
}
