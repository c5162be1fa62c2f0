use super::super::insert;
use super::*;

/// A Rust file, or one whose comments begin with `#`.
fn path(text: &str) -> &'static str {
    if text.contains("//") {
        "a.rs"
    } else {
        "a.yaml"
    }
}

/// `text` without `lines`; `pristine` is what kbr would write without them.
fn removed(text: &str, lines: &str, pristine: &str) -> String {
    let located = locate(path(text), text, "m", lines, pristine).unwrap();
    assert!(located.iter().all(|it| it.is_as_written), "{located:?}");
    cut(text, &located)
}

/// Inserting and removing `lines` gives `before` again, in every form in which a user may keep the file.
fn check(before: &str, lines: &str) {
    let forms = [
        before.to_owned(),
        before.replace('\n', "\r\n"),
        format!("\u{feff}{before}"),
        before.trim_end().to_owned(),
    ];
    for before in forms {
        let after = insert(path(&before), &before, "m", lines).unwrap();
        assert_ne!(after, before);
        assert_eq!(removed(&after, lines, &before), before, "{after:?}");
    }
}

#[test]
fn removing_is_the_inverse_of_inserting() {
    for (before, lines) in [
        ("a\n// +kbr:scaffold:m\n", "b\nc\n"),
        ("a {\n    // +kbr:scaffold:m\n}\n", "b();\n"),
        ("a:\n  - b\n  # +kbr:scaffold:m\n", "- c\n- d\n"),
        (
            "mod b;\nmod d;\n// +kbr:scaffold:m\n",
            "mod a;\nmod c;\nmod e;\n",
        ),
        ("use b::X;\n\n// +kbr:scaffold:m\n", "use a::X;\n"),
        (
            "}\n\n// +kbr:scaffold:m\n",
            "struct A;\n\n// Why.\nimpl B for A {\n    b\n}\n\nfn c(\n    d: D,\n) -> E {\n}\n",
        ),
        ("fn a() {\n    // +kbr:scaffold:m\n}\n", "b(\n    1,\n);\n"),
        (
            "fn a() {\n    b();\n    // +kbr:scaffold:m\n}\n",
            "b(\n    1,\n);\n",
        ),
        (
            "mod tests {\n    // +kbr:scaffold:m\n}\n",
            "use super::*;\nfn a() {\n}\n\n#[test]\nfn b() {\n}\n",
        ),
        (
            "struct A;\n\nimpl A {\n}\n\n// +kbr:scaffold:m\n",
            "impl B {\n}\nimpl C {\n}\n",
        ),
    ] {
        check(before, lines);
    }
}

#[test]
fn a_block_between_others_takes_one_blank_line_with_it() {
    let all = "struct A;\n\nimpl B {\n}\n\nimpl C {\n}\n\nimpl D {\n}\n\n// +kbr:scaffold:m\n";
    for block in ["impl B {\n}\n", "impl C {\n}\n", "impl D {\n}\n"] {
        let expected = all.replace(&format!("{block}\n"), "");
        assert_eq!(removed(all, block, &expected), expected);
    }
}

#[test]
fn lines_that_are_not_there_are_left_out() {
    let text = "a\n// +kbr:scaffold:m\n";
    assert_eq!(removed(text, "b\nmod c;\n", text), text);
}

#[test]
fn the_nearest_line_in_the_scope_is_removed() {
    let text = "fn a() {\n    x();\n}\n\nfn b() {\n    x();\n    y();\n    // +kbr:scaffold:m\n}\n";
    let expected = "fn a() {\n    x();\n}\n\nfn b() {\n    y();\n    // +kbr:scaffold:m\n}\n";
    assert_eq!(removed(text, "x();\n", expected), expected);
}

#[test]
fn edited_lines_are_told_from_those_that_kbr_wrote() {
    for (text, lines, expected) in [
        (
            "mod a; // mine\n// +kbr:scaffold:m\n",
            "mod a;\n",
            (0..1, false),
        ),
        (
            "#[cfg(x)]\nmod a;\n// +kbr:scaffold:m\n",
            "mod a;\n",
            (1..2, false),
        ),
        (
            "use a::{b, c};\n// +kbr:scaffold:m\n",
            "use a::b;\n",
            (0..1, false),
        ),
        ("# +kbr:scaffold:m\n- a # mine\n", "- a\n", (1..2, false)),
        ("x a y\na # mine\n# +kbr:scaffold:m\n", "a\n", (1..2, false)),
        (
            "x\n\n// Mine.\n#[x]\nimpl A {\n    mine\n}\n\n// +kbr:scaffold:m\n",
            "impl A {\n    a\n}\n",
            (2..8, true),
        ),
    ] {
        let located = locate(path(text), text, "m", lines, text).unwrap();
        let [only] = &located[..] else {
            panic!("{located:?}");
        };
        assert!(!only.is_as_written, "{text}");
        assert_eq!((only.lines.clone(), only.is_block), expected, "{text}");
    }
}

#[test]
fn a_missing_marker_is_an_error() {
    assert_eq!(locate("a.rs", "a\n", "m", "a\n", ""), Err(Vec::new()));
}

#[test]
fn a_block_is_emptied_if_nothing_but_comments_stays_in_it() {
    for (text, expected) in [
        ("if a {\n    b();\n}\n// +kbr:scaffold:m\n", &[0][..]),
        (
            "if a {\n    // Why.\n\n    b();\n}\n// +kbr:scaffold:m\n",
            &[0],
        ),
        (
            "if a {\n    b();\n    c();\n} else {\n}\n// +kbr:scaffold:m\n",
            &[0],
        ),
        ("if a {\n    b();\n    d();\n}\n// +kbr:scaffold:m\n", &[]),
        ("fn a() {\n    b();\n    // +kbr:scaffold:m\n}\n", &[]),
    ] {
        let located = locate("a.rs", text, "m", "b();\nc();\n", "// +kbr:scaffold:m\n").unwrap();
        assert_eq!(emptied(text, &located), expected, "{text}");
    }
}
