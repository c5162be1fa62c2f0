mod random;

use super::*;
use crate::checkout;
use crate::predecessor::{self, SPAN};

fn pristine(policy: Policy, text: &str) -> Pristine {
    Pristine {
        policy,
        text: text.to_owned(),
    }
}

/// The plan for one file, in its three versions; "-" is a missing one.
fn of(path: &str, policy: Policy, [ancestor, ours, new]: [&str; 3]) -> Plan {
    let tree = |text: &str| match text {
        "-" => Tree::new(),
        text => Tree::from([(path.to_owned(), pristine(policy, text))]),
    };
    let disk = match ours {
        "-" => Disk::new(),
        text => Disk::from([(path.to_owned(), text.as_bytes().to_vec())]),
    };
    upgraded(&tree(ancestor), &tree(new), &disk)
}

/// The plan of the upgrade from the predecessor to this release.
fn upgraded(ancestor: &Tree, new: &Tree, disk: &Disk) -> Plan {
    plan(ancestor, new, disk, SPAN, &predecessor::CHANGES)
}

/// Checks the verb and the text afterwards; `None` for a file that is not among the changes.
fn check(path: &str, versions: [&str; 3], expected: Option<(Verb, &str)>) {
    let plan = of(path, Policy::Owned, versions);
    let found = plan.changes.first().map(|change| {
        let text = String::from_utf8_lossy(&change.after).into_owned();
        (change.verb, text)
    });
    let expected = expected.map(|(verb, text)| (verb, text.to_owned()));
    assert_eq!(found, expected, "{versions:?}");
}

#[test]
fn a_file_that_is_as_kbr_wrote_it_becomes_the_new_one() {
    check(
        "Makefile",
        ["a\n", "a\n", "b\n"],
        Some((Verb::Update, "b\n")),
    );
    check("Makefile", ["-", "-", "b\n"], Some((Verb::Create, "b\n")));
    check("Makefile", ["a\n", "a\n", "-"], Some((Verb::Remove, "")));
}

#[test]
fn a_file_that_the_release_does_not_change_stays() {
    check("Makefile", ["a\n", "mine\n", "a\n"], None);
    check("Makefile", ["a\n", "b\n", "b\n"], None);
    check("Makefile", ["-", "b\n", "b\n"], None);
}

#[test]
fn a_file_that_the_user_deleted_stays_deleted() {
    let plan = of("Makefile", Policy::Owned, ["a\n", "-", "b\n"]);
    assert!(plan.changes.is_empty());
    assert_eq!(plan.deleted, ["Makefile"]);
}

#[test]
fn an_edited_file_that_the_release_drops_stays() {
    let plan = of("Makefile", Policy::Owned, ["a\n", "mine\n", "-"]);
    assert!(plan.changes.is_empty());
    assert_eq!(plan.dropped, ["Makefile"]);
}

#[test]
fn a_file_that_both_added_is_a_conflict_with_both_texts() {
    let Span { from, to } = SPAN;
    let expected =
        format!("<<<<<<< yours\nmine\n||||||| kbr {from}\n=======\nb\n>>>>>>> kbr {to}\n");
    check(
        "AGENTS.md",
        ["-", "mine\n", "b\n"],
        Some((Verb::Conflict, &expected)),
    );
    let plan = of("AGENTS.md", Policy::Owned, ["-", "mine\n", "b\n"]);
    assert_eq!(
        plan.conflicts,
        [Conflict {
            path: "AGENTS.md".to_owned(),
            ancestor: None,
            ours: b"mine\n".to_vec(),
            new: b"b\n".to_vec(),
        }]
    );
    // A file that is written once belongs to the user.
    let plan = of("AGENTS.md", Policy::Once, ["-", "mine\n", "b\n"]);
    assert_eq!(plan.changes[0].verb, Verb::Keep);
}

#[test]
fn lines_of_both_sides_are_merged() {
    check(
        "Makefile",
        ["a\nb\nc\n", "mine\nb\nc\n", "a\nb\nd\n"],
        Some((Verb::Merge, "mine\nb\nd\n")),
    );
}

#[test]
fn windows_line_endings_stay() {
    check(
        "Makefile",
        ["a\n", "a\r\n", "b\n"],
        Some((Verb::Update, "b\r\n")),
    );
    check(
        "Makefile",
        ["a\nb\nc\n", "mine\r\nb\r\nc\r\n", "a\nb\nd\n"],
        Some((Verb::Merge, "mine\r\nb\r\nd\r\n")),
    );
}

#[test]
fn a_file_that_is_not_text_is_kept() {
    let path = "Makefile".to_owned();
    let tree = |text| Tree::from([(path.clone(), pristine(Policy::Owned, text))]);
    let disk = Disk::from([(path.clone(), vec![0xff])]);
    let plan = upgraded(&tree("a\n"), &tree("b\n"), &disk);
    assert!(plan.changes.is_empty());
    assert_eq!(plan.not_text, ["Makefile"]);
}

