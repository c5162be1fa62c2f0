//! Manifests of other crates of a workspace, before and after.

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let [from, to] = ["0.2.0", "0.3.0"];
    assert_eq!(with_crate(text, Span { from, to }), expected);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(with_crate(&crlf(text), Span { from, to }), crlf(expected));
}

#[test]
fn the_feature_becomes_a_dependency_on_the_crate() {
    check(
        "[dependencies]\nmanager = { workspace = true }\n\n[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] } # fake\nserde = \"1\"\n",
        "[dependencies]\nmanager = { workspace = true }\n\n[dev-dependencies]\nkbr-testing = { workspace = true } # fake\nserde = \"1\"\n",
    );
    check(
        "[dev-dependencies]\nmanager = { features = [\"testing\"], workspace = true }\n",
        "[dev-dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true }\n",
    );
    check(
        "[dependencies]\nmanager = { workspace = true, features = [\"testing\", \"clap\"] }\n",
        "[dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true, features = [\"clap\"] }\n",
    );
    check(
        "[dev-dependencies]\nmanager = { package = \"kbr-manager\", path = \"../third_party/kbr-manager\", default-features = false, features = [\"testing\"] }\n",
        "[dev-dependencies]\nkbr-testing = { path = \"../third_party/kbr-testing\" }\nmanager = { package = \"kbr-manager\", path = \"../third_party/kbr-manager\", default-features = false }\n",
    );
}

#[test]
fn other_manifests_and_other_releases_stay() {
    let text = "[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n";
    let [from, to] = ["0.1.0", "0.2.0"];
    assert_eq!(with_crate(text, Span { from, to }), text);
    for text in [
        "[workspace]\n\n[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n",
        "[dev-dependencies]\nother = { workspace = true, features = [\"testing\"] }\nmanager = { workspace = true }\n",
        "[features]\nmanager = [\"testing\"]\n",
        "[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] \n",
    ] {
        check(text, text);
    }
}

#[test]
fn a_table_of_its_own_is_followed_by_that_of_the_crate() {
    check(
        "# fake\n[dev-dependencies.manager] # library\nworkspace = true # here\nfeatures = [\"testing\"] # API\n# last\n\n[lints]\nworkspace = true\n",
        "# fake\n[dev-dependencies.manager] # library\nworkspace = true # here\n# API\n\n[dev-dependencies.kbr-testing]\nworkspace = true\n# last\n\n[lints]\nworkspace = true\n",
    );
    check(
        "[dependencies.manager]\npackage = \"kbr-manager\"\nfeatures = [\n  \"clap\", # flags\n  \"testing\",\n]\npath = \"../third_party/kbr-manager\"",
        "[dependencies.manager]\npackage = \"kbr-manager\"\nfeatures = [\n  \"clap\", # flags\n]\npath = \"../third_party/kbr-manager\"\n\n[dependencies.kbr-testing]\npath = \"../third_party/kbr-testing\"\n",
    );
}

#[test]
fn a_table_with_nothing_but_the_feature_becomes_that_of_the_crate() {
    check(
        "[dependencies]\nmanager.workspace = true\n\n# fake\n[dev-dependencies.manager]\nfeatures = [\"testing\"]\nworkspace = true\n",
        "[dependencies]\nmanager.workspace = true\n\n# fake\n[dev-dependencies.kbr-testing]\nworkspace = true\n",
    );
    check(
        "[dev-dependencies]\nmanager.workspace = true\nmanager.features = [\"testing\"]\n\n[dependencies.manager]\nworkspace = true\n",
        "[dev-dependencies]\nkbr-testing.workspace = true\n\n[dependencies.manager]\nworkspace = true\n",
    );
}

#[test]
fn a_dependency_with_dotted_keys_follows_the_crate() {
    check(
        "[dependencies]\nanyhow = \"1\"\nmanager.workspace = true\nmanager.features = [\"testing\", \"clap\"]\n",
        "[dependencies]\nanyhow = \"1\"\nkbr-testing = { workspace = true }\nmanager.workspace = true\nmanager.features = [\"clap\"]\n",
    );
}

