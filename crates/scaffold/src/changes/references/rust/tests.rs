use super::*;
use crate::changes::Verb;

const TYPES: &str = "#[kube(version = \"v1\", kind = \"Captain\")]\npub struct CaptainSpec {}\npub enum Rank {}\npub fn promote() {}\n\
    pub async fn demote() {}\npub static CREW: u8 = 1;\npub use other::Boat;\npub(crate) const fn limit() {}\n\
    #[macro_export]\nmacro_rules! sail { () => {} }\nstruct Private;\n";

/// The numbers of the lines of `text` that mention the removed version of `Captain` or its controller.
fn found(path: &str, text: &str) -> Vec<String> {
    let change = |path: &str, text: &str| Change {
        path: path.to_owned(),
        verb: Verb::Remove,
        before: Some(text.as_bytes().to_vec()),
        after: Vec::new(),
    };
    let removed = [
        change("api/src/crew/v1/captain.rs", TYPES),
        change("src/controllers/captain.rs", "pub fn register() {}\n"),
        change("config/a.yaml", ""),
    ];
    let gone = Gone::new(&removed.iter().collect::<Vec<_>>(), "captains_api");
    let mentions = gone.mentions(path, text);
    let shown = |it: &Mention| format!("{}: {}: {}", it.number, it.what, it.line);
    mentions.iter().map(shown).collect()
}

#[track_caller]
fn check(path: &str, text: &str, expected: usize) {
    let found = found(path, text);
    assert_eq!(found.len(), expected, "{text}: {found:?}");
}

#[test]
fn a_mention_is_reported_with_its_line_and_the_item() {
    assert_eq!(
        found(
            "src/a.rs",
            "\nuse api::crew::v1::Captain;\nfn x(_: Captain) {}\n"
        ),
        [
            "2: uses `api::crew::v1::Captain`: use api::crew::v1::Captain;",
            "3: uses `api::crew::v1::Captain`: fn x(_: Captain) {}"
        ]
    );
}

#[test]
fn a_type_is_found_by_every_way_to_name_it() {
    for text in [
        "fn x(_: api::crew::v1::Captain) {}",
        "fn x(_: ::api::crew::v1::CaptainSpec) {}",
        "use api::crew::v1::{Mate, Rank};",
        "use api::crew::{v1::Captain as Old, v2::Captain};",
        "fn x() { api::crew::v1::promote(); }",
        "async fn x() { api::crew::v1::demote().await; }",
        "fn x() { api::crew::v1::CREW; }",
        "use api::crew::v1::Boat as Dinghy;",
        "fn x() { api::sail!(); }",
    ] {
        check("src/a.rs", text, 1);
    }
    check("src/a.rs", "use api::crew::v1;\nfn x(_: v1::Captain) {}", 1);
    check(
        "src/a.rs",
        "use api::crew;\nfn x(_: crew::v1::Captain) {}",
        1,
    );
    check("src/a.rs", "use api::crew::v1::*;\nfn x(_: Captain) {}", 1);
    check(
        "src/a.rs",
        "use api::crew::v1::*;\nuse other::*;\nfn x(_: Captain) {}",
        1,
    );
    check(
        "api/src/crew/v1/mate.rs",
        "fn x() { super::limit(); crate::crew::v1::limit(); }",
        1,
    );
    check(
        "api/src/crew/v2/captain.rs",
        "use crate::crew::v1::Captain;",
        1,
    );
    check("api/src/crew/v1/mate.rs", "use super::Captain;", 1);
    check(
        "api/src/crew/v1/mate.rs",
        "use super::*;\nfn x(_: Captain) {}",
        1,
    );
    check(
        "api/src/crew/v2/mate.rs",
        "use super::super::v1::Captain;",
        1,
    );
    check("api/src/lib.rs", "crew::v1::Captain::crd(),", 1);
    check("api/src/crew/v1/mod.rs", "mod captain;", 1);
    check("api/src/crew/v1/mod.rs", "pub use captain::*;", 1);
    check("tools/src/main.rs", "use api::crew::v1::Captain;", 1);
}

#[test]
fn a_type_is_found_by_the_name_of_its_crate_in_other_crates() {
    for text in [
        "use captains_api::crew::v1::Captain;",
        "use captains_api::crew::v1::*;\nfn x(_: Captain) {}",
        "use captains_api as types;\nfn x(_: types::crew::v1::Rank) {}",
        "use captains_api::crew::v1::captain;",
    ] {
        check("crates/mine/src/lib.rs", text, 1);
        check("api/tests/a.rs", text, 1);
    }
    check(
        "crates/mine/src/lib.rs",
        "use captains_api::crew::v2::Captain;",
        0,
    );
    assert_eq!(
        found(
            "crates/mine/src/lib.rs",
            "fn x(_: captains_api::crew::v1::Captain) {}"
        ),
        ["1: uses `captains_api::crew::v1::Captain`: fn x(_: captains_api::crew::v1::Captain) {}"]
    );
}

#[test]
fn a_module_is_found_by_its_path_and_its_declaration() {
    check("src/controllers/mod.rs", "pub mod captain; // mine", 1);
    check(
        "src/main.rs",
        "controllers::captain::register(&mut manager);",
        1,
    );
    check(
        "src/controllers/mate.rs",
        "use super::captain::register;",
        1,
    );
    check(
        "src/controllers/mate.rs",
        "use crate::controllers::captain;",
        1,
    );
}

#[test]
fn other_names_are_not_found() {
    for text in [
        "use api::crew::v2::Captain;\nfn x(_: Captain) {}",
        "use api::galley::v1::Captain;",
        "struct Captain;",
        "// api::crew::v1::Captain\nconst X: &str = \"api::crew::v1::Captain\";",
        "let captain = 1; captain.x();",
        "use api::crew::v1::CaptainList;",
        "use api::crew::v1::Private;",
    ] {
        check("src/a.rs", text, 0);
    }
    check("src/controllers/mod.rs", "let captain = 1;", 0);
    check("tests/integration/main.rs", "mod captain;", 0);
    let tests = "fn register() {}\nmod tests {\n    use super::*;\n    fn x() { register() }\n}";
    check("src/controllers/mate.rs", tests, 0);
}
