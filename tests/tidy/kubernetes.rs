//! The versions of Kubernetes stand in one place each: the control planes' in their go.mod, the types' in `TYPES`. Every other file that
//! names one is in `releases/kubernetes-versions`, which `make bump-kubernetes` reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use kbr_envtest::modules;
use kbr_scaffold::resource::kubernetes::TYPES;

const LIST: &str = "releases/kubernetes-versions";

/// Written by `make update` and by tools, and the archives of releases, which never change.
const WRITTEN: [&str; 2] = ["tests/golden/", "tests/releases/"];
const WRITTEN_NAMES: [&str; 3] = ["go.mod", "go.sum", "Cargo.lock"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the list: a word, a path, the reason.
fn rows(list: &str) -> Vec<(&str, &str, &str)> {
    let rows = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let words = rows.map(|row| {
        let mut words = row.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        (word(), word(), word())
    });
    words.collect()
}

/// The files of the repository that people write, without links to others.
fn files() -> Vec<String> {
    let mut git = Command::new("git");
    let output = git.arg("ls-files").current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let paths = String::from_utf8(output.stdout).unwrap();
    let paths = paths.lines().map(str::to_owned);
    let written = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        WRITTEN.iter().any(|folder| path.starts_with(folder)) || WRITTEN_NAMES.contains(&name)
    };
    let links = |path: &str| root().join(path).is_symlink();
    paths
        .filter(|path| !written(path) && !links(path))
        .collect()
}

/// Whether a text names `minor`, such as `1.2`, in one of the forms `1.2`, `1.2.3` and `v1_2`.
fn names(text: &str, minor: &str) -> bool {
    let forms = [minor.to_owned(), minor.replace('.', "_")];
    forms.iter().any(|form| {
        text.match_indices(form.as_str()).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + form.len()..].chars().next();
            !before.is_some_and(|it| it.is_ascii_digit() || it == '.')
                && !after.is_some_and(|it| it.is_ascii_digit())
        })
    })
}

fn minor(version: &str) -> &str {
    version.rsplit_once('.').unwrap().0
}

#[test]
fn every_file_that_names_a_version_of_kubernetes_is_listed_with_what_happens_to_it() {
    let list = read(LIST);
    let rows = rows(&list);
    let minors: Vec<_> = modules::versions().map(minor).chain([TYPES]).collect();
    let listed = |path: &str| {
        rows.iter()
            .any(|(_, row, _)| *row == path || row.ends_with('/') && path.starts_with(row))
    };
    let named = files().into_iter().filter(|path| {
        let text = fs::read_to_string(root().join(path)).unwrap_or_default();
        minors.iter().any(|minor| names(&text, minor))
    });
    let missing: Vec<_> = named.filter(|path| path != LIST && !listed(path)).collect();
    assert!(
        missing.is_empty(),
        "these files name a version of Kubernetes: take it from `modules` or `TYPES`, or add them to {LIST}: {missing:#?}"
    );
}

#[test]
fn each_row_of_the_list_has_a_known_word_and_a_path_and_facts_have_a_reason() {
    let list = read(LIST);
    let rows = rows(&list);
    assert!(rows.len() > 50, "{rows:?}");
    for (word, path, reason) in rows {
        assert!(root().join(path).exists(), "{LIST}: no `{path}`");
        match word {
            "moves" | "types" => assert_eq!(reason, "", "{path}"),
            "read" | "stays" => assert_ne!(reason, "", "{path}"),
            word => panic!("{LIST}: `{word} {path}`"),
        }
    }
}

#[test]
fn the_files_that_move_name_the_versions_of_now() {
    let list = read(LIST);
    for (word, path, _) in rows(&list) {
        let text = || read(path);
        match word {
            "moves" => {
                assert!(
                    modules::versions().any(|it| names(&text(), minor(it))),
                    "{path}"
                );
                assert_patches(path, &text());
            }
            "types" => assert!(names(&text(), TYPES), "{path} does not name {TYPES}"),
            _ => {}
        }
    }
}

/// Every `1.2.3` of the minor versions that kbr builds is one that it builds.
fn assert_patches(path: &str, text: &str) {
    for version in modules::versions() {
        let prefix = format!("{}.", minor(version));
        for (at, _) in text.match_indices(&prefix) {
            let found: String = text[at..]
                .chars()
                .take_while(|it| it.is_ascii_digit() || *it == '.')
                .collect();
            let found = found.trim_end_matches('.');
            assert!(
                found == version || found == minor(version),
                "{path} names {found}, but kbr builds {version}"
            );
        }
    }
}

/// The versions in a go.mod, by path; that of a replacement counts.
fn selected(go_mod: &str) -> BTreeMap<String, String> {
    let text = read(go_mod);
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches("require "))
        .filter(|line| !line.starts_with("exclude "));
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let versions = words.filter_map(|words| match words[..] {
        [path, "=>", _, version] | [path, version, ..] if version.starts_with('v') => {
            Some((path.to_owned(), version.to_owned()))
        }
        _ => None,
    });
    versions.collect()
}

/// Otherwise Go compiles the clients of Kubernetes, and all below them, once more for each of these programs.
#[test]
fn programs_beside_the_newest_control_plane_are_built_from_its_versions() {
    let control_plane = selected("crates/envtest/src/control-plane/go.mod");
    for module in [
        "crates/envtest/src/kwok",
        "tests/bundle/validate",
        "tests/chart/helm",
    ] {
        let versions = selected(&format!("{module}/go.mod"));
        assert!(versions.contains_key("k8s.io/client-go"), "{versions:?}");
        let other = versions.iter().find(|(path, version)| {
            let wanted = control_plane.get(*path);
            wanted.is_some_and(|wanted| wanted != *version)
        });
        assert_eq!(other, None, "{module}; help: run `releases/align`");
    }
}
