//! Invariants of every file in `scaffolds/`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;
use crate::checkout;
use crate::edit;
use tera::Tera;

use crate::resource::Resource;
use crate::vars::Vars;

/// The maximum length of a rendered line: rustfmt would break a longer one, and the next run would not find it.
const WIDTH: usize = 100;

/// Every file as (set, path in it, text).
fn everything() -> Vec<(&'static str, &'static str, &'static str)> {
    // Read once for the whole test, and borrowed by all of it.
    let scaffolds: &'static Scaffolds = Box::leak(Box::new(checkout::current().scaffolds));
    let of_set = |(path, text): (&'static String, &'static Cow<'static, str>)| {
        let (set, path) = path
            .split_once('/')
            .unwrap_or_else(|| panic!("`{path}` belongs to no set"));
        (set, path, &**text)
    };
    scaffolds.files.iter().map(of_set).collect()
}

fn is_template(path: &str) -> bool {
    form(path).0 != Form::Copied
}

/// Common names, and names of the maximum supported length (24 characters), each with every switch on and off.
fn samples() -> Vec<Value> {
    let long = |name: &str| format!("{name:x<24}");
    let short = ["crew", "v1", "captain", "Captain"].map(String::from);
    let long = [long("g"), "v1".into(), long("c"), long("C")];
    let long_version = [
        "crew".into(),
        format!("v1alpha{}", "1".repeat(17)),
        "captain".into(),
        "Captain".into(),
    ];
    let names = [short, long, long_version];
    names
        .iter()
        .flat_map(|names| [sample(names, true), sample(names, false)])
        .collect()
}

/// Variables for one kind. Variables that are not set here are `sample`; `on` turns every switch on and fills every text and list.
fn sample([group, version, lower, kind]: &[String; 4], on: bool) -> Value {
    let Value::Object(mut vars) = serde_json::to_value(Vars::default()).unwrap() else {
        panic!("Vars is a struct")
    };
    let marker = |path| {
        let marker = format!("// +kbr:webhook:path={path}");
        if on { marker } else { String::new() }
    };
    let known = [
        ("project", "captains".to_owned()),
        ("domain", "example.com".to_owned()),
        ("namespace", "captains-system".to_owned()),
        ("manager_id", "captains.example.com".to_owned()),
        ("group", group.clone()),
        ("group_module", group.clone()),
        ("full_group", format!("{group}.example.com")),
        ("version", version.clone()),
        ("kind", kind.clone()),
        ("kind_lower", lower.clone()),
        ("kind_module", lower.clone()),
        ("plural", format!("{lower}s")),
        ("singular", lower.clone()),
        ("controller", lower.clone()),
        ("controller_module", lower.clone()),
        ("type_path", format!("api::{group}::{version}::{kind}")),
        ("type_use", format!("use api::{group}::{version}::{kind};")),
        ("type_name", kind.clone()),
        ("spoke_type", kind.clone()),
        ("finalizer", format!("{group}.example.com/{lower}")),
        ("mutating_marker", marker("/mutate")),
        ("validating_marker", marker("/validate")),
        ("webhook_module", format!("{group}_{version}_{lower}")),
        ("hub_version", version.replacen('v', "v9", 1)),
        (
            "spoke_alias",
            format!("{kind}{}", version.replacen('v', "V", 1)),
        ),
    ];
    for (name, value) in &mut vars {
        match value {
            // The table `[[api]]`, which external kinds do not have.
            Value::Null => *value = table(on),
            Value::Bool(switch) => *switch = on,
            Value::Array(list) if on => list.push("sample".into()),
            Value::String(text) => {
                let set = known
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| value.clone());
                *text = set.unwrap_or_else(|| {
                    if on {
                        "sample".to_owned()
                    } else {
                        String::new()
                    }
                });
            }
            _ => {}
        }
    }
    Value::Object(vars)
}

/// A table `[[api]]`; with `on`, no list of it is empty.
fn table(on: bool) -> Value {
    let mut table = serde_json::to_value(Resource::default()).unwrap();
    for value in table.as_object_mut().unwrap().values_mut() {
        match value {
            Value::Array(list) if on => list.push("sample".into()),
            Value::Bool(switch) => *switch = on,
            _ => {}
        }
    }
    table
}

/// Every part of every set with `vars`, by set.
fn planned(vars: &Value) -> Vec<(&'static str, Part)> {
    let scaffolds = crate::checkout::current().scaffolds;
    let sets = scaffolds.sets();
    let mut names: Vec<&str> = everything().into_iter().map(|(set, _, _)| set).collect();
    names.dedup();
    let render = |set: &'static str| match sets.render(set, vars, Paths::All) {
        Ok(parts) => parts.into_iter().map(move |part| (set, part)),
        Err(error) => panic!("{error:#}"),
    };
    names.into_iter().flat_map(render).collect()
}

/// Markers of each file that some set writes, with the indentation of each: path -> marker -> columns.
fn markers(ops: &[(&str, Part)]) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut markers: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (set, op) in ops {
        let Part::Whole { path, text, .. } = op else {
            continue;
        };
        let file = markers.entry(path.clone()).or_default();
        let mut here = BTreeSet::new();
        for line in text.lines() {
            let Some(name) = edit::marker_name(line) else {
                continue;
            };
            assert!(
                here.insert(name),
                "`{set}/{path}` has the marker `{name}` twice"
            );
            file.insert(name.to_owned(), line.len() - line.trim_start().len());
        }
    }
    markers
}

