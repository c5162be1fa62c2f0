//! The serde and schemars attributes that affect a schema.

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, Meta, MetaNameValue, Token};

use super::rust::ExpectedKeyword;

/// The items in `#[name(…)]`; empty for other forms of the attribute.
pub fn metas(attributes: &[Attribute], name: &str) -> Vec<Meta> {
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

/// The value of `name = "…"` in `serde` or `schemars`.
pub fn text(attributes: &[Attribute], name: &str) -> Option<String> {
    let all = ["schemars", "serde"]
        .iter()
        .flat_map(|attribute| metas(attributes, attribute));
    all.filter(|meta| meta.path().is_ident(name))
        .find_map(|meta| match meta {
            Meta::NameValue(pair) => literal(&pair.value),
            // `rename(serialize = "…", deserialize = "…")`: schemas have the name that is read.
            Meta::List(list) => {
                let nested = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
                let pairs = list.parse_args_with(nested).ok()?;
                let read = pairs
                    .iter()
                    .find(|pair| pair.path.is_ident("deserialize"))?;
                literal(&read.value)
            }
            Meta::Path(_) => None,
        })
}

/// The description that schemars makes of `#[schemars(description = "…")]` or of a comment, without its title.
pub fn doc(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => literal(&pair.value),
        _ => None,
    };
    let lines = attributes.iter().filter_map(line);
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned());
    let comment = lines.collect::<Vec<_>>().join("\n");
    let comment = match comment.trim() {
        titled if titled.starts_with('#') => {
            titled.split_once('\n').map_or("", |(_, text)| text.trim())
        }
        plain => plain,
    };
    text(attributes, "description").unwrap_or_else(|| comment.to_owned())
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(literal) => string(&literal.lit),
        _ => None,
    }
}

fn string(literal: &Lit) -> Option<String> {
    match literal {
        Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

pub fn rename_all(attributes: &[Attribute]) -> Option<String> {
    text(attributes, "rename_all")
}

/// A name as serde's `rename_all` writes it.
pub fn cased(name: &str, case: Option<&str>, variant: bool) -> String {
    let Some(case) = case else {
        return name.to_owned();
    };
    let mut words: Vec<String> = Vec::new();
    for char in name.chars() {
        let starts = if variant {
            char.is_uppercase()
        } else {
            char == '_'
        };
        if starts || words.is_empty() {
            words.push(String::new());
        }
        if char != '_' {
            words
                .last_mut()
                .into_iter()
                .for_each(|word| word.extend(char.to_lowercase()));
        }
    }
    let capital = |word: &String| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(chars).collect()
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

/// The attributes of a field that must leave a keyword in its schema.
pub fn expected(attributes: &[Attribute]) -> Vec<ExpectedKeyword> {
    let mut found = Vec::new();
    for attribute in ["schemars", "validate"] {
        for meta in metas(attributes, attribute) {
            if let Some((words, keywords)) = expected_keywords(&meta) {
                found.push(ExpectedKeyword {
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
        found.push(ExpectedKeyword {
            attribute: "StructMerge".to_owned(),
            keywords: vec!["x-kubernetes-map-type".to_owned()],
        });
    }
    found
}

/// The text of an attribute, and the keywords that it may give (prefixed with `items/` for items of a list).
fn expected_keywords(meta: &Meta) -> Option<(String, Vec<String>)> {
    const KEYWORDS: [(&str, &[&str]); 4] = [
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
        let (words, keywords) = inside.ok()?.iter().find_map(expected_keywords)?;
        let keywords = keywords.iter().map(|key| format!("items/{key}"));
        return Some((format!("inner({words})"), keywords.collect()));
    }
    let (word, keywords) = KEYWORDS
        .iter()
        .find(|(word, _)| meta.path().is_ident(word))?;
    let keywords = keywords.iter().map(|key| (*key).to_owned());
    Some((format!("{word}(…)"), keywords.collect()))
}

/// The keys of `extend("a" = 1, "b" = 2)`. `"c" = null` removes a keyword.
fn extended(tokens: &TokenStream) -> Vec<ExpectedKeyword> {
    let mut found = Vec::new();
    let mut before: Option<String> = None;
    let mut tokens = tokens.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_null = matches!(tokens.peek(), Some(TokenTree::Ident(word)) if word == "null" || word == "None");
        if let TokenTree::Punct(sign) = &token
            && sign.as_char() == '='
            && !is_null
            && let Some(key) = &before
        {
            let keywords = match key.as_str() {
                "const" => vec!["enum".to_owned()],
                key => vec![key.to_owned()],
            };
            found.push(ExpectedKeyword {
                attribute: format!("#[schemars(extend(\"{key}\" = …))]"),
                keywords,
            });
        }
        before = match token {
            TokenTree::Literal(literal) => string(&Lit::new(literal)),
            _ => None,
        };
    }
    found
}
