//! The kinds that `#[derive(CustomResource)]` defines in a Rust file, whose names are in attributes.

use std::collections::BTreeMap;

use super::parse::parse;
use proc_macro2::TokenStream;
use syn::{Attribute, Expr, Item, Lit, Token, parenthesized, token};

/// What `#[kube(…)]` says about a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// `Captain`.
    pub kind: String,
    /// `v1`.
    pub version: String,
    /// The name of its type: the kind, unless `struct` names another one.
    pub type_name: String,
    /// The name of the type of its status.
    pub status: Option<String>,
    /// Whether the API server stores objects in this version.
    pub is_stored: bool,
}

/// The kinds in a file, including those in modules; none in one that cannot be read.
pub fn kinds(text: &str) -> Vec<Derived> {
    parse(text, |file| among(&file.items)).unwrap_or_default()
}

/// The kinds among these items, including those in modules.
pub fn among(items: &[Item]) -> Vec<Derived> {
    let of_item = |item: &Item| match item {
        Item::Struct(item) => kind(&item.attrs).into_iter().collect(),
        Item::Mod(module) => {
            let inner = module.content.as_ref();
            inner.map_or_else(Vec::new, |(_, items)| among(items))
        }
        _ => Vec::new(),
    };
    items.iter().flat_map(of_item).collect()
}

/// The kind that a type with these attributes defines.
pub fn kind(attributes: &[Attribute]) -> Option<Derived> {
    let mut values = BTreeMap::new();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("kube")) {
        // rustc reports what cannot be read.
        attribute
            .parse_nested_meta(|meta| {
                if meta.input.peek(Token![=]) {
                    let value = text(&meta.value()?.parse()?);
                    let name = meta.path.get_ident().map(ToString::to_string);
                    values.extend(name.zip(value));
                } else if meta.input.peek(token::Paren) {
                    let inside;
                    parenthesized!(inside in meta.input);
                    inside.parse::<TokenStream>()?;
                }
                Ok(())
            })
            .ok();
    }
    let kind = values.remove("kind")?;
    Some(Derived {
        version: values.remove("version")?,
        type_name: values.remove("struct").unwrap_or_else(|| kind.clone()),
        status: values.remove("status"),
        // As the derive macro reads it: `storage = false` or `storage = "false"`; anything else stores.
        is_stored: values.get("storage").is_none_or(|it| it != "false"),
        kind,
    })
}

/// A string, or `true` or `false`.
fn text(value: &Expr) -> Option<String> {
    let Expr::Lit(literal) = value else {
        return None;
    };
    match &literal.lit {
        Lit::Str(text) => Some(text.value()),
        Lit::Bool(switch) => Some(switch.value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> Vec<(String, bool)> {
        let kinds = kinds(text).into_iter();
        kinds.map(|it| (it.type_name, it.is_stored)).collect()
    }

    #[test]
    fn only_the_attribute_of_a_type_says_whether_it_is_stored() {
        let kind = |more: &str| {
            format!("#[kube(group = \"a.b\", version = \"v1\", kind = \"A\"{more})]\nstruct ASpec;")
        };
        for (text, expected) in [
            (kind(""), true),
            (kind(", storage = false"), false),
            (kind(", storage = \"false\""), false),
            (kind(", storage = true"), true),
            (kind(", storage"), true),
            (kind(", printcolumn(name = \"A\"), storage = false"), false),
            (
                format!("{}\nconst A: &str = \"storage = false\";", kind("")),
                true,
            ),
            (
                format!("fn a() {{ let storage = false; }}\n{}", kind("")),
                true,
            ),
            (format!("// storage = false\n{}", kind("")), true),
            (format!("#[kube(storage = false)]\n{}", kind("")), false),
        ] {
            assert_eq!(stored(&text), [("A".to_owned(), expected)], "{text}");
        }
    }

    #[test]
    fn kinds_in_modules_and_with_types_of_other_names_are_found() {
        let text = "mod a {\n#[kube(version = \"v1\", kind = \"A\", struct = \"B\")]\nstruct X;\n}\n#[kube(scale)]\nstruct C;";
        assert_eq!(stored(text), [("B".to_owned(), true)]);
    }
}
