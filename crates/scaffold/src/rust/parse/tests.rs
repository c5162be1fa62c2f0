//! Depth, of every form in which Rust nests.

#[path = "../../../../../tests/hostile_folders/nested.rs"]
mod nested;

use syn::spanned::Spanned as _;

use super::*;
use crate::fuzz::{self, Corpus};
use crate::rust::{derived, exports};
use nested::{FORMS, nested};

/// The most repetitions that are parsed.
fn deepest(form: nested::Form) -> usize {
    let is_parsed = |count: usize| bounded(nested(form, count).parse().unwrap()).is_ok();
    let (mut low, mut high) = (1, 2 * DEEPEST);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        let half = if is_parsed(middle) {
            &mut low
        } else {
            &mut high
        };
        *half = middle;
    }
    low
}

/// Visits everything, as a span of several tokens does without procedural macros.
fn visit(file: &syn::File) {
    assert!(file.items.is_empty() || file.span().end().line > 0);
    drop(derived::among(&file.items));
}

#[test]
fn every_form_that_is_as_deep_as_allowed_has_room_on_the_stack() {
    for form in FORMS {
        let count = deepest(form);
        assert!(count > DEEPEST / 20, "{form:?}: {count}");
        assert_eq!(parse(&nested(form, count), visit), Ok(()), "{form:?}");
        let deeper = parse(&nested(form, count + 1), visit);
        assert_eq!(deeper, Err(Unread::TooDeep { line: 1 }), "{form:?}");
    }
}

#[test]
fn a_long_file_is_not_a_deep_one() {
    let field = "/// A.\n#[serde(default)]\npub a: Option<A>,\n".repeat(500);
    let variant = "/// A.\nA,\n".repeat(3_000);
    for item in [
        format!("/// A.\n#[derive(A)]\npub struct A {{ {field} }}\n").repeat(10),
        format!("pub enum A {{ {variant} }}\n"),
        format!("const A: [u8; 9] = [{}];\n", "1, ".repeat(100_000)),
        format!("fn a() {{ {} }}\n", "a(\"a\", 1).b()?;\n".repeat(20_000)),
        "use a::b;\n".repeat(20_000),
        "fn a() {}\n".repeat(1_000),
    ] {
        assert_eq!(parse(&item, visit), Ok(()), "{}", &item[..100]);
    }
}

#[test]
fn a_file_that_is_not_read_is_named_unless_it_is_invalid() {
    let text = format!("struct A;\n\nfn a() {{\n    {}a\n}}", "!".repeat(DEEPEST));
    let why = parse(&text, |_| ()).unwrap_err();
    let shown = why.problem("src/a.rs").unwrap();
    assert_eq!(
        shown.text(),
        "`src/a.rs:4`: this is nested or chained too deeply for kbr"
    );
    assert_eq!(parse("fn", |_| ()), Err(Unread::Invalid));
    let long = " ".repeat(LONGEST + 1);
    assert_eq!(parse(&long, |_| ()), Err(Unread::TooLong));
    assert_eq!(Unread::Invalid.problem("src/a.rs"), None);
}

#[test]
fn a_shebang_and_a_byte_order_mark_are_not_rust() {
    let line = |text: &str| parse(text, |file| file.items[0].span().start().line);
    assert_eq!(line("#!/usr/bin/env don't\nfn a() {}"), Ok(2));
    assert_eq!(line("\u{feff}#!/usr/bin/env don't\nfn a() {}"), Ok(2));
    assert_eq!(line("\u{feff}#![allow(a)]\nfn a() {}"), Ok(2));
}

#[test]
fn rust_of_any_form_is_read_or_not_within_a_bounded_time() {
    let inputs: Vec<String> = FORMS.iter().map(|form| nested(*form, 100)).collect();
    let mut inputs: Vec<&[u8]> = inputs.iter().map(String::as_bytes).collect();
    inputs.push(include_bytes!("../parse.rs"));
    inputs.push(include_bytes!("../derived.rs"));
    let words: Vec<&str> = FORMS.iter().flatten().copied().collect();
    let corpus = Corpus {
        inputs: &inputs,
        words: &words,
    };
    fuzz::run(corpus, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        parse(&text, visit).ok();
        drop(exports::exports(&text));
    });
}
