//! `CustomResourceDefinitions` become Rust whose own definition is equal to them, one feature a fixture. `UPDATE=1` writes the
//! Rust next to the fixtures, which this test compiles.

#![allow(
    missing_docs,
    dead_code,
    clippy::duplicated_attributes,
    reason = "generated types"
)]

#[path = "../../../../tests/crds/choice.rs"]
mod choice;
mod compare;
mod known_types;
mod objects;
mod shared_types;

use std::path::{Path, PathBuf};
use std::{env, fs};

use compare::{data, difference, merged};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kbr_scaffold::imported;
use kube::CustomResourceExt;
use serde_json::{Value, json};

/// Declares the generated files of each fixture, and lists their definitions.
macro_rules! fixtures {
    ($($fixture:ident: $($file:ident)+ => $kind:ident;)*) => {
        $($(mod $file;)+)*

        /// The fixtures, and the definitions of their types, one for each version.
        fn fixtures() -> Vec<(&'static str, Vec<CustomResourceDefinition>)> {
            vec![$((stringify!($fixture), vec![$($file::$kind::crd()),+])),*]
        }

        #[test]
        fn random_objects_of_each_fixture_come_back_the_same() {
            let mut failed = Vec::new();
            $($(
                if let Err(error) = objects::check::<$file::$kind>() {
                    failed.push(format!("{}: {error}", stringify!($file)));
                }
            )+)*
            assert!(failed.is_empty(), "{}", failed.join("\n"));
        }
    };
}

fixtures! {
    any_status: any_status_v1 => Wave;
    beside: beside_v1 => Log;
    bounds: bounds_v1 => Mast;
    columns: columns_v1 => Harbor;
    defaults: defaults_v1 => Sail;
    embedded: embedded_v1 => Crate;
    enums: enums_v1 => Signal;
    formats: formats_v1 => Anchor;
    known: known_v1 => Berth;
    large: large_v1 => Net;
    lists: lists_v1 => Port;
    maps: maps_v1 => Deck;
    names: names_v1 => Mate;
    nullables: nullables_v1 => Rope;
    opaque: opaque_v1 => Buoy;
    open: open_v1 => Chart;
    quantities: quantities_v1 => Hold;
    root: root_v1 => Storm;
    rules: rules_v1 => Watch;
    scalars: scalars_v1 => Ship;
    shared: shared_v1 => Fleet;
    sharing_galley: sharing_galley_v1 => Galley;
    sharing_skiff: sharing_skiff_v1 => Skiff;
    status_field: status_field_v1 => Wind;
    texts: texts_v1 => Poem;
    unions: unions_v1 => Route;
    versions: versions_v1alpha1 versions_v1beta1 versions_v1beta2 versions_v1 => Tide;
    wide: wide_v1 => Schema;
    without_spec: without_spec_v1 => Note;
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/imported")
        .join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_types_of_each_fixture_are_the_recorded_ones() {
    let mut differing = Vec::new();
    let mut check = |file: &str, rust: &str| {
        if env::var_os("UPDATE").is_some() {
            fs::write(path(file), rust).unwrap();
        } else if text(file) != rust {
            differing.push(file.to_owned());
        }
    };
    let read = |name: &str| imported::read(&text(&format!("{name}.yaml")), None).unwrap();
    let sharing = ["sharing_galley", "sharing_skiff"].map(read);
    let (shared, files) = imported::shared(&sharing.each_ref()).unwrap();
    check("shared_types.rs", &files[0].text);
    for (name, _) in fixtures() {
        let definition = read(name);
        let types = if name.starts_with("sharing_") {
            definition.types_beside(&shared)
        } else {
            definition.types()
        };
        for types in types {
            check(&format!("{name}_{}.rs", types.version), &types.text);
        }
    }
    assert!(
        differing.is_empty(),
        "run this test with UPDATE=1: {differing:?}"
    );
}

#[test]
fn the_definition_of_the_types_is_that_of_the_fixture() {
    for (name, parts) in fixtures() {
        let original: Value = serde_saphyr::from_str(&text(&format!("{name}.yaml"))).unwrap();
        let parts: Vec<Value> = parts
            .iter()
            .map(|part| serde_json::to_value(part).unwrap())
            .collect();
        let (ours, theirs) = (data(&merged(parts)), data(&original));
        let difference = difference("", &theirs, &ours);
        assert_eq!(difference, None, "{name}");
    }
}

#[test]
fn an_object_without_spec_is_read_unless_the_schema_requires_one() {
    let object =
        |kind: &str| json!({ "apiVersion": "crew.example.com/v1", "kind": kind, "metadata": {} });
    let storm: root_v1::Storm = serde_json::from_value(object("Storm")).unwrap();
    assert_eq!(storm, root_v1::Storm::default());
    assert!(serde_json::from_value::<rules_v1::Watch>(object("Watch")).is_err());
}

/// The API server accepts such an object, and adds the defaults.
#[test]
fn an_object_without_a_required_field_is_read_with_its_default() {
    let sail = json!({ "apiVersion": "crew.example.com/v1", "kind": "Sail", "metadata": {}, "spec": { "needed": {} } });
    let sail: defaults_v1::Sail = serde_json::from_value(sail).unwrap();
    let needed = &serde_json::to_value(sail).unwrap()["spec"]["needed"];
    let expected =
        json!({ "area": 40, "color": "white", "mode": "Full", "ratio": 1.0, "up": true });
    assert_eq!(*needed, expected);
}
