//! The kinds that the operator's controllers list and watch, as their registrations name them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::kinds::Kinds;
use super::markers::Marker;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::uses::call;

/// What makes the manager list and watch a kind: `.controller::<K>(…)`, `kind::<C>()`, `metadata::<C>()`.
pub const WATCHING: [&str; 3] = [".controller", "kind", "metadata"];

/// One call such as `kind::<Job>()`.
pub struct Registration<'a> {
    pub line: usize,
    /// With a dot, if it is a method.
    function: &'static str,
    /// `Job`, or `PartialObjectMeta<Job>`.
    pub written: String,
    pub kind: &'a Target,
    /// The code after the opening parenthesis.
    pub rest: &'a str,
}

impl Registration<'_> {
    /// The call, without its arguments.
    pub fn what(&self) -> String {
        format!("{}::<{}>()", self.function, self.written)
    }

    /// Whether the kind is written as `PartialObjectMeta`.
    pub fn is_metadata(&self) -> bool {
        whole(&self.written) != self.written
    }
}

/// The calls of these functions with kinds that kbr knows, by function. None in a file with an unterminated string, which is reported where its
/// markers are read.
pub fn registrations<'a>(
    kinds: &'a Kinds,
    functions: &[&'static str],
    source: &'a Source,
) -> Vec<Registration<'a>> {
    let code = source.code().unwrap_or_default();
    let mut found = Vec::new();
    for &function in functions {
        let is_part_of_a_name = |at: usize| {
            let before = code[..at].chars().next_back();
            !function.starts_with('.') && before.is_some_and(|it| it.is_alphanumeric() || it == '_')
        };
        for (at, _) in code.match_indices(&format!("{function}::<")) {
            if is_part_of_a_name(at) {
                continue;
            }
            let Some((Some(written), rest)) = call(&code[at + function.len()..]) else {
                continue;
            };
            let Some(kind) = kinds.find(&source.resolve(whole(&written))) else {
                continue;
            };
            found.push(Registration {
                line: source.lines.number(at),
                function,
                written,
                kind,
                rest,
            });
        }
    }
    found
}

/// The `.finalizer(…)` of a controller's registration.
pub struct Finalizer<'a> {
    pub line: usize,
    /// The kind of the controller.
    pub kind: &'a Target,
    /// The code after the opening parenthesis.
    pub arguments: &'a str,
}

impl Finalizer<'_> {
    /// The call, without its arguments.
    pub const WHAT: &'static str = ".finalizer(…)";
}

/// The finalizers of the controllers that a file registers, for kinds that kbr knows.
pub fn finalizers<'a>(
    kinds: &'a Kinds,
    source: &'a Source,
) -> impl Iterator<Item = Finalizer<'a>> + use<'a> {
    let code = source.code().unwrap_or_default();
    let call = ".finalizer(";
    let (ends, calls) = (ends(code), places(code, call));
    let controllers = registrations(kinds, &[".controller"], source).into_iter();
    controllers.flat_map(move |controller| {
        let inside = code.len() - controller.rest.len();
        let end = ends.get(&(inside - 1)).copied().unwrap_or(code.len());
        let finalizer = |at: &usize| Finalizer {
            line: source.lines.number(*at),
            kind: controller.kind,
            arguments: &code[at + call.len()..],
        };
        let from = calls.partition_point(|at| *at < inside);
        let of_it = calls[from..].iter().take_while(|at| **at < end);
        of_it.map(finalizer).collect::<Vec<_>>()
    })
}

/// For each parenthesis or other bracket that is closed, where its statement ends: at `;`, or with the block or call around it. In one pass,
/// since statements may be nested as deeply as a file is long.
fn ends(code: &str) -> BTreeMap<usize, usize> {
    let mut ends = BTreeMap::new();
    // Each open bracket, and those closed in it of the statement that goes on.
    let mut open: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new())];
    for (at, character) in code.char_indices() {
        match character {
            '(' | '[' | '{' => open.push((at, Vec::new())),
            ')' | ']' | '}' => {
                let Some((begin, inside)) = open.pop() else {
                    continue;
                };
                ends.extend(inside.into_iter().map(|bracket| (bracket, at)));
                if let Some((_, closed)) = open.last_mut() {
                    closed.push(begin);
                }
            }
            ';' => {
                let closed = open.last_mut().map(|(_, closed)| std::mem::take(closed));
                ends.extend(closed.into_iter().flatten().map(|bracket| (bracket, at)));
            }
            _ => {}
        }
    }
    ends
}

/// Where `pattern` is, sorted.
pub fn places(code: &str, pattern: &str) -> Vec<usize> {
    code.match_indices(pattern).map(|(at, _)| at).collect()
}

/// The first of the places in a range.
pub fn first(places: &[usize], range: Range<usize>) -> Option<usize> {
    let from = places.partition_point(|at| *at < range.start);
    places.get(from).copied().filter(|at| *at < range.end)
}

/// `PartialObjectMeta<Job>` -> `Job`.
fn whole(written: &str) -> &str {
    let inside = written.strip_suffix('>').and_then(|it| it.split_once('<'));
    match inside {
        Some((outer, inner)) if outer.rsplit("::").next() == Some("PartialObjectMeta") => inner,
        _ => written,
    }
}

/// The lines below a comment with `+kbr:lint:allow=<id>`. `markers` are those called `lint`.
pub fn allowed(markers: &[Marker], id: &str, source: &Source) -> BTreeSet<usize> {
    let line = |marker: &Marker| {
        let line = marker.at.strip_prefix(&source.path)?.strip_prefix(':')?;
        line.parse::<usize>().ok()
    };
    let allow = markers
        .iter()
        .filter(|marker| marker.allowed.iter().any(|allowed| allowed == id));
    let allow: BTreeSet<usize> = allow.filter_map(line).collect();
    let (mut found, mut is_allowed) = (BTreeSet::new(), false);
    for (number, line) in (1..).zip(source.text.lines()) {
        if line.trim_start().starts_with("//") {
            is_allowed |= allow.contains(&number);
        } else if std::mem::take(&mut is_allowed) {
            found.insert(number);
        }
    }
    found
}
