use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::blueprint::Blueprint;
use crate::checkout;
use crate::edited::sha256;
use crate::project::{self, KBR, Project};

/// The checksums that `sha256sum` wrote, by path.
fn recorded(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    lines
        .map(|(hash, path)| (path.to_owned(), hash.to_owned()))
        .collect()
}

fn rendered(release: &Release, project: &Project) -> BTreeMap<String, String> {
    let blueprint = Blueprint::new(project, release).unwrap();
    let files = blueprint.files().map(|(path, file)| {
        let text = file.text(path).unwrap();
        (path.to_owned(), sha256(text.as_bytes()))
    });
    files.collect()
}

#[test]
fn every_archived_release_reproduces_its_golden_projects() {
    for (version, release) in checkout::earlier() {
        let folder = checkout::root().join("tests/releases").join(version);
        let cases: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|case| case.unwrap().path())
            .collect();
        assert!(cases.len() > 20, "{} projects of {version}", cases.len());
        for case in cases {
            let read = |name: &str| fs::read_to_string(case.join(name)).unwrap();
            let (found, expected) = (
                rendered(&release, &project::parse(&read("PROJECT")).unwrap()),
                recorded(&read("files.sha256")),
            );
            let differing: Vec<_> = expected
                .iter()
                .filter(|(path, hash)| found.get(*path) != Some(hash))
                .map(|(path, _)| path)
                .collect();
            assert!(differing.is_empty(), "{}: {differing:?}", case.display());
            assert!(
                found.keys().eq(expected.keys()),
                "{}: other files",
                case.display()
            );
        }
    }
}

#[test]
fn an_archive_of_this_release_renders_the_same_projects() {
    let current = checkout::current();
    let archived = Release::from_archive(KBR, current.archive()).unwrap();
    for project in checkout::golden() {
        assert!(rendered(&archived, &project) == rendered(&current, &project));
    }
}
