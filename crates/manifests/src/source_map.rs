//! Locates the fields of kinds in the sources, as far as possible without a compiler.

mod attributes;
mod read;
mod rust;

use std::collections::BTreeMap;

use super::markers::Marker;
use super::problem::Problem;
use kbr_scaffold::rust::Source;
use rust::Field;
pub use rust::{ExpectedKeyword, RustType, Span};

/// The types in the sources by name, and the findings that comments allow.
#[derive(Debug, Default)]
pub struct SourceMap {
    types: BTreeMap<String, Vec<RustType>>,
    allowed: Vec<Allowed>,
    /// A warning for each file whose types are unknown, although cargo may compile them.
    pub unread: Vec<Problem>,
}

/// A comment `// +kbr:lint:allow=float` at a type or field.
#[derive(Debug)]
struct Allowed {
    span: Span,
    name: String,
}

/// The types and fields along a path.
#[derive(Debug, Default)]
pub struct Located<'a> {
    spans: Vec<&'a Span>,
    /// The field at the end, if the sources define the whole path.
    pub field: Option<&'a Field>,
}

impl Located<'_> {
    /// The deepest known location.
    pub fn shown(&self) -> Option<String> {
        self.spans.last().map(|span| span.shown())
    }
}

impl SourceMap {
    /// Reads the files that can be parsed; cargo reports the others with better errors.
    pub fn new(files: &[Source], markers: &[Marker]) -> Self {
        let mut map = Self::default();
        for source in files {
            match read::types(source) {
                Ok(types) => {
                    for (name, read) in types {
                        map.types.entry(name).or_default().push(read);
                    }
                }
                Err(why) => map.unread.extend(why.problem(&source.path).map(|problem| {
                    problem.help("split it into smaller items or files; until then, findings about its types have no line numbers, and comments cannot allow them")
                })),
            }
        }
        for marker in markers {
            let span = marker
                .at
                .rsplit_once(':')
                .and_then(|(file, line)| map.span_at(file, line.parse().ok()?))
                .cloned();
            let names = marker
                .arguments
                .iter()
                .filter(|(key, _)| key == "allow")
                .flat_map(|(_, names)| names);
            map.allowed.extend(span.into_iter().flat_map(|span| {
                names.clone().map(move |name| Allowed {
                    span: span.clone(),
                    name: name.clone(),
                })
            }));
        }
        map
    }

    /// The field or type that a comment in a line belongs to: the field around or below it, or the type if it is in or above its header.
    fn span_at(&self, file: &str, line: usize) -> Option<&Span> {
        let types = self
            .types
            .values()
            .flatten()
            .filter(|known| known.span.file == file && known.span.last >= line);
        let nearest = types.min_by_key(|known| known.span.first)?;
        let fields = nearest
            .fields
            .iter()
            .filter(|field| field.span.last >= line);
        match fields.min_by_key(|field| field.span.first) {
            Some(field) if line > nearest.head => Some(&field.span),
            _ => Some(&nearest.span),
        }
    }

    /// Follows a path such as `.spec.ports[].name` from the kind as far as the sources define it.
    pub fn locate(&self, kind: &str, version: &str, path: &str) -> Located<'_> {
        let mut located = Located::default();
        let of_kind = |known: &&RustType| {
            let own = known.kind.as_ref();
            own.is_some_and(|own| own.kind == kind && own.version == version)
        };
        let Some(spec) = self.types.values().flatten().find(of_kind) else {
            return located;
        };
        located.spans.push(&spec.span);
        let mut steps = path
            .split('.')
            .skip(1)
            .map(|step| step.trim_end_matches("[]").trim_end_matches("[*]"));
        let mut known = match steps.next() {
            Some("spec") => spec,
            Some("status") => {
                let kind = spec.kind.as_ref();
                let status = kind.and_then(|kind| kind.status.as_deref());
                match status.and_then(|name| self.named(name, &spec.span.file)) {
                    Some(status) => status,
                    None => return located,
                }
            }
            _ => return located,
        };
        let mut steps = steps.peekable();
        located.spans.push(&known.span);
        while let Some(step) = steps.next() {
            let Some(field) = self.field(known, step, 0) else {
                return located;
            };
            located.spans.push(&field.span);
            if steps.peek().is_none() && !path.ends_with(']') {
                located.field = Some(field);
            }
            let target = field.target.as_deref();
            match target.and_then(|name| self.named(name, &field.span.file)) {
                Some(next) => known = next,
                None => return located,
            }
            located.spans.push(&known.span);
        }
        // A field's location is the field itself, not its type.
        if let [.., field, known] = &mut located.spans[..] {
            std::mem::swap(field, known);
        }
        located
    }

    fn field<'a>(&'a self, known: &'a RustType, name: &str, depth: usize) -> Option<&'a Field> {
        let own = known
            .fields
            .iter()
            .find(|field| field.name == name && !field.flatten);
        let flattened = || {
            let inner = known
                .fields
                .iter()
                .filter(|field| field.flatten && depth < 8);
            let mut types =
                inner.filter_map(|field| self.named(field.target.as_deref()?, &known.span.file));
            types.find_map(|inner| self.field(inner, name, depth + 1))
        };
        own.or_else(flattened)
    }

    /// The type with this name: in the same file, or the only one.
    fn named(&self, name: &str, file: &str) -> Option<&RustType> {
        let all = self.types.get(name)?;
        let here = all.iter().find(|known| known.span.file == file);
        here.or_else(|| all.first().filter(|_| all.len() == 1))
    }

    /// Whether a comment along the path allows a finding.
    pub fn allows(&self, located: &Located, name: &str) -> bool {
        let here = |allowed: &&Allowed| located.spans.contains(&&allowed.span);
        self.allowed
            .iter()
            .filter(here)
            .any(|allowed| allowed.name == name)
    }

    /// Types that cannot become a CRD: possible causes if the generator fails.
    pub fn panicking(&self) -> impl Iterator<Item = &RustType> {
        self.types
            .values()
            .flatten()
            .filter(|known| known.panics.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_nested_too_deep_is_named_and_one_that_is_not_rust_is_cargos() {
        let deep = format!("struct A;\ntype B = {}u8;", "&".repeat(10_000));
        let files = [("a.rs", "fn"), ("b.rs", &deep), ("c.rs", "struct C;")];
        let files = files.map(|(file, text)| Source::new(file, text));
        let map = SourceMap::new(&files, &[]);
        assert_eq!(map.types.into_keys().collect::<Vec<_>>(), ["C"]);
        let [problem] = &map.unread[..] else {
            panic!("one problem");
        };
        let text = "`b.rs:2`: this is nested or chained too deeply for kbr";
        assert_eq!(problem.text(), text);
    }

    #[test]
    fn a_kind_whose_type_has_another_name_is_located() {
        let text = "#[kube(version = \"v1\", kind = \"A\", struct = \"B\", status = \"S\")]\nstruct X { a: u8 }\nstruct S { b: u8 }";
        let map = SourceMap::new(&[Source::new("a.rs", text)], &[]);
        for (path, place) in [(".spec.a", "a.rs:2"), (".status.b", "a.rs:3")] {
            let located = map.locate("A", "v1", path);
            assert_eq!(located.shown().as_deref(), Some(place), "{path}");
        }
    }
}
