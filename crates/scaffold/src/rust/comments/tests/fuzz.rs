//! Rust files of any content.

use super::*;
use crate::edit;
use crate::fuzz::{self, Corpus};
use crate::rust::uses;

const INPUTS: &[&[u8]] = &[
    include_bytes!("../../comments.rs"),
    include_bytes!("../../../edit/tests.rs"),
    b"use a::{b, c};\nmod d;\n// +kbr:scaffold:m\n\nfn main() {\n    e();\n    // +kbr:scaffold:m2\n}\n",
];

const WORDS: &[&str] = &[
    "//",
    "/*",
    "*/",
    "/**",
    "//!",
    "\"",
    "r#\"",
    "\"#",
    "r##\"",
    "b'",
    "'",
    "'a",
    "\\",
    "\\\"",
    "c\"",
    "{",
    "}",
    "(",
    ")",
    "use ",
    "use a::{",
    "::*",
    " as ",
    "mod a;",
    ";",
    "\n",
    "\r\n",
    "#![",
    "#!",
    "// +kbr:scaffold:m\n",
    "// +kbr:rbac:groups=a",
    "r#type",
    "pub ",
];

const CORPUS: Corpus = Corpus {
    inputs: INPUTS,
    words: WORDS,
};

#[test]
fn comments_and_code_of_any_text_keep_their_places() {
    fuzz::run(CORPUS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let Ok(Lexed { comments, code, .. }) = lex(&text) else {
            return;
        };
        let lines: Vec<&str> = text.split('\n').collect();
        for comment in comments {
            assert!(lines[comment.line - 1].contains(&comment.text));
        }
        assert_eq!(code.len(), text.len());
        assert_eq!(code.matches('\n').count() + 1, lines.len());
        let again = lex(&code).unwrap();
        assert_eq!(again.code, code, "blanking is idempotent");
        drop((uses::uses(&code), uses::globs(&code)));
    });
}

#[test]
fn lines_that_were_inserted_into_any_text_are_found_again() {
    let lines = "mod a;\nuse a::{b, c};\nuse d::e;\nf();\nimpl G {\n    h\n}\n";
    fuzz::run(CORPUS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for path in ["a.rs", "a.yaml", "Cargo.toml", "Makefile"] {
            let Ok(once) = edit::insert(path, &text, "m", lines) else {
                continue;
            };
            let twice = edit::insert(path, &once, "m", lines);
            assert_eq!(twice.as_ref(), Ok(&once), "{path}");
            let located = edit::locate(path, &once, "m", lines, &text).unwrap();
            drop(edit::cut(&once, &located));
        }
    });
}
