//! A Rust file -> its types, with the serde, schemars and kube attributes that affect a schema.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::{Attribute, Fields, GenericArgument, Item, PathArguments};

use super::attributes::{cased, doc, expected, metas, rename_all, text};
use super::rust::{Field, Panic, RustType, Span};
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::derived;
use kbr_scaffold::rust::parse::{Unread, parse};

/// The structs and enums of a file, including those in modules.
pub fn types(source: &Source) -> Result<Vec<(String, RustType)>, Unread> {
    parse(&source.text, |parsed| {
        let mut found = Vec::new();
        items(&source.path, &parsed.items, &mut found);
        found
    })
}

fn items(file: &str, all: &[Item], found: &mut Vec<(String, RustType)>) {
    for item in all {
        match item {
            Item::Mod(module) => {
                let inner = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                items(file, inner, found);
            }
            Item::Struct(item) => {
                let case = rename_all(&item.attrs);
                let fields = fields(file, &item.fields, case.as_deref());
                found.push((
                    item.ident.to_string(),
                    known(file, item, &item.ident, &item.attrs, fields),
                ));
            }
            Item::Enum(item) => enumeration(file, item, found),
            _ => {}
        }
    }
}

fn known(
    file: &str,
    item: &impl Spanned,
    name: &syn::Ident,
    attributes: &[Attribute],
    fields: Vec<Field>,
) -> RustType {
    let mut by_name = BTreeMap::new();
    for (at, field) in fields.iter().enumerate().filter(|(_, it)| !it.flatten) {
        by_name.entry(field.name.clone()).or_insert(at);
    }
    RustType {
        by_name,
        span: span(file, item, name),
        head: name.span().start().line,
        kind: derived::kind(attributes),
        fields,
        doc: doc(attributes),
        panics: None,
        has_default: derives(attributes, "KubeSchema") && has_word(attributes, "default"),
        untagged: has_word(attributes, "untagged"),
    }
}

/// Whether `#[serde(…)]` has a word.
fn has_word(attributes: &[Attribute], word: &str) -> bool {
    let metas = metas(attributes, "serde");
    metas.iter().any(|meta| meta.path().is_ident(word))
}

fn derives(attributes: &[Attribute], name: &str) -> bool {
    let metas = metas(attributes, "derive");
    let mut last = metas.iter().filter_map(|meta| meta.path().segments.last());
    last.any(|segment| segment.ident == name)
}

/// A variant with fields counts as a field of the same name; its fields count as a type.
fn enumeration(file: &str, item: &syn::ItemEnum, found: &mut Vec<(String, RustType)>) {
    let case = rename_all(&item.attrs);
    let mut variants = Vec::new();
    for variant in &item.variants {
        let name = variant_name(variant, case.as_deref());
        let target = match &variant.fields {
            Fields::Unnamed(fields) => fields.unnamed.first().and_then(|field| target(&field.ty)),
            Fields::Named(_) => {
                let inner = format!("{}::{}", item.ident, variant.ident);
                let case = rename_all(&variant.attrs);
                let fields = fields(file, &variant.fields, case.as_deref());
                found.push((
                    inner.clone(),
                    known(file, variant, &variant.ident, &[], fields),
                ));
                Some(inner)
            }
            Fields::Unit => continue,
        };
        variants.push(Field {
            span: span(file, variant, &variant.ident),
            name,
            target,
            flatten: false,
            doc: String::new(),
            text: String::new(),
            expected: Vec::new(),
        });
    }
    let mixed = !variants.is_empty() && variants.len() < item.variants.len();
    let mut read = known(file, item, &item.ident, &item.attrs, variants);
    read.panics = panics(item, mixed && !read.untagged);
    found.push((item.ident.to_string(), read));
}

fn variant_name(variant: &syn::Variant, case: Option<&str>) -> String {
    let name = text(&variant.attrs, "rename");
    name.unwrap_or_else(|| cased(&variant.ident.to_string(), case, true))
}

/// Why kube cannot make a CRD from an enum: its variants would need different schemas for one field.
fn panics(item: &syn::ItemEnum, mixed: bool) -> Option<Panic> {
    let name = &item.ident;
    let case = rename_all(&item.attrs);
    let variants = item
        .variants
        .iter()
        .map(|it| variant_name(it, case.as_deref()));
    let variants = variants.collect();
    if let Some(tag) = text(&item.attrs, "tag") {
        let why = format!(
            "enum `{name}` has `#[serde(tag = \"{tag}\")]`, so the field `{tag}` would have a schema for each variant"
        );
        return Some(Panic {
            field: Some(tag),
            variants,
            why,
            help: "remove `tag`, so that each variant is a field (`start: { at: … }`), or use a struct with an enum of unit variants and optional fields",
        });
    }
    mixed.then(|| Panic {
        field: None,
        variants,
        why: format!("enum `{name}` mixes variants with fields, which are maps, and without, which are strings"),
        help: "write variants without fields as `Off {}`",
    })
}

/// The text of an item, without how it is broken into lines.
fn words(item: &impl Spanned) -> String {
    let text = item.span().source_text().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn fields(file: &str, all: &Fields, case: Option<&str>) -> Vec<Field> {
    let Fields::Named(named) = all else {
        return Vec::new();
    };
    let read = |field: &syn::Field| {
        let ident = field.ident.as_ref()?;
        let plain = ident.to_string();
        let plain = plain.trim_start_matches("r#");
        let own = |attribute| metas(&field.attrs, attribute);
        let is = |word: &str| {
            own("serde")
                .iter()
                .chain(&own("schemars"))
                .any(|meta| meta.path().is_ident(word))
        };
        Some(Field {
            span: span(file, field, ident),
            name: text(&field.attrs, "rename").unwrap_or_else(|| cased(plain, case, false)),
            target: target(&field.ty),
            flatten: is("flatten"),
            doc: doc(&field.attrs),
            text: words(field),
            expected: if is("with") || is("schema_with") {
                Vec::new()
            } else {
                expected(&field.attrs)
            },
        })
    };
    named.named.iter().filter_map(read).collect()
}

fn span(file: &str, item: &impl Spanned, name: &syn::Ident) -> Span {
    let span = item.span();
    Span {
        file: file.to_owned(),
        line: name.span().start().line,
        first: span.start().line,
        last: span.end().line,
    }
}

/// The type of the innermost values: `Port` for `Option<Vec<Port>>` and `BTreeMap<String, Port>`.
fn target(kind: &syn::Type) -> Option<String> {
    match kind {
        syn::Type::Path(path) => {
            let last = path.path.segments.last()?;
            if let PathArguments::AngleBracketed(arguments) = &last.arguments {
                let types = arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(inner) => Some(inner),
                    _ => None,
                });
                return types.last().and_then(target);
            }
            Some(last.ident.to_string())
        }
        syn::Type::Array(array) => target(&array.elem),
        _ => None,
    }
}
