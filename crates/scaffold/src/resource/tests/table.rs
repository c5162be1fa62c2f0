//! The table of Kubernetes' built-in kinds, which is made from the sources of k8s-openapi: `make update` writes it.

#![allow(clippy::disallowed_types, reason = "a test asks cargo")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::resource::kubernetes;

#[test]
fn the_table_of_built_in_kinds_equals_k8s_openapi() {
    let (version, sources) = k8s_openapi();
    let folder = format!("v{}", kubernetes::TYPES.replace('.', "_"));
    let mut kinds = Vec::new();
    collect(&sources.join(&folder), "k8s_openapi", &mut kinds);
    kinds.sort();
    assert!(kinds.len() > 80, "{kinds:?}");
    let table = format!(
        "# The kinds of Kubernetes that can be watched, one a line: group (`-` is the core group), version, kind, plural, scope, type.\n\
         # Made by `make update` from the sources of k8s-openapi {version}, folder src/{folder}: every type with `impl crate::Resource` (its\n\
         # GROUP, VERSION, KIND, URL_PATH_SEGMENT and Scope) that has `impl crate::ListableResource` too, sorted.\n\
         {}\n",
        kinds.join("\n")
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/resource/kubernetes.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(found == table, "{} is stale: `make update`", path.display());
}

/// Adds the lines of the kinds in a folder, whose module is `module`.
fn collect(folder: &Path, module: &str, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_str().unwrap();
            collect(&path, &format!("{module}::{name}"), lines);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        lines.extend(line(&text, module));
    }
}

/// The line of the kind that a file defines, if any.
fn line(text: &str, module: &str) -> Option<String> {
    let (_, resource) = text.split_once("\nimpl crate::Resource for ")?;
    let (kind, body) = resource.split_once(" {")?;
    if !text.contains(&format!("\nimpl crate::ListableResource for {kind} ")) {
        return None;
    }
    let constant = |name: &str| {
        let (_, value) = body.split_once(&format!(" {name}: &'static str = \""))?;
        value.split('"').next()
    };
    let group = constant("GROUP").map(|group| if group.is_empty() { "-" } else { group })?;
    let (_, scope) = body.split_once("type Scope = crate::")?;
    let scope = match scope.split("ResourceScope").next()? {
        "Namespace" => "namespaced",
        "Cluster" => "cluster",
        _ => return None,
    };
    Some(format!(
        "{group} {} {} {} {scope} {module}::{kind}",
        constant("VERSION")?,
        constant("KIND")?,
        constant("URL_PATH_SEGMENT")?
    ))
}

/// The version and the sources of k8s-openapi: the workspace depends on them, so cargo can fetch them.
fn k8s_openapi() -> (String, PathBuf) {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{stderr}\nhelp: `cargo fetch --locked`"
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "k8s-openapi")
        .unwrap();
    let manifest = package["manifest_path"].as_str().unwrap();
    let version = package["version"].as_str().unwrap().to_owned();
    (version, Path::new(manifest).with_file_name("src"))
}
