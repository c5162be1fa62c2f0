#![allow(clippy::disallowed_types, reason = "a test asks rustfmt")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;

/// A Rust file, or one whose comments begin with `#`.
fn path(text: &str) -> &'static str {
    if text.contains("//") {
        "a.rs"
    } else {
        "a.yaml"
    }
}

fn check(before: &str, lines: &str, after: &str) {
    assert_eq!(
        insert(path(before), before, "m", lines).as_deref(),
        Ok(after)
    );
    assert_eq!(
        insert(path(before), after, "m", lines).as_deref(),
        Ok(after),
        "a second time"
    );
}

fn check_rejected(before: &str, found: &[usize]) {
    assert_eq!(
        insert(path(before), before, "m", "new\n"),
        Err(found.to_vec())
    );
}

#[test]
fn lines_go_above_the_marker_with_its_indentation() {
    check(
        "a {\n    // +kbr:scaffold:m\n}\n",
        "b {\n    c\n",
        "a {\n    b {\n        c\n    // +kbr:scaffold:m\n}\n",
    );
    check(
        "a:\n\t# +kbr:scaffold:m\n",
        "- b\n",
        "a:\n\t- b\n\t# +kbr:scaffold:m\n",
    );
}

#[test]
fn a_marker_is_a_whole_comment_line() {
    check_rejected("a // +kbr:scaffold:m\n", &[]);
    check_rejected("\"// +kbr:scaffold:m\"\n", &[]);
    check_rejected("// +kbr:scaffold:mm\n", &[]);
    check_rejected("// +kbr:scaffold:m2 x\n", &[]);
    check("#+kbr:scaffold:m", "a", "a\n#+kbr:scaffold:m");
}

#[test]
fn a_repeated_marker_is_rejected_with_both_lines() {
    check_rejected("// +kbr:scaffold:m\na\n  // +kbr:scaffold:m\n", &[1, 3]);
    check_rejected("# +kbr:scaffold:m\na\n  # +kbr:scaffold:m\n", &[1, 3]);
}

#[test]
fn lines_in_scope_are_not_inserted_again() {
    check(
        "// +kbr:scaffold:m\n        a\n",
        "a\nb\n",
        "b\n// +kbr:scaffold:m\n        a\n",
    );
    check(
        "a // mine\n// +kbr:scaffold:m\n",
        "a",
        "a // mine\n// +kbr:scaffold:m\n",
    );
}

#[test]
fn blank_lines_are_skipped() {
    check(
        "# +kbr:scaffold:m\n",
        "\na\n   \nb\n\n",
        "a\nb\n# +kbr:scaffold:m\n",
    );
    check("# +kbr:scaffold:m\n", "", "# +kbr:scaffold:m\n");
}

#[test]
fn line_endings_and_a_missing_final_newline_are_kept() {
    check(
        "x\r\n# +kbr:scaffold:m\r\ny",
        "a\nb\n",
        "x\r\na\r\nb\r\n# +kbr:scaffold:m\r\ny",
    );
    check(
        "x\r\n# +kbr:scaffold:m",
        "a\n",
        "x\r\na\r\n# +kbr:scaffold:m",
    );
    check("x\n# +kbr:scaffold:m", "a", "x\na\n# +kbr:scaffold:m");
}

#[test]
fn a_byte_order_mark_stays_first() {
    check(
        "\u{feff}// +kbr:scaffold:m\n",
        "a\n",
        "\u{feff}a\n// +kbr:scaffold:m\n",
    );
}

#[test]
fn modules_are_sorted_among_those_directly_above() {
    check(
        "mod b;\n// +kbr:scaffold:m\n",
        "mod a;",
        "mod a;\nmod b;\n// +kbr:scaffold:m\n",
    );
    check(
        "mod z;\n\nmod b;\n// +kbr:scaffold:m\nmod a;\n",
        "mod c;\nmod aa;",
        "mod z;\n\nmod aa;\nmod b;\nmod c;\n// +kbr:scaffold:m\nmod a;\n",
    );
    check(
        "mod z;\n// note\nmod b;\n// +kbr:scaffold:m\n",
        "mod a;",
        "mod z;\n// note\nmod a;\nmod b;\n// +kbr:scaffold:m\n",
    );
    check(
        "use z;\nmod b;\n// +kbr:scaffold:m\n",
        "mod a;",
        "use z;\nmod a;\nmod b;\n// +kbr:scaffold:m\n",
    );
    check(
        "mod z {}\nmod b;\n// +kbr:scaffold:m\n",
        "mod a;",
        "mod z {}\nmod a;\nmod b;\n// +kbr:scaffold:m\n",
    );
}

