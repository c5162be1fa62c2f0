//! The manifest that is shipped and the one that is tested must not part.

use std::path::Path;

use toml::{Table, Value};

fn manifest(path: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).unwrap();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// With what it inherits from `workspace` in its place.
fn resolved(mut manifest: Table, workspace: &Table) -> Table {
    let inherits = |value: &Value| value.get("workspace").and_then(Value::as_bool) == Some(true);
    if manifest.get("lints").is_some_and(inherits) {
        manifest.insert("lints".to_owned(), workspace["lints"].clone());
    }
    let package = manifest["package"].as_table_mut().unwrap();
    for (key, value) in package.iter_mut().filter(|(_, value)| inherits(value)) {
        *value = workspace["package"][key].clone();
    }
    manifest
}

#[test]
fn the_shipped_manifest_is_the_one_that_is_tested() {
    let workspace = manifest("../../Cargo.toml");
    let workspace = workspace["workspace"].as_table().unwrap();
    let mut ours = resolved(manifest("Cargo.toml"), workspace);
    let mut shipped = manifest("../../scaffolds/v1/init/manager/Cargo.toml.tera");

    // What only the tests need, and where the sources lie.
    for part in ["dev-dependencies", "example", "lib", "test"] {
        ours.remove(part).unwrap();
    }
    let switches =
        Table::from_iter(["test", "doctest", "bench"].map(|key| (key.to_owned(), false.into())));
    assert_eq!(shipped.remove("lib"), Some(switches.into()));
    // What people read who look into their project.
    let package = shipped["package"].as_table_mut().unwrap();
    package.remove("description").unwrap();
    assert_eq!(ours, shipped);
}

#[test]
fn the_shipped_manifest_is_no_template() {
    let text = include_str!("../../../scaffolds/v1/init/manager/Cargo.toml.tera");
    assert!(!text.contains("{{") && !text.contains("{%"));
}
