//! Each text comes back from what is written of it, and what is written has only plain characters.

use super::*;
use proc_macro2::{TokenStream, TokenTree};
use serde_json::json;

/// Texts that end literals and comments, and characters that hide.
const TEXTS: [&str; 14] = [
    "",
    "plain é 日本",
    "\"",
    "\\\"",
    "a\\d",
    "\"#\"##",
    "a\nb\r\nc\rd",
    "\t\u{0}\u{1b}\u{7f}\u{85}",
    "\u{2028}\u{202e}\u{2066}\u{61c}\u{feff}\u{e0041}",
    "`a` | b",
    "$A $(b) {{ c }}",
    "'''\n\"\"\"",
    "*/ // #",
    "\u{a0}\u{200d}",
];

fn is_clear(text: &str) -> bool {
    text.chars().all(|it| is_plain(it) || it == '\n')
}

#[test]
fn a_literal_of_rust_is_one_token_with_the_text() {
    for text in TEXTS {
        let literal = rust(text);
        let read: syn::LitStr = syn::parse_str(&literal).unwrap();
        assert_eq!(read.value(), text);
        assert!(is_clear(&literal), "{literal}");
        let json = rust_json(&json!({ text: [text] }));
        let tokens: Vec<TokenTree> = json.parse::<TokenStream>().unwrap().into_iter().collect();
        assert!(matches!(&tokens[..], [TokenTree::Literal(_)]), "{json}");
        let read: syn::LitStr = syn::parse_str(&json).unwrap();
        let read: Value = serde_json::from_str(&read.value()).unwrap();
        assert_eq!(read, json!({ text: [text] }));
        assert!(is_clear(&json), "{json}");
    }
}

#[test]
fn a_comment_of_rust_has_no_code_and_no_marker() {
    for text in TEXTS {
        let comment = rust_comment(text);
        assert!(comment.parse::<TokenStream>().unwrap().is_empty());
        assert!(is_clear(&comment), "{comment}");
    }
    let text = "a\n  +kbr:rbac:groups=a\n@ kubebuilder:rbac:groups=b\nkbr: c\n\td\n";
    let expected = "// a\n// Text:   +kbr:rbac:groups=a\n// Text: @ kubebuilder:rbac:groups=b\n// Text: kbr: c\n//     d\n";
    assert_eq!(rust_comment(text), expected);
}

#[test]
fn a_description_is_a_doc_comment_only_if_it_is_nothing_but_text() {
    for text in [
        "One.",
        "One.\n\nTwo: `a < b`, a <= b, x <- y.",
        "[a](https://example.com) and [b]",
        "See +kbr:rbac, which is no marker here",
        "- a\n  - b",
    ] {
        assert!(is_doc(text), "{text}");
    }
    for text in [
        "```\nrun();\n```",
        "~~~\nrun();\n~~~",
        "a\n\n    run();",
        ">     run();",
        "1.     run();",
        "-\t\trun();",
        "a\u{202e}b",
        "a\rb",
        "a\u{2028}b",
        "# Title",
        "<script>run()</script>",
        "a <!-- b",
        "[a](javascript:run())",
        "[a]: javascript:run()",
        "+kbr:rbac:groups=*,resources=*,verbs=*",
        "a\n  @+kubebuilder:rbac:groups=*",
        "a\nkbr:rbac:groups=*",
        " a",
        "a ",
    ] {
        assert!(!is_doc(text), "{text}");
    }
}

#[test]
fn values_of_yaml_toml_and_json_are_read_as_the_text() {
    for text in TEXTS {
        let value = json!({ text: [text] });
        let written = yaml(&value);
        assert_eq!(serde_saphyr::from_str::<Value>(&written).unwrap(), value);
        assert_eq!(serde_yaml_ng::from_str::<Value>(&written).unwrap(), value);
        let table: toml::Table = format!("a = {}", toml(text)).parse().unwrap();
        assert_eq!(table["a"].as_str(), Some(text));
        let marker = marker_json(&value);
        assert_eq!(serde_json::from_str::<Value>(&marker).unwrap(), value);
        assert!(!marker.contains('`'));
        let table = toml::Table::from_iter([(text.to_owned(), toml::Value::from(vec![text]))]);
        let written = toml_table("t", &table);
        let read: toml::Table = written.parse().unwrap();
        assert_eq!(read["t"].as_table(), Some(&table));
        for text in [
            yaml(&value),
            toml(text),
            go(text),
            marker,
            yaml_comment(text),
        ] {
            assert!(text.chars().all(is_plain), "{text}");
        }
    }
}

#[test]
fn a_line_of_markdown_has_only_text_and_code() {
    let check = |text: &str, expected: &str| assert_eq!(markdown_line(text), expected);
    check("keep `a_b[]` and a_b", "keep `a_b[]` and a\\_b");
    check("`a` <b>", "`a` \\<b\\>");
    check("[a](b) `c", "\\[a\\](b) \\`c");
    check("``a`` *b*", "\\`\\`a\\`\\` \\*b\\*");
    check("a\nb", "a\\\\u{a}b");
}

#[test]
fn code_in_markdown_ends_behind_its_text() {
    assert_eq!(markdown("a|b\n"), "`a\\|b\\u{a}`");
    assert_eq!(markdown("`a``"), "``` `a`` ```");
}

#[test]
fn a_label_of_a_dockerfile_is_one_word() {
    assert_eq!(dockerfile("registry+v1"), "registry+v1");
    assert_eq!(dockerfile("a\nRUN \"$b\""), "\"a\\\\u{a}RUN \\\"\\$b\\\"\"");
}
