//! The `use` declarations of a file.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Body, Model, Ty};
use super::shared::SHARED;
use super::text::WIDTH;

/// The `use` declarations of a file with this code.
pub fn imports(model: &Model, code: &str) -> String {
    let mut uses = BTreeSet::new();
    for ty in &model.types {
        if let Body::Struct { fields, open } = &ty.body {
            for field in fields {
                add(&field.ty, &mut uses);
            }
            uses.extend(open.then_some(["BTreeMap", "Value"]).into_iter().flatten());
        }
    }
    let mut imports = String::new();
    if uses.contains("BTreeMap") {
        imports.push_str("use std::collections::BTreeMap;\n\n");
    }
    imports.push_str(&of_kubernetes(model, &uses));
    for (module, names) in [
        (
            "kube",
            [
                ("CustomResource", "(CustomResource, "),
                ("KubeSchema", ", KubeSchema)]"),
            ],
        ),
        (
            "schemars",
            [
                ("JsonSchema", "JsonSchema"),
                ("json_schema", "json_schema!("),
            ],
        ),
    ] {
        let names = names.iter().filter(|(_, found)| code.contains(found));
        let names: BTreeSet<&str> = names.map(|(name, _)| *name).collect();
        imports.push_str(&declaration(module, &names));
    }
    imports.push_str("use serde::{Deserialize, Serialize};\n");
    if uses.contains("Value") {
        imports.push_str("use serde_json::Value;\n");
    }
    let shared = model.types.iter().filter(|it| it.is_shared);
    let shared: BTreeSet<&str> = shared.map(|it| it.name.as_str()).collect();
    if !shared.is_empty() {
        imports.push('\n');
        imports.push_str(&declaration(&format!("super::{SHARED}"), &shared));
    }
    imports
}

/// The names that a type uses.
fn add(ty: &Ty, uses: &mut BTreeSet<&'static str>) {
    match ty {
        Ty::Any => {
            uses.insert("Value");
        }
        Ty::Quantity => {
            uses.insert("Quantity");
        }
        Ty::IntOrString => {
            uses.insert("IntOrString");
        }
        Ty::List(inner) => add(inner, uses),
        Ty::Map(inner) => {
            uses.insert("BTreeMap");
            add(inner, uses);
        }
        _ => {}
    }
}

fn of_kubernetes(model: &Model, uses: &BTreeSet<&str>) -> String {
    let mut paths: Vec<String> = model.imported.iter().map(|known| known.path()).collect();
    if uses.contains("Quantity") {
        paths.push("k8s_openapi::apimachinery::pkg::api::resource::Quantity".to_owned());
    }
    if uses.contains("IntOrString") {
        paths.push("k8s_openapi::apimachinery::pkg::util::intstr::IntOrString".to_owned());
    }
    let mut modules: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, name) in paths.iter().filter_map(|path| path.rsplit_once("::")) {
        modules.entry(module).or_default().insert(name);
    }
    let declarations = modules.into_iter();
    declarations
        .map(|(module, names)| declaration(module, &names))
        .collect()
}

/// A declaration as rustfmt leaves it.
fn declaration(module: &str, names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return String::new();
    }
    let all: Vec<&str> = names.iter().copied().collect();
    let list = all.join(", ");
    if let [only] = &all[..] {
        return format!("use {module}::{only};\n");
    }
    let line = format!("use {module}::{{{list}}};\n");
    // rustfmt wants room for two more characters.
    if line.len() < WIDTH {
        return line;
    }
    let mut lines = vec![String::from("   ")];
    for (at, name) in all.iter().enumerate() {
        let most = WIDTH - usize::from(at + 1 < all.len());
        match lines.last_mut() {
            Some(line) if line.len() + name.len() + 2 <= most => line.extend([" ", name, ","]),
            _ => lines.push(format!("    {name},")),
        }
    }
    format!("use {module}::{{\n{}\n}};\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_on_one_line_if_rustfmt_leaves_them_there() {
        let lines = |last: usize| {
            let name = "A".repeat(last);
            let text = declaration("k8s_openapi", &BTreeSet::from([&*name, "B"]));
            (text.lines().count(), text.find('\n').unwrap_or_default())
        };
        let most = 98 - "use k8s_openapi::{, B};".len();
        assert_eq!((lines(most), lines(most + 1).0), ((1, 98), 3));
    }

    #[test]
    fn only_the_last_line_of_names_is_as_long_as_rustfmt_allows() {
        let lines = |third: usize, others: &[&str]| {
            let (first, second, third) = ("A".repeat(46), "B".repeat(30), "C".repeat(third));
            let mut names = BTreeSet::from([&*first, &*second, &*third]);
            names.extend(others);
            let text = declaration("k8s_openapi", &names);
            text.lines().nth(1).unwrap_or_default().len()
        };
        let last = "D".repeat(40);
        // Four spaces, and a comma after each name.
        assert_eq!((lines(14, &[&last]), lines(15, &[&last])), (99, 83));
        assert_eq!((lines(15, &[]), lines(16, &[])), (100, 83));
    }
}
