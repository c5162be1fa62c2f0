//! The releases of this checkout, read from its folders. For tests: a program embeds them.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::project::{self, KBR, Project};
use crate::release::Release;
use crate::scaffold::{LAYOUT, Scaffolds};

/// The release that this checkout is, without its library, which tests of the program cover.
pub fn current() -> Release {
    let mut files = Vec::new();
    let layout = root().join("scaffolds").join(LAYOUT);
    read(&layout, &layout, &mut files);
    Release {
        version: KBR.into(),
        scaffolds: Scaffolds::new(files),
        lock: lock().into(),
        library: Vec::new(),
    }
}

/// The lock of the reference project.
pub fn lock() -> String {
    text(&root().join("scaffolds/Cargo.lock"))
}

/// The earlier releases, each with its version.
pub fn earlier() -> Vec<(&'static str, Release)> {
    let folder = root().join("releases");
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut versions: Vec<&'static str> = names
        .filter_map(|name| {
            name.strip_suffix(".tar.gz")
                .map(|it| &*it.to_owned().leak())
        })
        .collect();
    versions.sort_unstable();
    let kept = |version: &'static str| (version, kept(version));
    versions.into_iter().map(kept).collect()
}

/// The projects of the golden tests, in the order of their names.
pub fn golden() -> Vec<Project> {
    let cases = fs::read_dir(root().join("tests/golden")).unwrap();
    let mut paths: Vec<_> = cases.map(|case| case.unwrap().path()).collect();
    paths.sort();
    let texts = paths
        .into_iter()
        .filter_map(|path| fs::read_to_string(path.join("out/PROJECT")).ok());
    let projects: Vec<_> = texts
        .filter_map(|text| project::parse(&text).ok())
        .collect();
    assert!(projects.len() > 20, "{}", projects.len());
    projects
}

fn kept(version: &str) -> Release {
    let path = format!("releases/{version}.tar.gz");
    Release::archived(version, &fs::read(root().join(path)).unwrap()).unwrap()
}

/// The folder of the checkout.
pub fn root() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).unwrap()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(layout: &Path, folder: &Path, files: &mut Vec<(String, Cow<'static, str>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(layout, &path, files);
        } else {
            let name = path.strip_prefix(layout).unwrap().to_str().unwrap();
            files.push((name.to_owned(), text(&path).into()));
        }
    }
}