#[test]
fn dependencies_of_a_platform_are_changed_as_well() {
    check(
        "[target.'cfg(unix)'.dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n",
        "[target.'cfg(unix)'.dev-dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true }\n",
    );
    check(
        "[target.'cfg(target_os = \"linux\")'.dev-dependencies.manager]\nworkspace = true\nfeatures = [\"testing\"]\n",
        "[target.'cfg(target_os = \"linux\")'.dev-dependencies.manager]\nworkspace = true\n\n[target.'cfg(target_os = \"linux\")'.dev-dependencies.kbr-testing]\nworkspace = true\n",
    );
    check(
        "[dependencies]\nmanager = { workspace = true }\n\n[target.\"cfg(unix)\".dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n",
        "[dependencies]\nmanager = { workspace = true }\n\n[target.\"cfg(unix)\".dev-dependencies]\nkbr-testing = { workspace = true }\n",
    );
}

#[test]
fn an_optional_dependency_brings_the_crate_along() {
    // Cargo defines the feature `manager` unless `dep:manager` is named.
    check(
        "[features]\nfull = [\"manager\"]\n\n[dependencies]\nmanager = { workspace = true, optional = true, features = [\"testing\"] }\n",
        "[features]\nfull = [\"manager\"]\nmanager = [\"dep:manager\", \"dep:kbr-testing\"]\n\n[dependencies]\nkbr-testing = { workspace = true, optional = true }\nmanager = { workspace = true, optional = true }\n",
    );
    check(
        "[dependencies.manager]\nworkspace = true\noptional = true\nfeatures = [\"testing\"]\n",
        "[dependencies.manager]\nworkspace = true\noptional = true\n\n[dependencies.kbr-testing]\nworkspace = true\noptional = true\n\n[features]\nmanager = [\"dep:manager\", \"dep:kbr-testing\"]\n",
    );
    check(
        "[features]\nfake = [\n  \"dep:manager\", # all\n  \"std\",\n]\nstd = []\n\n[dependencies]\nmanager = { workspace = true, optional = true, features = [\"testing\"] }\n",
        "[features]\nfake = [\n  \"dep:manager\", \"dep:kbr-testing\", # all\n  \"std\",\n]\nstd = []\n\n[dependencies]\nkbr-testing = { workspace = true, optional = true }\nmanager = { workspace = true, optional = true }\n",
    );
    // In tests it is not optional.
    check(
        "[dependencies]\nmanager = { workspace = true, optional = true }\n\n[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n",
        "[dependencies]\nmanager = { workspace = true, optional = true }\n\n[dev-dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true }\n",
    );
}

#[test]
fn a_feature_that_named_it_enables_the_crate() {
    check(
        "[features]\nfake = [\"std\", \"manager/testing\"]\nstd = []\n\n[dependencies]\nmanager = { workspace = true }\n",
        "[features]\nfake = [\"std\", \"dep:kbr-testing\"]\nstd = []\n\n[dependencies]\nkbr-testing = { workspace = true, optional = true }\nmanager = { workspace = true }\n",
    );
    check(
        "[features]\nfake = [\"manager/testing\"]\n\n[dependencies]\nmanager = { workspace = true, optional = true }\n",
        "[features]\nfake = [\"manager\", \"dep:kbr-testing\"]\n\n[dependencies]\nkbr-testing = { workspace = true, optional = true }\nmanager = { workspace = true, optional = true }\n",
    );
    check(
        "[dependencies.manager]\nworkspace = true\noptional = true\n\n[features]\nreal = [\"dep:manager\"]\nfake = [\"manager?/testing\"]\nboth = [\"manager/testing\", \"manager/clap\"]\n",
        "[dependencies.manager]\nworkspace = true\noptional = true\n\n[dependencies.kbr-testing]\nworkspace = true\noptional = true\n\n[features]\nreal = [\"dep:manager\"]\nfake = [\"dep:kbr-testing\"]\nboth = [\"dep:manager\", \"dep:kbr-testing\", \"manager/clap\"]\n",
    );
}

#[test]
fn a_feature_does_not_name_what_is_always_there() {
    check(
        "[features]\nfake = [\"manager/testing\", \"std\"] # why\nstd = []\n\n[dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n",
        "[features]\nfake = [\"std\"] # why\nstd = []\n\n[dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true }\n",
    );
    check(
        "[features]\nfake = [\"manager/testing\"]\n\n[dev-dependencies]\nmanager.workspace = true\n",
        "[features]\nfake = []\n\n[dev-dependencies]\nkbr-testing = { workspace = true }\nmanager.workspace = true\n",
    );
}

#[test]
fn the_crate_is_not_added_twice() {
    check(
        "[dev-dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true, features = [\"testing\"] }\n",
        "[dev-dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true }\n",
    );
}
