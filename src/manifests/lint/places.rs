//! Where in the sources a field of a kind is, as far as it can be told without a compiler.

mod read;

use std::collections::BTreeMap;

use crate::manifests::markers::Marker;

/// The types of the sources by name, and what comments silence.
#[derive(Debug, Default)]
pub struct Places {
    types: BTreeMap<String, Vec<Type>>,
    allowed: Vec<Allowed>,
}

/// A struct or enum.
#[derive(Debug)]
pub struct Type {
    /// What comments can stand at.
    pub spot: Spot,
    /// The line of its name: what comes before is its head.
    head: usize,
    /// For the type that derives `CustomResource`: kind, version, and the type of its status.
    kind: Option<(String, String, Option<String>)>,
    fields: Vec<Field>,
    /// Why deriving a CRD from it panics, and what to write.
    pub panics: Option<(String, &'static str)>,
}

/// A field, or a variant with fields.
#[derive(Debug)]
pub struct Field {
    /// What comments can stand at.
    pub spot: Spot,
    /// As in YAML.
    name: String,
    /// The type of its innermost values.
    target: Option<String>,
    flatten: bool,
    /// Attributes that must show in the schema.
    pub claims: Vec<Claim>,
}

/// An attribute, and the keywords of which at least one shows that it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// As it is written: `#[schemars(length(…))]`.
    pub attribute: String,
    /// One of them must be there.
    pub keywords: Vec<String>,
}

/// Lines of a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    file: String,
    line: usize,
    first: usize,
    last: usize,
}

impl Spot {
    /// `api/src/crew/v1/captain.rs:12`.
    pub fn shown(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// `// +kbr:lint:allow=float` at a type or field.
#[derive(Debug)]
struct Allowed {
    spot: Spot,
    name: String,
}

/// The types and fields that a path leads through.
#[derive(Debug, Default)]
pub struct Way<'a> {
    spots: Vec<&'a Spot>,
    /// The field at its end, unless the path goes on where the sources cannot be followed.
    pub field: Option<&'a Field>,
}

impl Way<'_> {
    /// The deepest place that is known.
    pub fn shown(&self) -> Option<String> {
        self.spots.last().map(|spot| spot.shown())
    }
}

impl Places {
    /// Reads what can be parsed; cargo has more to say about the rest.
    pub fn new(files: &[(String, String)], markers: &[Marker]) -> Self {
        let mut places = Self::default();
        for (file, text) in files {
            for (name, read) in read::types(file, text) {
                places.types.entry(name).or_default().push(read);
            }
        }
        for marker in markers {
            let spot = marker
                .at
                .rsplit_once(':')
                .and_then(|(file, line)| places.spot_at(file, line.parse().ok()?))
                .cloned();
            let names = marker
                .arguments
                .iter()
                .filter(|(key, _)| key == "allow")
                .flat_map(|(_, names)| names);
            places.allowed.extend(spot.into_iter().flat_map(|spot| {
                names.clone().map(move |name| Allowed {
                    spot: spot.clone(),
                    name: name.clone(),
                })
            }));
        }
        places
    }

    /// What a comment in a line stands at: the field around or below it, or the type if it is in or above its head.
    fn spot_at(&self, file: &str, line: usize) -> Option<&Spot> {
        let types = self
            .types
            .values()
            .flatten()
            .filter(|known| known.spot.file == file && known.spot.last >= line);
        let nearest = types.min_by_key(|known| known.spot.first)?;
        let fields = nearest
            .fields
            .iter()
            .filter(|field| field.spot.last >= line);
        match fields.min_by_key(|field| field.spot.first) {
            Some(field) if line > nearest.head => Some(&field.spot),
            _ => Some(&nearest.spot),
        }
    }

    /// Follows `.spec.ports[].name` from the kind as far as it can be followed.
    pub fn way(&self, kind: &str, version: &str, path: &str) -> Way<'_> {
        let mut way = Way::default();
        let of_kind = |known: &&Type| {
            known
                .kind
                .as_ref()
                .is_some_and(|(name, its, _)| name == kind && its == version)
        };
        let Some(spec) = self.types.values().flatten().find(of_kind) else {
            return way;
        };
        way.spots.push(&spec.spot);
        let mut steps = path
            .split('.')
            .skip(1)
            .map(|step| step.trim_end_matches("[]").trim_end_matches("[*]"));
        let mut known = match steps.next() {
            Some("spec") => spec,
            Some("status") => {
                let status = spec
                    .kind
                    .as_ref()
                    .and_then(|(_, _, status)| status.as_deref());
                match status.and_then(|name| self.named(name, &spec.spot.file)) {
                    Some(status) => status,
                    None => return way,
                }
            }
            _ => return way,
        };
        let mut steps = steps.peekable();
        way.spots.push(&known.spot);
        while let Some(step) = steps.next() {
            let Some(field) = self.field(known, step, 0) else {
                return way;
            };
            way.spots.push(&field.spot);
            if steps.peek().is_none() && !path.ends_with(']') {
                way.field = Some(field);
            }
            let target = field.target.as_deref();
            match target.and_then(|name| self.named(name, &field.spot.file)) {
                Some(next) => known = next,
                None => return way,
            }
            way.spots.push(&known.spot);
        }
        // The place of a field is where it is written, not where its type is.
        if let [.., field, known] = &mut way.spots[..] {
            std::mem::swap(field, known);
        }
        way
    }

    fn field<'a>(&'a self, known: &'a Type, name: &str, depth: usize) -> Option<&'a Field> {
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
                inner.filter_map(|field| self.named(field.target.as_deref()?, &known.spot.file));
            types.find_map(|inner| self.field(inner, name, depth + 1))
        };
        own.or_else(flattened)
    }

    /// The type of that name: in the same file, or the only one.
    fn named(&self, name: &str, file: &str) -> Option<&Type> {
        let all = self.types.get(name)?;
        let here = all.iter().find(|known| known.spot.file == file);
        here.or_else(|| all.first().filter(|_| all.len() == 1))
    }

    /// Whether a comment on the way silences a warning.
    pub fn allows(&self, way: &Way, name: &str) -> bool {
        let here = |allowed: &&Allowed| way.spots.contains(&&allowed.spot);
        self.allowed
            .iter()
            .filter(here)
            .any(|allowed| allowed.name == name)
    }

    /// Types of which no CRD can be made, for when making them has failed.
    pub fn panicking(&self) -> impl Iterator<Item = &Type> {
        self.types
            .values()
            .flatten()
            .filter(|known| known.panics.is_some())
    }
}
