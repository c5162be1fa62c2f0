//! Locates the fields of kinds in the sources, as far as possible without a compiler.

mod attributes;
mod causes;
mod read;
mod rust;

use std::collections::{BTreeMap, BTreeSet};

use super::markers::Marker;
use super::problem::Problem;
use kbr_scaffold::rust::Source;
pub use rust::ExpectedKeyword;
use rust::Field;
use rust::{RustType, Span};

/// The types in the sources by name, and the findings that comments allow.
#[derive(Debug, Default)]
pub struct SourceMap {
    types: BTreeMap<String, Vec<RustType>>,
    /// The paths of types that fields have and files import, by file and name.
    imports: BTreeMap<(String, String), String>,
    /// The types of kinds, by kind and version: the name of each, and its place among those of the name.
    kinds: BTreeMap<(String, String), (String, usize)>,
    /// The findings that comments such as `// +kbr:lint:allow=float` allow, by the type or field that each is at.
    allowed: BTreeMap<Span, BTreeSet<String>>,
    /// A warning for each file whose types are unknown, although cargo may compile them.
    pub unread: Vec<Problem>,
}

/// The types and fields along a path.
#[derive(Debug, Default)]
pub struct Located<'a> {
    spans: Vec<&'a Span>,
    /// The field at the end, if the sources define the whole path.
    pub field: Option<&'a Field>,
    /// Whether the path ends at a field of a type that the sources do not define, or below one.
    pub is_foreign: bool,
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
                        let targets = read.fields.iter().filter_map(|it| it.target.clone());
                        map.imports.extend(targets.filter_map(|name| {
                            let path = source.resolve(&name);
                            (path != name).then(|| ((source.path.clone(), name), path))
                        }));
                        map.types.entry(name).or_default().push(read);
                    }
                }
                Err(why) => map.unread.extend(why.problem(&source.path).map(|problem| {
                    problem.help("split it into smaller items or files; until then, findings about its types have no line numbers, and comments cannot allow them")
                })),
            }
        }
        for (name, known) in &map.types {
            for (at, own) in known.iter().enumerate() {
                let Some(own) = &own.kind else { continue };
                let key = (own.kind.clone(), own.version.clone());
                map.kinds.entry(key).or_insert((name.clone(), at));
            }
        }
        map.allowed = allowed(&map.types, markers);
        map
    }

    /// Follows a path such as `.spec.ports[].name` from the kind as far as the sources define it.
    pub fn locate(&self, kind: &str, version: &str, path: &str) -> Located<'_> {
        let mut located = Located::default();
        let own = self.kinds.get(&(kind.to_owned(), version.to_owned()));
        let Some(spec) = own.and_then(|(name, at)| self.types.get(name)?.get(*at)) else {
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
            let Some(field) = self.field(known, step, &mut BTreeSet::new()) else {
                return located;
            };
            located.spans.push(&field.span);
            if steps.peek().is_none() && !path.ends_with(']') {
                located.field = Some(field);
            }
            let target = field.target.as_deref();
            let Some(next) = target.and_then(|name| self.named(name, &field.span.file)) else {
                located.is_foreign = target.is_some();
                return located;
            };
            known = next;
            located.spans.push(&known.span);
        }
        // A field's location is the field itself, not its type.
        if let [.., field, known] = &mut located.spans[..] {
            std::mem::swap(field, known);
        }
        located
    }

    /// The comment of the field at a path, if its `description` is that of its type instead.
    pub fn lost_comment(
        &self,
        (kind, version): (&str, &str),
        path: &str,
        description: &str,
    ) -> Option<&str> {
        let field = self.locate(kind, version, path).field?;
        let known = self.named(field.target.as_deref()?, &field.span.file)?;
        let is_lost = !field.doc.is_empty() && known.doc == description;
        is_lost.then_some(&field.doc)
    }

    /// A field of a type or of those that it flattens, each of which is looked at once: they may contain each other.
    fn field<'a>(
        &'a self,
        known: &'a RustType,
        name: &str,
        seen: &mut BTreeSet<&'a Span>,
    ) -> Option<&'a Field> {
        if !seen.insert(&known.span) {
            return None;
        }
        if let Some(at) = known.by_name.get(name) {
            return known.fields.get(*at);
        }
        let mut flattened = known.fields.iter().filter(|field| field.flatten);
        flattened.find_map(|field| {
            let inner = self.named(field.target.as_deref()?, &known.span.file)?;
            self.field(inner, name, seen)
        })
    }

    /// The type with this name: in the same file, in the one beside it from which it is imported, or the only one; none of Kubernetes.
    fn named(&self, name: &str, file: &str) -> Option<&RustType> {
        let all = self.types.get(name)?;
        let import = self.imports.get(&(file.to_owned(), name.to_owned()));
        let import = import.map_or("", String::as_str);
        if import.starts_with("k8s_openapi::") {
            return None;
        }
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let module = import
            .strip_prefix("super::")
            .and_then(|it| it.split("::").next());
        let beside = module.map(|module| format!("{folder}/{module}.rs"));
        let of = |file: &str| all.iter().find(|known| known.span.file == file);
        let found = of(file).or_else(|| of(&beside?));
        found.or_else(|| all.first().filter(|_| all.len() == 1))
    }

    /// Whether a comment along the path allows a finding.
    pub fn allows(&self, located: &Located, name: &str) -> bool {
        let mut here = located
            .spans
            .iter()
            .filter_map(|span| self.allowed.get(*span));
        here.any(|names| names.contains(name))
    }
}