#[test]
fn a_file_of_more_lines_than_are_compared_is_kept() {
    let numbers = (0..10_001).map(|number| format!("{number}\n"));
    let long: String = numbers.collect();
    let plan = of("Makefile", Policy::Owned, ["a\n", &long, "b\n"]);
    assert!(plan.changes.is_empty());
    assert_eq!(plan.not_text, ["Makefile"]);
}

#[test]
fn generated_files_and_an_edited_lock_are_left_to_their_generators() {
    let versions = ["a\n", "generated\n", "b\n"];
    let verb = |path, policy| of(path, policy, versions).changes[0].verb;
    assert_eq!(verb("config/rbac/role.yaml", Policy::Generated), Verb::Keep);
    assert_eq!(verb("Cargo.lock", Policy::Owned), Verb::Keep);
}

#[test]
fn a_controller_keeps_the_users_lines_and_the_change_is_shown() {
    let versions = [
        "//! A.\n\n// verbs=get;patch\n\nfn a() {}\n",
        "//! A.\n\n// verbs=get;patch\n\nfn mine() {}\n",
        "//! B.\n\n// verbs=patch\n\nfn b() {}\n",
    ];
    let path = "src/controllers/captain.rs";
    let merged = "//! B.\n\n// verbs=patch\n\nfn mine() {}\n";
    check(path, versions, Some((Verb::Merge, merged)));
    let plan = of(path, Policy::Owned, versions);
    assert_eq!(plan.conflicts, []);
    assert_eq!(plan.unmerged[0].diff, "@@\n-fn a() {}\n+fn b() {}\n");
}

#[test]
fn a_merge_that_would_break_rust_is_not_made() {
    let versions = [
        "fn a() {\n    1;\n}\n// end\n",
        "fn a() {\n    2;\n    1;\n}\n// end\n",
        "fn a() {\n    1;\n}\n// end\n}\n",
    ];
    let plan = of("src/controllers/captain.rs", Policy::Owned, versions);
    assert_eq!(plan.changes[0].verb, Verb::Keep);
    assert_eq!(plan.unmerged.len(), 1);
}

#[test]
fn an_edited_library_is_noticed() {
    let path = "third_party/kbr-manager/src/lib.rs";
    let tree = Tree::from([(path.to_owned(), pristine(Policy::Owned, "a\n"))]);
    let disk = |text: &str| Disk::from([(path.to_owned(), text.as_bytes().to_vec())]);
    assert_eq!(library::edited(&tree, &disk("a\r\n")), []);
    assert_eq!(library::edited(&tree, &Disk::new()), []);
    let edited = library::edited(&tree, &disk("b\n"));
    assert!(edited[0].1.contains("-a\n+b\n"), "{edited:?}");
}

/// Each golden project as the predecessor and as this release write it.
fn trees() -> Vec<(Tree, Tree)> {
    let current = checkout::current();
    let before = predecessor::of(&current);
    let projects = checkout::golden().into_iter();
    let pair = |project| [&before, &current].map(|of| tree(&project, of).unwrap());
    projects
        .map(pair)
        .map(|[ancestor, new]| (ancestor, new))
        .collect()
}

#[test]
fn a_project_without_edits_becomes_a_fresh_one() {
    let files = |tree: &Tree| {
        let files = tree
            .iter()
            .map(|(path, file)| (path.clone(), file.text.clone().into_bytes()));
        files.collect::<Disk>()
    };
    for (ancestor, new) in trees() {
        let mut disk = files(&ancestor);
        let plan = upgraded(&ancestor, &new, &disk);
        let verbs = plan.changes.iter().map(|change| change.verb);
        let verbs: BTreeSet<_> = verbs.map(|verb| format!("{verb:?}")).collect();
        assert!(verbs.into_iter().eq(["Create", "Remove", "Update"]));
        apply(&plan, &mut disk);
        assert!(disk == files(&new), "{:?}", new.keys());
        assert_eq!((plan.conflicts.len(), plan.unmerged.len()), (0, 0));
    }
}

/// Makes the changes of `plan`.
fn apply(plan: &Plan, disk: &mut Disk) {
    for change in &plan.changes {
        assert_eq!(
            disk.get(&change.path),
            change.before.as_ref(),
            "{}",
            change.path
        );
        match change.result() {
            Some(content) => disk.insert(change.path.clone(), content.to_vec()),
            None => disk.remove(&change.path),
        };
    }
}

#[test]
fn a_name_that_changed_is_changed_wherever_the_user_writes_it() {
    let path = "src/webhooks/crew_v1_captain.rs";
    let rejects = |name: &str| {
        format!("use manager::webhook;\n\nfn a() -> Result<(), webhook::{name}> {{}}\n")
    };
    let (before, now) = (rejects("Refusal"), rejects("Rejection"));
    let edited = |text: &str| text.to_owned() + "\nfn mine() -> webhook::Refusal {}\n";
    let expected = edited(&before).replace("Refusal", "Rejection");
    // In a file of kbr's, which has no other change, and in one of the user's own.
    for versions in [
        [&*before, &edited(&before), &now],
        ["-", &edited(&before), "-"],
    ] {
        check(path, versions, Some((Verb::Merge, &expected)));
    }
}
