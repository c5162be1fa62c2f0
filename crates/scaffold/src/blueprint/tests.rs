mod names;

use super::*;
use crate::{checkout, project};

const PROJECT: &str =
    include_str!("../../../../tests/golden/a_project_that_has_seen_every_command/out/PROJECT");

fn lines(once: bool, text: &str) -> Part {
    Part::Lines {
        path: "a.rs".to_owned(),
        marker: "m".to_owned(),
        once,
        lines: text.to_owned(),
    }
}

fn whole(policy: Policy, text: &str) -> Part {
    Part::Whole {
        path: "a.rs".to_owned(),
        policy,
        text: text.to_owned(),
    }
}

/// A tree of one file, `a.rs`, to which tables 0, 1, … contribute.
fn tree(tables: Vec<Vec<Part>>) -> Blueprint {
    let mut tree = Blueprint::default();
    for (at, parts) in tables.into_iter().enumerate() {
        tree.add(Source::Table(at), parts).unwrap();
    }
    tree
}

/// The difference for `table` in `a.rs`: for the whole file, and the lines.
fn wanted(
    tree: &Blueprint,
    table: (usize, Presence),
    force: bool,
) -> Option<(Option<Differing>, String)> {
    let tables = [(Source::Table(table.0), table.1)];
    let wanted = difference(tree, &tables, force);
    assert!(wanted.len() <= 1);
    let only = wanted.into_iter().next()?;
    let lines = only.lines.iter().map(|lines| lines.text.as_str());
    Some((only.whole, lines.collect()))
}

const MARKER: &str = "// +kbr:scaffold:m\n";

#[test]
fn a_partial_tree_equals_the_same_part_of_the_whole_tree() {
    let project = project::parse(PROJECT).unwrap();
    let release = checkout::current();
    let whole = Blueprint::new(&project, &release).unwrap();
    for at in 0..project.tables.len() {
        let part = Blueprint::around(&[Source::Table(at)], &project, &release).unwrap();
        assert!(part.files().count() > 3);
        for (path, file) in part.files() {
            let expected = &whole.files[path];
            assert_eq!(
                file.text(path).unwrap(),
                expected.text(path).unwrap(),
                "{path}"
            );
            assert_eq!(file.policy, expected.policy, "{path}");
        }
    }
}

#[test]
fn a_file_holds_the_lines_of_all_tables_in_their_order() {
    let tree = tree(vec![
        vec![lines(false, "x\n")],
        vec![whole(Policy::Owned, MARKER), lines(false, "y\n")],
        vec![lines(false, "x\n")],
    ]);
    let text = tree.files["a.rs"].text("a.rs").unwrap();
    assert_eq!(text, "x\ny\n// +kbr:scaffold:m\n");
}

#[test]
fn a_table_gets_only_its_own_lines_and_files() {
    let tree = tree(vec![
        vec![whole(Policy::Owned, MARKER), lines(false, "x\n")],
        vec![lines(false, "y\n")],
        vec![],
    ]);
    assert_eq!(
        wanted(&tree, (1, Presence::New), false),
        Some((None, "y\n".to_owned()))
    );
    assert_eq!(wanted(&tree, (2, Presence::New), false), None);
}

#[test]
fn an_existing_file_is_a_conflict_only_for_the_first_command_that_writes_it() {
    let only = tree(vec![vec![whole(Policy::Owned, MARKER)]]);
    let of_two = tree(vec![
        vec![whole(Policy::Owned, MARKER)],
        vec![whole(Policy::Owned, MARKER)],
    ]);
    let once = tree(vec![vec![whole(Policy::Once, MARKER)]]);
    for (tree, table, force, expected) in [
        (&only, (0, Presence::New), false, Differing::Conflict),
        (&only, (0, Presence::Recorded), false, Differing::Keep),
        (&only, (0, Presence::New), true, Differing::Overwrite),
        (&of_two, (1, Presence::New), false, Differing::Keep),
        (&once, (0, Presence::New), false, Differing::Keep),
        (&once, (0, Presence::New), true, Differing::Keep),
    ] {
        assert_eq!(
            wanted(tree, table, force),
            Some((Some(expected), String::new()))
        );
    }
}

#[test]
fn a_choice_is_made_once() {
    let tree = tree(vec![vec![lines(true, "x\n")], vec![lines(true, "x\n")]]);
    let x = Some((None, "x\n".to_owned()));
    assert_eq!(wanted(&tree, (0, Presence::Recorded), false), None);
    assert_eq!(
        wanted(&tree, (1, Presence::New), false),
        None,
        "table 0 has made it"
    );
    let first = self::tree(vec![vec![lines(true, "x\n")]]);
    assert_eq!(wanted(&first, (0, Presence::New), false), x);
}

#[test]
fn two_tables_that_write_different_contents_are_an_error() {
    let mut tree = Blueprint::default();
    tree.add(Source::Head, vec![whole(Policy::Owned, "a")])
        .unwrap();
    let error = tree.add(Source::Table(0), vec![whole(Policy::Owned, "b")]);
    assert!(format!("{:#}", error.unwrap_err()).contains("`a.rs`"));
}

#[test]
fn a_file_whose_lines_only_change_their_order_differs_without_a_table() {
    let base = vec![whole(Policy::Owned, MARKER)];
    let both = vec![lines(false, "x\ny\n")];
    let before = tree(vec![base.clone(), vec![lines(false, "y\n")], both.clone()]);
    let after = tree(vec![base, both]);
    let found = removal(&before, &after).unwrap();
    let text = |file: &File| file.text("a.rs").unwrap();
    assert_eq!(text(found[0].before), format!("y\nx\n{MARKER}"));
    assert_eq!(found[0].after.map(text), Some(format!("x\ny\n{MARKER}")));
    assert_eq!(found[0].lines, []);
    assert!(removal(&before, &before).unwrap().is_empty());
}

/// `[names]` without a word of the project's name.
const NAMES: &str = "\n[names]\nprefix = \"sea\"\nnamespace = \"deep\"\ndeployment = \"kraken\"\nservice_account = \"squid\"\nlease = \"3f.tide.net\"\n\n[[api]]";

#[test]
fn no_derived_name_is_left_beside_those_of_the_table() {
    let project = project::parse(&PROJECT.replacen("\n[[api]]", NAMES, 1)).unwrap();
    let (name, id) = (&project.head.name, project.manager_id());
    assert_eq!(project.head.names().service_account, "squid");
    let blueprint = Blueprint::new(&project, &checkout::current()).unwrap();
    // The package, its programs, the field manager of `make` and the builder of images.
    let kept = ["api", "crdgen", "make", "builder"].map(|end| format!("{name}-{end}"));
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '-';
    let mut leases = 0;
    for (path, file) in blueprint.files() {
        if path == "PROJECT" || path.starts_with("third_party/") {
            continue;
        }
        let text = file.text(path).unwrap();
        for word in text.split(|it| !is_word(it)) {
            let is_derived = word.starts_with(&format!("{name}-"));
            assert!(
                !is_derived || kept.iter().any(|it| it == word),
                "{path}: {word}"
            );
        }
        if path.starts_with("config/") {
            assert!(!text.contains(&id), "{path}");
        }
        leases += text.matches("\"3f.tide.net\"").count();
    }
    assert_eq!(leases, 2, "in the code and in its role");
}
