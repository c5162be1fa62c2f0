//! Why the generator panicked: kube cannot make one schema of some enums.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::SourceMap;
use super::rust::{Panic, RustType, Span};
use crate::problem::Problem;

impl SourceMap {
    /// Possible causes of what the generator `printed`: enums of the project's kinds that lead to such a panic.
    pub fn causes(&self, printed: &str) -> Vec<Problem> {
        let field = printed.split_once("Property \"");
        let field = field.and_then(|(_, rest)| Some(rest.split_once("\" has the schema")?.0));
        let is_whole = printed.contains("Enum variant set")
            || printed.contains("conflicting with existing type");
        let is_named = |variant: &String| printed.contains(&format!("String({})", json!(variant)));
        let fits = |panic: &Panic| match field {
            _ if field.is_none() && !is_whole => true,
            _ if !panic.variants.is_empty() && !panic.variants.iter().any(is_named) => false,
            field => panic.field.as_deref() == field,
        };
        let known = self.known();
        let panics = known.iter().flat_map(|(name, it)| {
            let all = it.panics.iter().cloned().chain(self.different(name, it));
            all.filter(fits)
                .map(|panic| (&it.span, panic))
                .collect::<Vec<_>>()
        });
        let problems = panics.map(|(span, Panic { why, help, .. })| {
            Problem::new(format_args!("possible cause: {why}"))
                .at(&span.shown())
                .help(help)
        });
        problems.collect()
    }

    /// Possible causes why the types do not compile, where rustc names what a macro has made.
    pub fn compile_errors(&self) -> Vec<Problem> {
        let all = self
            .types
            .iter()
            .flat_map(|(name, all)| all.iter().map(move |it| (name, it)));
        let problems = all.filter(|(_, known)| known.has_default).map(|(name, known)| {
            let text = format!("possible cause: `{name}` has `#[serde(default)]`, which does not compile with `KubeSchema`");
            Problem::new(text).at(&known.span.shown()).help("put `#[serde(default)]` on each field instead")
        });
        problems.collect()
    }

    /// The types that the kinds consist of, by name and place.
    fn known(&self) -> Vec<(&str, &RustType)> {
        let mut all: BTreeMap<(&Span, &str), &RustType> = BTreeMap::new();
        let kinds = self.kinds.values();
        let mut next: Vec<(&str, &RustType)> = kinds
            .filter_map(|(name, at)| Some((&**name, self.types.get(name)?.get(*at)?)))
            .collect();
        while let Some((name, known)) = next.pop() {
            if all.insert((&known.span, name), known).is_some() {
                continue;
            }
            let status = known.kind.as_ref().and_then(|kind| kind.status.as_deref());
            let targets = known
                .fields
                .iter()
                .filter_map(|field| field.target.as_deref());
            for target in targets.chain(status) {
                next.extend(self.named(target, &known.span.file).map(|it| (target, it)));
            }
        }
        all.into_iter()
            .map(|((_, name), known)| (name, known))
            .collect()
    }

    /// The fields that differ in the variants of an untagged enum.
    fn different(&self, name: &str, known: &RustType) -> Vec<Panic> {
        let mut texts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let variants = known.fields.iter().filter(|_| known.untagged);
        let types = variants.filter_map(|it| self.named(it.target.as_deref()?, &known.span.file));
        for field in types.flat_map(|it| &it.fields).filter(|it| !it.flatten) {
            texts.entry(&field.name).or_default().insert(&field.text);
        }
        let different = texts.into_iter().filter(|(_, texts)| texts.len() > 1);
        different
            .map(|(field, _)| Panic {
                field: Some(field.to_owned()),
                variants: Vec::new(),
                why: format!(
                    "the variants of the untagged enum `{name}` have different fields `{field}`"
                ),
                help: "write equal comments, types and defaults for it in each variant",
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_scaffold::rust::Source;

    const SOURCE: &str = "#[kube(version = \"v1\", kind = \"A\", status = \"S\")]
struct ASpec { b: Option<Vec<B>>, c: C }
enum B { Off, On { a: u8 } }
#[serde(untagged)]
enum C { X { /// One.
    url: String }, Y(Y), Z { url: String } }
struct Y { other: u8, /// One.
    url: String }
struct S { d: D }
#[serde(tag = \"type\", rename_all = \"camelCase\")]
enum D { Up, Down }
enum Innocent { Off, On { a: u8 } }
";

    #[track_caller]
    fn check(printed: &str, places: &[&str]) {
        let map = SourceMap::new(&[Source::new("a.rs", SOURCE)], &[]);
        let causes = map.causes(printed);
        let causes: Vec<_> = causes
            .iter()
            .map(|it| it.text().split(": ").next().unwrap())
            .collect();
        assert_eq!(causes, places, "{printed}");
    }

    #[test]
    fn a_default_of_a_struct_that_derives_the_schema_of_kube_is_a_compile_error() {
        let text = "#[derive(CustomResource, kube::KubeSchema)]\n#[kube(version = \"v1\", kind = \"A\")]\n#[serde(rename_all = \"camelCase\", default)]\nstruct ASpec {}\n#[derive(JsonSchema)]\n#[serde(default)]\nstruct B {}\n#[derive(KubeSchema)]\nstruct C {}";
        let map = SourceMap::new(&[Source::new("a.rs", text)], &[]);
        let errors: Vec<_> = map
            .compile_errors()
            .iter()
            .map(ToString::to_string)
            .collect();
        let expected = "`a.rs:4`: possible cause: `ASpec` has `#[serde(default)]`, which does not compile with `KubeSchema`\n    help: put `#[serde(default)]` on each field instead";
        assert_eq!(errors, [expected]);
    }

    #[test]
    fn only_enums_of_the_kinds_that_lead_to_such_a_panic_are_named() {
        check("something else", &["`a.rs:3`", "`a.rs:5`", "`a.rs:11`"]);
        check(
            "Enum variant set [String(\"Off\")] has type …",
            &["`a.rs:3`"],
        );
        check("Property \"url\" has the schema …", &["`a.rs:5`"]);
        check(
            "Property \"type\" has the schema … [String(\"down\")]",
            &["`a.rs:11`"],
        );
        check(
            "Property \"type\" has the schema … [String(\"other\")]",
            &[],
        );
        check("Property \"other\" has the schema …", &[]);
    }
}
