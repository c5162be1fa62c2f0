//! The names that other modules can import from a Rust file.

use syn::{Attribute, Item, UseTree, Visibility};

use super::derived;
use super::parse::parse;

/// What the module of a file exports.
#[derive(Debug, Default)]
pub struct Exports {
    /// Items that are visible outside of the file, to the crate or to everybody.
    pub items: Vec<String>,
    /// Macros that the whole crate exports: `#[macro_export]`.
    pub macros: Vec<String>,
}

/// The exports of a file. Those of a file that cannot be read are unknown; cargo reports it if it is not valid Rust.
pub fn exports(text: &str) -> Exports {
    parse(text, of_file).unwrap_or_default()
}

fn of_file(file: &syn::File) -> Exports {
    let mut found = Exports::default();
    for item in &file.items {
        export(item, &mut found);
    }
    let kinds = derived::among(&file.items);
    found.items.extend(kinds.into_iter().map(|it| it.type_name));
    found
}

fn export(item: &Item, found: &mut Exports) {
    let (visibility, name) = match item {
        Item::Const(it) => (&it.vis, &it.ident),
        Item::Enum(it) => (&it.vis, &it.ident),
        Item::ExternCrate(it) => {
            let renamed = it.rename.as_ref().map(|(_, name)| name);
            (&it.vis, renamed.unwrap_or(&it.ident))
        }
        Item::Fn(it) => (&it.vis, &it.sig.ident),
        Item::Mod(it) => (&it.vis, &it.ident),
        Item::Static(it) => (&it.vis, &it.ident),
        Item::Struct(it) => (&it.vis, &it.ident),
        Item::Trait(it) => (&it.vis, &it.ident),
        Item::TraitAlias(it) => (&it.vis, &it.ident),
        Item::Type(it) => (&it.vis, &it.ident),
        Item::Union(it) => (&it.vis, &it.ident),
        Item::Use(it) => {
            if is_visible(&it.vis) {
                imported(&it.tree, None, &mut found.items);
            }
            return;
        }
        Item::Macro(it) => {
            let name = it.ident.as_ref().filter(|_| is_exported(&it.attrs));
            found.macros.extend(name.map(ToString::to_string));
            return;
        }
        _ => return,
    };
    if is_visible(visibility) {
        found.items.push(name.to_string());
    }
}

fn is_visible(visibility: &Visibility) -> bool {
    match visibility {
        Visibility::Public(_) => true,
        Visibility::Restricted(to) => !to.path.is_ident("self"),
        Visibility::Inherited => false,
    }
}

fn is_exported(attributes: &[Attribute]) -> bool {
    let mut attributes = attributes.iter();
    attributes.any(|it| it.path().is_ident("macro_export"))
}

/// The names that `tree`, in the group of `parent`, imports. What a glob imports is unknown.
fn imported(tree: &UseTree, parent: Option<&syn::Ident>, found: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => imported(&path.tree, Some(&path.ident), found),
        UseTree::Group(group) => {
            for tree in &group.items {
                imported(tree, parent, found);
            }
        }
        UseTree::Name(name) => {
            let of_parent = parent.filter(|_| name.ident == "self");
            found.push(of_parent.unwrap_or(&name.ident).to_string());
        }
        UseTree::Rename(rename) => found.push(rename.rename.to_string()),
        UseTree::Glob(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_visible_item_is_exported() {
        for (text, expected) in [
            ("pub struct A;", &["A"][..]),
            ("pub(crate) enum A {}", &["A"]),
            ("pub(super) union A { a: u8 }", &["A"]),
            ("pub(in crate::crew) type A = u8;", &["A"]),
            ("pub unsafe trait A {}", &["A"]),
            ("pub fn a() {}", &["a"]),
            ("pub async fn a() {}", &["a"]),
            ("pub const fn a() {}", &["a"]),
            ("pub unsafe extern \"C\" fn a() {}", &["a"]),
            ("pub(crate) async unsafe fn a() {}", &["a"]),
            ("pub const A: u8 = 1;", &["A"]),
            ("pub static A: u8 = 1;", &["A"]),
            ("pub static mut A: u8 = 1;", &["A"]),
            ("pub mod a { pub fn b() {} }", &["a"]),
            ("pub use a::{self, B, c::{d as D, *}};", &["a", "B", "D"]),
            ("#[doc(hidden)]\npub(crate) use a::B;", &["B"]),
            ("pub extern crate a as b;", &["b"]),
            (
                "#[kube(version = \"v1\", kind = \"A\")]\npub struct ASpec {}",
                &["ASpec", "A"],
            ),
            ("fn a() {}", &[]),
            ("pub(self) fn a() {}", &[]),
            ("use a::B;", &[]),
            ("// pub fn a() {}", &[]),
            ("impl A { pub fn a() {} }", &[]),
            ("macro_rules! a { () => {} }", &[]),
        ] {
            let found = exports(text);
            assert_eq!(found.items, expected, "{text}");
            assert!(found.macros.is_empty(), "{text}");
        }
        let found = exports("#[macro_export]\nmacro_rules! a { () => {} }");
        assert_eq!((found.items.len(), found.macros), (0, vec!["a".to_owned()]));
    }
}