/// What the markers allow, at the type or field that each is in or above.
fn allowed(
    types: &BTreeMap<String, Vec<RustType>>,
    markers: &[Marker],
) -> BTreeMap<Span, BTreeSet<String>> {
    let mut files: BTreeMap<&str, Vec<&RustType>> = BTreeMap::new();
    for known in types.values().flatten() {
        files.entry(&known.span.file).or_default().push(known);
    }
    let files = files.into_iter().map(|(file, types)| {
        let types = types.into_iter().map(|known| {
            let fields = known.fields.iter().map(|it| (&it.span, &it.span));
            (&known.span, (known, ByLine::new(fields)))
        });
        (file, ByLine::new(types))
    });
    let files: BTreeMap<&str, _> = files.collect();
    let mut allowed: BTreeMap<Span, BTreeSet<String>> = BTreeMap::new();
    for marker in markers {
        let names = marker.arguments.iter().filter(|(key, _)| key == "allow");
        let span = || {
            let (file, line) = marker.at.rsplit_once(':')?;
            let line = line.parse().ok()?;
            // The field around or below it; the type if it is in or above its header.
            let (known, fields) = files.get(file)?.nearest(line)?;
            let field = fields.nearest(line).filter(|_| line > known.head);
            Some(field.map_or(&known.span, |span| *span).clone())
        };
        if let Some(span) = span() {
            let names = names.flat_map(|(_, names)| names).cloned();
            allowed.entry(span).or_default().extend(names);
        }
    }
    allowed
}

/// Items of a file by where they begin, each with the last line of all up to it.
struct ByLine<T>(Vec<(usize, T)>);

impl<T> ByLine<T> {
    fn new<'a>(items: impl Iterator<Item = (&'a Span, T)>) -> Self {
        let mut items: Vec<_> = items.collect();
        items.sort_by_key(|(span, _)| span.first);
        let mut last = 0;
        let with_last = items.into_iter().map(|(span, item)| {
            last = last.max(span.last);
            (last, item)
        });
        Self(with_last.collect())
    }

    /// The first one that does not end before a line.
    fn nearest(&self, line: usize) -> Option<&T> {
        let at = self.0.partition_point(|(last, _)| *last < line);
        self.0.get(at).map(|(_, item)| item)
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
    fn an_imported_type_is_that_of_the_file_beside_or_of_kubernetes() {
        let kind = |kind: &str, import: &str| {
            format!(
                "use {import}::C;\n#[kube(version = \"v1\", kind = \"{kind}\")]\nstruct X {{ c: C }}"
            )
        };
        let files = [
            ("a/shared_types.rs", "struct C { d: u8 }".to_owned()),
            ("a/a.rs", kind("A", "super::shared_types")),
            ("a/b.rs", kind("B", "k8s_openapi::x")),
            ("b/a.rs", "struct C { d: u8 }".to_owned()),
        ];
        for others in [0, 1] {
            let files = files[..3 + others].iter();
            let files = files.map(|(file, text)| Source::new(*file, text.clone()));
            let map = SourceMap::new(&files.collect::<Vec<_>>(), &[]);
            let shown = |kind| map.locate(kind, "v1", ".spec.c.d").shown();
            assert_eq!(shown("A").as_deref(), Some("a/shared_types.rs:1"));
            assert_eq!(shown("B").as_deref(), Some("a/b.rs:3"));
        }
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
