//! A Rust file -> its types, with the serde, schemars and kube attributes that matter.

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Token};

use super::{Claim, Field, Spot, Type};

/// The structs and enums of a file, in modules too; none if it is no Rust.
pub fn types(file: &str, text: &str) -> Vec<(String, Type)> {
    let mut found = Vec::new();
    if let Ok(parsed) = syn::parse_file(text) {
        items(file, &parsed.items, &mut found);
    }
    found
}

fn items(file: &str, all: &[Item], found: &mut Vec<(String, Type)>) {
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
) -> Type {
    Type {
        spot: spot(file, item, name),
        head: name.span().start().line,
        kind: kind(attributes),
        fields,
        panics: None,
    }
}

/// A variant with fields is a field of the same name; its fields are a type of their own.
fn enumeration(file: &str, item: &syn::ItemEnum, found: &mut Vec<(String, Type)>) {
    let case = rename_all(&item.attrs);
    let mut variants = Vec::new();
    for variant in &item.variants {
        let name = text(&variant.attrs, "rename")
            .unwrap_or_else(|| cased(&variant.ident.to_string(), case.as_deref(), true));
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
            spot: spot(file, variant, &variant.ident),
            name,
            target,
            flatten: false,
            claims: Vec::new(),
        });
    }
    let mixed = !variants.is_empty() && variants.len() < item.variants.len();
    let mut read = known(file, item, &item.ident, &item.attrs, variants);
    read.panics = panics(item, mixed);
    found.push((item.ident.to_string(), read));
}

/// Why kube cannot make a CRD from an enum: its forms would need different schemas for one field.
fn panics(item: &syn::ItemEnum, mixed: bool) -> Option<(String, &'static str)> {
    let name = &item.ident;
    if let Some(tag) = text(&item.attrs, "tag") {
        let why = format!(
            "enum `{name}` has `#[serde(tag = \"{tag}\")]`, and the field `{tag}` would have a schema for each variant"
        );
        return Some((
            why,
            "leave `tag` out, so that a variant is a field of its own (`start: { at: … }`), or use a struct with an enum of units and optional fields",
        ));
    }
    if mixed
        && !metas(&item.attrs, "serde")
            .iter()
            .any(|meta| meta.path().is_ident("untagged"))
    {
        let why = format!(
            "enum `{name}` has variants with and without fields, which are a map and a string"
        );
        return Some((why, "write those without fields as `Off {}`"));
    }
    None
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
            spot: spot(file, field, ident),
            name: text(&field.attrs, "rename").unwrap_or_else(|| cased(plain, case, false)),
            target: target(&field.ty),
            flatten: is("flatten"),
            claims: if is("with") || is("schema_with") {
                Vec::new()
            } else {
                claims(&field.attrs)
            },
        })
    };
    named.named.iter().filter_map(read).collect()
}

fn spot(file: &str, item: &impl Spanned, name: &syn::Ident) -> Spot {
    let span = item.span();
    Spot {
        file: file.to_owned(),
        line: name.span().start().line,
        first: span.start().line,
        last: span.end().line,
    }
}

/// What stands in `#[name(…)]`, one after the other; nothing if it has another form.
fn metas(attributes: &[Attribute], name: &str) -> Vec<Meta> {
    let own = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident(name));
    own.filter_map(|attribute| {
        attribute
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .ok()
    })
    .flatten()
    .collect()
}

