use super::*;

fn check(path: &str, ancestor: &str, ours: &str, new: &str, expected: Option<&str>) {
    let merged = merge(path, ancestor, ours, new);
    assert_eq!(merged.as_deref(), expected);
}

#[test]
fn dependencies_are_merged_by_their_names() {
    check(
        "Cargo.toml",
        "[dependencies]\nkube = \"5.0\"\nmanager = { path = \"manager\" }\n# +kbr:scaffold:dependencies\n\n[lints]\nworkspace = true\n",
        "[dependencies]\nkube = \"5.0\"\nmanager = { path = \"manager\" }\nregex = \"1\" # ours\n# +kbr:scaffold:dependencies\n\n[lints]\nworkspace = true\n",
        "[dependencies]\nkube = \"5.1\"\nmanager = { workspace = true }\nserde = \"1\"\n# +kbr:scaffold:dependencies\n\n# Why.\n[lints]\nworkspace = true\n",
        Some(
            "[dependencies]\nkube = \"5.1\"\nmanager = { workspace = true }\nserde = \"1\"\nregex = \"1\" # ours\n# +kbr:scaffold:dependencies\n\n# Why.\n[lints]\nworkspace = true\n",
        ),
    );
}

#[test]
fn a_key_that_both_sides_changed_is_a_conflict() {
    let text = |version: &str| format!("[dependencies]\nkube = \"{version}\"\n");
    check("Cargo.toml", &text("5.0"), &text("6.0"), &text("5.1"), None);
    check("a.rs", "a", "b", "c", None);
}

#[test]
fn a_list_that_both_sides_changed_is_merged_as_a_set() {
    check(
        "Cargo.toml",
        "[workspace]\nmembers = [\"api\", \"manager\"]\nresolver = \"2\"\n",
        "[workspace]\nmembers = [\"api\", \"manager\", \"crates/mine\"]\nresolver = \"2\"\n",
        "[workspace]\nmembers = [\"api\", \"tools\"]\nresolver = \"3\"\n",
        Some("[workspace]\nmembers = [\"api\", \"crates/mine\", \"tools\"]\nresolver = \"3\"\n"),
    );
}

#[test]
fn a_list_whose_order_matters_is_not_merged() {
    let text = |rest: &str| format!("rustflags = [\"-C\", \"a\"{rest}] # why\n");
    let merged = |ours: &str, new: &str, expected: Option<&str>| {
        let expected = expected.map(text);
        let (ours, new) = (text(ours), text(new));
        check("config.toml", &text(""), &ours, &new, expected.as_deref());
    };
    merged(", \"b\"", ", \"d\"", Some(", \"b\", \"d\""));
    merged(", \"-C\", \"b\"", ", \"-C\", \"d\"", None);
}

#[test]
fn a_value_of_several_lines_is_one_entry() {
    check(
        "Cargo.toml",
        "[features]\nall = [\n  \"a\",\n]\nnone = []\n",
        "[features]\nall = [\n  \"a\",\n]\nnone = []\nmine = []\n",
        "[features]\nall = [\n  \"a\",\n  \"b\",\n]\nnone = []\n",
        Some("[features]\nall = [\n  \"a\",\n  \"b\",\n]\nnone = []\nmine = []\n"),
    );
}

#[test]
fn tables_that_kbr_adds_and_drops_follow_those_of_the_user() {
    check(
        "Cargo.toml",
        "[a]\nx = 1\n\n[gone]\ny = 1\n\n[kept]\nz = 1\n",
        "[a]\nx = 1\n\n[mine]\nm = 1\n\n[gone]\ny = 1\n\n[kept]\nz = 2\n",
        "[a]\nx = 1\n\n[b]\nn = 1\n",
        Some("[a]\nx = 1\n\n[b]\nn = 1\n\n[mine]\nm = 1\n\n[kept]\nz = 2\n"),
    );
}

#[test]
fn resources_are_merged_by_their_paths() {
    check(
        "config/default/kustomization.yaml",
        "namespace: a\n\nresources:\n- ../crd\n- ../rbac\n# [HA] Uncomment.\n#- ../ha\n",
        "namespace: mine\n\nresources:\n- ../crd\n- ../mine\n- ../rbac\n# [HA] Uncomment.\n- ../ha\n",
        "namespace: a\n\nresources:\n- ../crd\n- ../alerts\n- ../rbac\n",
        Some(
            "namespace: mine\n\nresources:\n- ../crd\n- ../alerts\n- ../mine\n- ../rbac\n# [HA] Uncomment.\n- ../ha\n",
        ),
    );
}

#[test]
fn patches_of_several_lines_are_items() {
    check(
        "kustomization.yaml",
        "patches:\n  - path: a.yaml\n    target:\n      kind: A\n",
        "patches:\n  - path: a.yaml\n    target:\n      kind: A\n  - path: mine.yaml\n",
        "patches:\n  - path: a.yaml\n    target:\n      kind: B\n",
        Some("patches:\n  - path: a.yaml\n    target:\n      kind: B\n  - path: mine.yaml\n"),
    );
}

#[test]
fn a_line_of_a_text_that_looks_like_a_comment_stays_in_its_entry() {
    let script = "- a: |\n    b\n    # c\n";
    check(
        "kustomization.yaml",
        &format!("x:\n{script}- gone\n"),
        &format!("x:\n{script}- mine\n- gone\n"),
        &format!("x:\n{script}"),
        Some(&format!("x:\n{script}- mine\n")),
    );
}

#[test]
fn a_text_of_entries_is_the_same_after_reading() {
    for (format, text) in [
        (
            Format::Toml,
            "# head\n\na = 1\n# b\n\n[x]\ny = [\n # z\n 1,\n]\n\n# end\n",
        ),
        (
            Format::Yaml,
            "# head\na: 1\nb:\n- c\n  # d\n  e: f\n# g\n- h\n\n# end",
        ),
    ] {
        let read: String = sections(format, text).iter().map(super::text).collect();
        assert_eq!(read, text);
    }
}
