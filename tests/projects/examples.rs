//! The operators in `examples/`: created again by the commands of their scripts, and tested in a cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    place::{Place, place},
    project::{Project, before_a_release},
    support::{repository, tree, write},
};

/// Those whose tests run on every change. The others are created and compared then, and tested before a release.
pub(super) const TESTED: [&str; 2] = ["home", "ippool"];

pub(super) const OTHERS: [&str; 5] = ["at", "cronjob", "ecsbinding", "foo", "guestbook"];

/// Creates an example's project in a new folder, and compares it with the example. `UPDATE=1` writes the differences to the example.
pub(super) fn created(place: &Place, example: &'static str) -> Project {
    let examples = repository().join("examples");
    let project = place.project(example);
    let paths = [&examples.join("create"), &project.0];
    let [create, folder] = paths.map(|path| path.to_str().expect("UTF-8"));
    project.run(create, &[example, folder]);
    let kept = examples.join(example);
    let (before, after) = (files(&kept), files(&project.0));
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let different = paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path));
    if std::env::var_os("UPDATE").is_none() {
        assert_eq!(
            different.collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "examples/{example} is not what its commands create\n\
             help: list these files in examples/{example}.sh if you wrote them; otherwise UPDATE=1",
        );
        return project;
    }
    for path in different {
        match after.get(path) {
            Some(text) => write(&kept.join(path), text),
            None => fs::remove_file(kept.join(path)).expect("a removable file"),
        }
    }
    project
}

/// The files of a project, without what cargo built, and without the library, which the examples share.
fn files(project: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = tree(project);
    files.retain(|path, _| {
        !["third_party", "target"].contains(&path.split('/').next().unwrap_or_default())
    });
    files
}

/// As a user does: lint, unit tests, and integration tests in a cluster.
fn tested(place: &Place, example: &'static str) {
    let project = created(place, example);
    project.lint();
    project.run("make", &["test-cluster"]);
}

#[test]
fn the_list_of_examples_is_complete() {
    let found = tree(&repository().join("examples"));
    let scripts = found.keys().filter_map(|path| path.strip_suffix(".sh"));
    let scripts: BTreeSet<_> = scripts.filter(|path| !path.contains('/')).collect();
    assert_eq!(scripts, TESTED.into_iter().chain(OTHERS).collect());
}

#[test]
fn home_converts_between_its_versions() {
    let place = place();
    tested(&place, "home");
}

#[test]
fn ippool_hands_out_no_address_twice() {
    let place = place();
    tested(&place, "ippool");
}

#[test]
fn the_other_examples_are_what_their_commands_create() {
    let place = place();
    for example in OTHERS {
        if before_a_release() {
            tested(&place, example);
        } else {
            created(&place, example);
        }
    }
}