/// The value of `name = "…"` in `serde`, `schemars` or `kube`.
fn text(attributes: &[Attribute], name: &str) -> Option<String> {
    let all = ["schemars", "serde", "kube"]
        .iter()
        .flat_map(|attribute| metas(attributes, attribute));
    all.filter(|meta| meta.path().is_ident(name))
        .find_map(|meta| match meta {
            Meta::NameValue(pair) => literal(&pair.value),
            // `rename(serialize = "…", deserialize = "…")` is seldom, and then the place is not found.
            _ => None,
        })
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn rename_all(attributes: &[Attribute]) -> Option<String> {
    text(attributes, "rename_all")
}

fn kind(attributes: &[Attribute]) -> Option<(String, String, Option<String>)> {
    Some((
        text(attributes, "kind")?,
        text(attributes, "version")?,
        text(attributes, "status"),
    ))
}

/// A name as serde's `rename_all` writes it.
fn cased(name: &str, case: Option<&str>, variant: bool) -> String {
    let Some(case) = case else {
        return name.to_owned();
    };
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        let starts = if variant {
            letter.is_uppercase()
        } else {
            letter == '_'
        };
        if starts || words.is_empty() {
            words.push(String::new());
        }
        if letter != '_' {
            words
                .last_mut()
                .into_iter()
                .for_each(|word| word.extend(letter.to_lowercase()));
        }
    }
    let capital = |word: &String| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(letters).collect()
        })
    };
    let pascal: String = words.iter().map(capital).collect();
    match case {
        "lowercase" => words.concat(),
        "UPPERCASE" => words.concat().to_uppercase(),
        "PascalCase" => pascal,
        "camelCase" => words
            .iter()
            .take(1)
            .cloned()
            .chain(words.iter().skip(1).map(capital))
            .collect(),
        "snake_case" => words.join("_"),
        "SCREAMING_SNAKE_CASE" => words.join("_").to_uppercase(),
        "kebab-case" => words.join("-"),
        "SCREAMING-KEBAB-CASE" => words.join("-").to_uppercase(),
        _ => name.to_owned(),
    }
}

/// The type of the innermost values: `Port` of `Option<Vec<Port>>` and of `BTreeMap<String, Port>`.
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

/// The attributes of a field that must show in its schema.
fn claims(attributes: &[Attribute]) -> Vec<Claim> {
    let mut found = Vec::new();
    for attribute in ["schemars", "validate"] {
        for meta in metas(attributes, attribute) {
            if let Some((words, keywords)) = heard(&meta) {
                found.push(Claim {
                    attribute: format!("#[{attribute}({words})]"),
                    keywords,
                });
            }
            if let Meta::List(list) = &meta
                && list.path.is_ident("extend")
            {
                found.extend(extended(&list.tokens));
            }
        }
    }
    let merged = metas(attributes, "x_kube").into_iter().any(|meta| match meta {
        Meta::NameValue(pair) => matches!(&pair.value, Expr::Path(path) if path.path.segments.iter().any(|part| part.ident == "StructMerge")),
        _ => false,
    });
    if merged {
        found.push(Claim {
            attribute: "StructMerge".to_owned(),
            keywords: vec!["x-kubernetes-map-type".to_owned()],
        });
    }
    found
}

/// What is written of an attribute, and the keywords of which it gives one; below `items/` for what is in a list.
fn heard(meta: &Meta) -> Option<(String, Vec<String>)> {
    const HEARD: [(&str, &[&str]); 4] = [
        (
            "length",
            &["minLength", "maxLength", "minItems", "maxItems"],
        ),
        ("range", &["minimum", "maximum"]),
        ("regex", &["pattern"]),
        ("pattern", &["pattern"]),
    ];
    if let Meta::List(list) = meta
        && list.path.is_ident("inner")
    {
        let inside = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        let (words, keywords) = inside.ok()?.iter().find_map(heard)?;
        let keywords = keywords.iter().map(|key| format!("items/{key}"));
        return Some((format!("inner({words})"), keywords.collect()));
    }
    let (word, keywords) = HEARD.iter().find(|(word, _)| meta.path().is_ident(word))?;
    let keywords = keywords.iter().map(|key| (*key).to_owned());
    Some((format!("{word}(…)"), keywords.collect()))
}

/// `extend("a" = 1, "b" = 2)`.
fn extended(tokens: &proc_macro2::TokenStream) -> Vec<Claim> {
    let mut found = Vec::new();
    let mut before: Option<String> = None;
    for token in tokens.clone() {
        if let proc_macro2::TokenTree::Punct(sign) = &token
            && sign.as_char() == '='
            && let Some(key) = &before
        {
            let keywords = match key.as_str() {
                "const" => vec!["enum".to_owned()],
                key => vec![key.to_owned()],
            };
            found.push(Claim {
                attribute: format!("#[schemars(extend(\"{key}\" = …))]"),
                keywords,
            });
        }
        before = syn::parse_str::<syn::LitStr>(&token.to_string())
            .ok()
            .map(|text| text.value());
    }
    found
}
