//! No kind or group can have a name that the generated Rust already uses. Which names that are is read from what kbr writes.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::*;
use crate::resource::{ApiFlags, Resource, names};
use crate::rust::is_rust;

/// A project whose kind has two versions, converted into each other, a controller and webhooks.
fn project(group: &str, kind: &str) -> Project {
    let lower = kind.to_lowercase();
    let names = format!(
        "group = '{group}'\nfull_group = '{group}.example.com'\nkind = '{kind}'\nplural = '{lower}s'\nnamespaced = true\n"
    );
    let api = |version: &str| {
        format!("[[api]]\n{names}version = '{version}'\nsingular = '{lower}'\nshort_names = []\n")
    };
    let module = names::module(group);
    let target = format!("{names}version = 'v1'\ntype = 'api::{module}::v1::{kind}'\n");
    let text = format!(
        "layout = 'v1'\nkbr = '0.1.0'\nname = 'captains'\ndomain = 'example.com'\n{}{}[[controller]]\nname = '{lower}'\n{target}\
         [[webhook]]\n{target}defaulting = '/d'\nvalidation = '/v'\nspokes = ['v2']\n",
        api("v1"),
        api("v2"),
    );
    project::parse(&text).unwrap()
}

/// The text of each Rust file and manifest, apart from the library, by path; in the file's own name, the kind is `captain`.
fn rendered(group: &str, kind: &str) -> BTreeMap<String, String> {
    let blueprint = Blueprint::new(&project(group, kind), &checkout::current()).unwrap();
    let is_code = |path: &str| is_rust(path) || path.ends_with("Cargo.toml");
    let files = blueprint
        .files()
        .filter(|(path, _)| is_code(path) && !path.starts_with("third_party/"));
    let texts = files.map(|(path, file)| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let lower = kind.to_lowercase();
        let name = match name.strip_suffix(".rs").unwrap_or_default() {
            stem if stem == lower || stem == names::module(&lower) => "captain.rs".to_owned(),
            stem if stem == format!("{lower}_conversion") => "captain_conversion.rs".to_owned(),
            stem => match stem.strip_suffix(&format!("_{lower}")) {
                Some(start) => format!("{start}_captain.rs"),
                None => name.to_owned(),
            },
        };
        (format!("{folder}/{name}"), file.text(path).unwrap())
    });
    texts.collect()
}

/// How often each name is used or bound in `code`: the first name of each path, and what `use` items import. Attributes are left out,
/// because derive macros and types have different namespaces.
fn count(code: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    collect(code.parse().unwrap(), false, &mut found);
    found
}

fn collect(tokens: TokenStream, imports: bool, found: &mut BTreeMap<String, usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: Option<usize>, text: &str| {
        at.and_then(|at| tokens.get(at))
            .is_some_and(|it| it.to_string() == text)
    };
    let mut imports = imports;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1);
        match token {
            TokenTree::Ident(ident) if ident == "use" => imports = true,
            TokenTree::Punct(it) if it.as_char() == ';' => imports = false,
            TokenTree::Ident(ident) => {
                let is_first = !is(before, ":") && !is(before, ".") && !is(before, "type");
                let is_imported = !is(Some(at + 1), ":") && !is(Some(at + 1), "as");
                // A field, an argument or a binding has a single colon behind it, a path has two.
                let is_named = is(Some(at + 1), ":") && !is(Some(at + 2), ":");
                let is_typed = is(before, ":") && !is(at.checked_sub(2), ":");
                let counts = if imports {
                    is_imported
                } else {
                    (is_first || is_typed) && !is_named
                };
                if counts {
                    *found.entry(ident.to_string()).or_default() += 1;
                }
            }
            TokenTree::Group(group) => {
                let is_attribute = group.delimiter() == Delimiter::Bracket
                    && (is(before, "#") || is(before, "!") && is(at.checked_sub(2), "#"));
                if !is_attribute {
                    collect(group.stream(), imports, found);
                }
            }
            _ => {}
        }
    }
}

fn flags(group: &str, kind: &str) -> ApiFlags {
    ApiFlags {
        group: group.to_owned(),
        domain: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespaced: true,
        ..ApiFlags::default()
    }
}

/// The names in the files that kbr refuses neither as a kind nor with a suffix.
fn free(usual: &BTreeMap<String, BTreeMap<String, usize>>) -> BTreeSet<String> {
    let all = usual.values().flat_map(BTreeMap::keys);
    let stems = all.flat_map(|name| {
        let suffixes = ["", "Spec", "Status", "Webhook", "Kind", "V1", "V2"];
        suffixes
            .into_iter()
            .filter_map(|suffix| name.strip_suffix(suffix))
    });
    let is_free =
        |kind: &&str| !kind.starts_with("Captain") && Resource::new(&flags("crew", kind)).is_ok();
    stems.filter(is_free).map(str::to_owned).collect()
}

#[test]
fn a_kind_with_a_name_that_a_file_uses_is_refused_or_gets_an_alias_there() {
    let rust = |kind: &str| -> BTreeMap<String, BTreeMap<String, usize>> {
        let files = rendered("crew", kind).into_iter();
        let files = files.filter(|(path, _)| is_rust(path));
        files.map(|(path, text)| (path, count(&text))).collect()
    };
    let usual = rust("Captain");
    let kinds = free(&usual);
    for known in ["Action", "FakeApi", "Result", "Spoke", "TryFrom"] {
        assert!(kinds.contains(known), "{known}: {kinds:?}");
    }
    for kind in kinds {
        let files = rust(&kind);
        for (path, usual) in &usual {
            for suffix in ["", "Spec", "Status", "Webhook"] {
                let name = format!("{kind}{suffix}");
                let of_file = usual.get(&name).copied().unwrap_or_default();
                let now = files[path].get(&name).copied().unwrap_or_default();
                assert!(
                    of_file == 0 || of_file == now,
                    "`{path}` uses `{name}`, so it cannot be a name of the kind `{kind}` there"
                );
            }
        }
    }
}

#[test]
fn a_group_or_kind_with_a_module_that_its_crate_uses_is_refused_or_gets_another_one() {
    let files = rendered("crew", "Captain");
    let manifest: toml::Table = files["api/Cargo.toml"].parse().unwrap();
    let crates = manifest["dependencies"].as_table().unwrap().keys();
    let mut crates: BTreeSet<String> = crates.map(|name| name.replace('-', "_")).collect();
    crates.extend(["alloc", "core", "std"].map(str::to_owned));
    for name in &crates {
        assert_ne!(names::module(name), *name, "a crate and a module");
    }
    let root = syn::parse_file(&files["api/src/lib.rs"]).unwrap();
    let modules = root.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    let modules: Vec<String> = modules.collect();
    assert_eq!(modules, ["conversion", "crew"]);
    for name in modules.iter().filter(|name| *name != "crew") {
        let group = Resource::new(&flags(name, "Captain")).unwrap();
        let is_refused = group.check_among(std::iter::empty()).is_err();
        assert!(is_refused || group.group_module() != *name, "{name}");
    }
}