#[test]
fn an_item_keeps_its_attributes_and_its_lines() {
    check(
        "mod a;\n/// Of b.\n#[cfg(test)]\nmod c;\n// +kbr:scaffold:m\n",
        "pub mod b;",
        "mod a;\npub mod b;\n/// Of b.\n#[cfg(test)]\nmod c;\n// +kbr:scaffold:m\n",
    );
    check(
        "use c::{\n    a,\n    b,\n};\nuse d;\n// +kbr:scaffold:m\n",
        "use b::X;\nuse c::d;",
        "use b::X;\nuse c::d;\nuse c::{\n    a,\n    b,\n};\nuse d;\n// +kbr:scaffold:m\n",
    );
}

/// Names like those of kinds, groups and versions, and edge cases: `a9`, `a10`, `a_`, `a__b`, `r#type`, `x007` …
fn names() -> Vec<String> {
    let parts = [
        "a", "aa", "ab", "b", "v1", "v1beta1", "v1beta10", "v2", "v10", "a9", "a10", "a09", "a1b2",
        "ippool", "ip", "ip2",
    ];
    let mut names: Vec<String> = parts.iter().map(ToString::to_string).collect();
    for part in parts {
        names.push(format!("{part}_"));
        names.push(format!("{part}_{part}"));
        names.push(format!("{part}__2"));
        names.push(format!("z{part}007"));
    }
    names.extend(
        [
            "r#type", "r#fn", "r#a5", "typed", "type_", "typ", "_a", "__", "é", "aé",
        ]
        .map(String::from),
    );
    // A fixed shuffle: the order of insertion must not matter.
    let mut state = 7_u64;
    for at in (1..names.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        names.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
    }
    names
}

fn check_rustfmt(lines: impl Iterator<Item = String>) {
    let mut text = "// +kbr:scaffold:m\n".to_owned();
    for line in lines {
        text = insert("a.rs", &text, "m", &line).unwrap();
    }
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let formatted = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(text, formatted);
}

#[test]
fn inserted_modules_are_sorted_like_rustfmt() {
    check_rustfmt(names().iter().map(|name| format!("pub mod {name};")));
    let mixed = |(at, name)| {
        if at % 2 == 0 {
            format!("mod {name};")
        } else {
            format!("pub(crate) mod {name};")
        }
    };
    check_rustfmt(names().iter().enumerate().map(mixed));
}

#[test]
fn inserted_imports_are_sorted_like_rustfmt() {
    let roots = [
        "crate",
        "self",
        "super",
        "api",
        "api::crew::v1",
        "api::crew",
        "kube",
        "r#try",
    ];
    let types = [
        "Captain", "captain", "IPPool", "A", "AB", "CAPTAIN", "A9", "A10", "Foo2", "Foo10", "foo",
        "Vec3d", "E2e", "E2E",
    ];
    let mut lines: Vec<String> = Vec::new();
    for (at, name) in names().iter().enumerate() {
        if !name.starts_with('_') {
            lines.push(format!("use {}::{name};", roots[at % roots.len()]));
            lines.push(format!("pub use {name}::{};", types[at % types.len()]));
        }
    }
    for root in roots {
        lines.extend(types.map(|name| format!("use {root}::{name};")));
        lines.push(format!("use {root}::*;"));
        lines.push(format!("use {root}::b as c;"));
        lines.push(format!("use {root}::b as d;"));
        lines.push(format!("use {root}::{{B, C}};"));
        lines.push(format!("use {root}::{{A, a::B}};"));
    }
    lines.sort_by_key(|line| line.len() % 7);
    check_rustfmt(lines.into_iter());
}

#[test]
fn a_block_is_inserted_whole_or_not_at_all() {
    check(
        "struct A;\n\n// +kbr:scaffold:m\n",
        "/// B.\nimpl B {\n    b {\n    }\n\n    c {\n    }\n}\n",
        "struct A;\n\n/// B.\nimpl B {\n    b {\n    }\n\n    c {\n    }\n}\n\n// +kbr:scaffold:m\n",
    );
    check(
        "impl B {\n    mine\n}\n}\n// +kbr:scaffold:m\n",
        "impl A {\n}\nimpl B {\n    theirs\n}\n",
        "impl B {\n    mine\n}\n}\n\nimpl A {\n}\n\n// +kbr:scaffold:m\n",
    );
    check(
        "a {\r\n    // +kbr:scaffold:m\r\n}\r\n",
        "b {\n    x\n\n    y\n}\n",
        "a {\r\n    b {\r\n        x\r\n\r\n        y\r\n    }\r\n\r\n    // +kbr:scaffold:m\r\n}\r\n",
    );
}

#[test]
fn groups_that_are_nested_beyond_reason_are_left_alone() {
    let deep = format!("use {};\n// +kbr:scaffold:m\n", "a::{".repeat(20_000));
    let after = insert("a.rs", &deep, "m", "use b::c;\n").unwrap();
    assert!(after.ends_with(";\nuse b::c;\n// +kbr:scaffold:m\n"));
}