#[test]
fn every_file_has_a_known_suffix() {
    for (set, path, _) in everything() {
        let (form, output) = form(path);
        let rest = output.rsplit('/').next().unwrap();
        let strange = [".tera", ".once", ".generated", ".insert"]
            .iter()
            .any(|suffix| rest.ends_with(suffix) || rest.contains(&format!("{suffix}.")));
        assert!(
            !strange && !rest.is_empty(),
            "`{set}/{path}` has one of our suffixes in the wrong place"
        );
        let manifest = form == Form::Copied && rest == "Cargo.toml";
        assert!(
            !manifest,
            "`{set}/{path}`: cargo leaves its folder out of the published crate; add `.tera`"
        );
    }
}

#[test]
fn every_template_renders() {
    for vars in samples() {
        planned(&vars);
    }
}

#[test]
fn templates_mention_only_variables_that_exist() {
    let Value::Object(known) = serde_json::to_value(Vars::default()).unwrap() else {
        panic!("Vars is a struct")
    };
    for (set, path, text) in everything()
        .into_iter()
        .filter(|(_, path, _)| is_template(path))
    {
        let mut tera = Tera::new();
        tera.add_raw_template("it", &format!("{text}{path}"))
            .unwrap_or_else(|error| panic!("{set}/{path}: {error}"));
        for name in tera.get_template_variables("it").unwrap() {
            assert!(
                known.contains_key(name),
                "`{set}/{path}` mentions `{name}`, which `Vars` does not have"
            );
        }
    }
}

#[test]
fn every_path_is_legal_on_every_system() {
    let devices = ["con", "prn", "aux", "nul", "com1", "lpt1"];
    for (set, op) in samples().iter().flat_map(planned) {
        let (Part::Whole { path, .. } | Part::Lines { path, .. }) = op;
        for part in path.split('/') {
            let stem = part.split('.').next().unwrap_or_default().to_lowercase();
            let odd = part.contains(|c: char| c.is_control() || r#"\:*?"<>|{}"#.contains(c));
            let bad = odd
                || part.is_empty()
                || part.ends_with(['.', ' '])
                || devices.contains(&stem.as_str());
            assert!(
                !bad,
                "set `{set}` writes `{path}`, and `{part}` is not a legal name on every system"
            );
        }
        assert_ne!(
            path, "PROJECT",
            "set `{set}` writes it; that is for the tables"
        );
    }
}

#[test]
fn every_marker_that_is_inserted_at_is_in_its_target() {
    for vars in samples() {
        let ops = planned(&vars);
        let markers = markers(&ops);
        for (set, op) in &ops {
            let Part::Lines { path, marker, .. } = op else {
                continue;
            };
            let known = markers
                .get(path)
                .is_some_and(|file| file.contains_key(marker));
            assert!(
                known,
                "set `{set}` inserts at `{marker}` in `{path}`, but no set writes that marker there"
            );
        }
    }
}

#[test]
fn every_marker_is_used() {
    let ops: Vec<(&str, Part)> = samples().iter().flat_map(planned).collect();
    let used: BTreeSet<(&str, &str)> = ops
        .iter()
        .filter_map(|(_, op)| match op {
            Part::Lines { path, marker, .. } => Some((path.as_str(), marker.as_str())),
            Part::Whole { .. } => None,
        })
        .collect();
    for (path, names) in markers(&ops) {
        for name in names.into_keys() {
            assert!(
                used.contains(&(path.as_str(), name.as_str())),
                "no set inserts at `{name}` of `{path}`"
            );
        }
    }
}

#[test]
fn inserted_lines_survive_rustfmt_and_are_found_again() {
    for vars in samples() {
        let ops = planned(&vars);
        let markers = markers(&ops);
        for (set, op) in &ops {
            let Part::Lines {
                path,
                marker,
                lines,
                ..
            } = op
            else {
                continue;
            };
            let indent = markers
                .get(path)
                .and_then(|file| file.get(marker))
                .copied()
                .unwrap_or_default();
            let mut seen = BTreeSet::new();
            for snippet in edit::snippets(lines) {
                let rust = path.rsplit_once('.').is_some_and(|(_, end)| end == "rs");
                for line in &snippet.lines {
                    // rustfmt does not break these lines.
                    let kept = line.starts_with("use ") || line.starts_with("// +kbr:");
                    let fits = kept || indent + line.chars().count() <= WIDTH;
                    assert!(
                        fits || !rust,
                        "set `{set}`, `{path}`: over {WIDTH} columns: {line}"
                    );
                }
                let key = snippet.key();
                assert!(
                    seen.insert(key.trim()),
                    "set `{set}`, `{path}`: duplicate line, which would be left out: {key}"
                );
                assert!(
                    !key.trim().starts_with("#["),
                    "set `{set}`, `{path}`: an attribute may occur several times: {key}"
                );
            }
        }
    }
}
