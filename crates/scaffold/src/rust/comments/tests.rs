mod fuzz;

use super::*;

/// The comments of `source` as `line text`, doc comments with a `!` before their line.
fn check(source: &str, expected: &[&str]) {
    let found = lex(source).unwrap().comments;
    let shown: Vec<String> = found
        .iter()
        .map(|c| format!("{}{} {}", if c.doc { "!" } else { "" }, c.line, c.text))
        .collect();
    assert_eq!(shown, expected, "in {source:?}");
}

#[test]
fn line_comments_are_found_with_their_lines() {
    check("// a\nfn f() {} // b\r\n\n//c", &["1 a", "2 b", "4 c"]);
}

#[test]
fn strings_contain_no_lex() {
    check("let s = \"// no\"; // yes", &["1 yes"]);
    check(r#"let s = "\" // no"; // yes"#, &["1 yes"]);
    check("let s = \"\n// no\n\"; // yes", &["3 yes"]);
    check("let s = \"a \\\n // no\"; // yes", &["2 yes"]);
    check(r#"let s = b"// no"; let t = c"// no"; // yes"#, &["1 yes"]);
    check(r#"let s = "\\"; // yes"#, &["1 yes"]);
}

#[test]
fn raw_strings_contain_no_lex() {
    check(r##"let s = r#"" // no"#; // yes"##, &["1 yes"]);
    check(r###"let s = br##""# // no"##; // yes"###, &["1 yes"]);
    check(r#"let s = r"\"; // yes"#, &["1 yes"]);
    check(r##"let s = cr#"// no"#; // yes"##, &["1 yes"]);
}

#[test]
fn raw_identifiers_and_identifiers_ending_in_r_are_not_raw_strings() {
    check("let r#fn = 1; // yes", &["1 yes"]);
    check(r#"bar!(r); let r = "// no"; // yes"#, &["1 yes"]);
}

#[test]
fn characters_are_distinguished_from_lifetimes() {
    check(r#"let c = '"'; // yes"#, &["1 yes"]);
    check(r"let c = '\''; // yes", &["1 yes"]);
    check(r"let c = '\\'; // yes", &["1 yes"]);
    check(r"let c = b'\x22'; // yes", &["1 yes"]);
    check(r"let c = '\u{22}'; // yes", &["1 yes"]);
    check("let c = '/'; // yes", &["1 yes"]);
    check(
        "fn f<'a>(s: &'a str) { g(s, 'é', \"// no\") } // yes",
        &["1 yes"],
    );
    check("'r: loop { break 'r; } // yes", &["1 yes"]);
}

#[test]
fn plain_block_comments_are_skipped_even_if_nested() {
    check("/* // no\n /* no */ // no\n */ // yes", &["3 yes"]);
    check("/* \" */ // yes", &["1 yes"]);
    check("/**/ // yes", &["1 yes"]);
    check("/*** no */ // yes", &["1 yes"]);
}

#[test]
fn doc_comments_are_recognized() {
    check("//! a\n/// b\n//// c", &["!1 a", "!2 b", "3 // c"]);
    check("/** a\n * b\n */", &["!1 a", "!2 b", "!3 "]);
    check("/*! a */", &["!1 a"]);
}

#[test]
fn code_excludes_comments_strings_and_characters() {
    let check = |source: &str, expected: &str| assert_eq!(lex(source).unwrap().code, expected);
    check("a /* b\n */ c // d\ne", "a     \n    c     \ne");
    check(
        "f(\"x\", 'y', r#\"z\"#, 'a: 'b')",
        "f(   ,    ,       , 'a:    )",
    );
    check("a / b # c \"é\"", "a / b # c     ");
    check("let s = \"\";", "let s =   ;");
}

#[test]
fn comments_in_macros_are_lex() {
    check("macro_rules! m { () => { // yes\n } }", &["1 yes"]);
}

#[test]
fn a_shebang_is_skipped_and_an_inner_attribute_is_not() {
    check("#!/usr/bin/env don't\n// yes", &["2 yes"]);
    check("#![allow(dead_code)] // yes", &["1 yes"]);
}

#[test]
fn an_unterminated_string_or_comment_is_an_error_with_its_line() {
    let what = "string";
    assert_eq!(
        lex("\nlet s = \"a\n").unwrap_err(),
        Unterminated { line: 2, what }
    );
    assert_eq!(lex("r#\"a\"").unwrap_err(), Unterminated { line: 1, what });
    let what = "comment";
    assert_eq!(
        lex("\n\n/* /* */").unwrap_err(),
        Unterminated { line: 3, what }
    );
}
