//! The items of an array or of an inline table, with their spans.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_value};

use super::{DEPTH, Entry};

/// The items of the value at `value` in order; those of an array have no key. Empty for any other value.
pub fn items(text: &str, value: &Range<usize>) -> Vec<Entry> {
    let source = Source::new(&text[value.clone()]);
    let tokens = source.lex().into_vec();
    let (mut items, mut item, mut depth) = (Vec::new(), Entry::default(), 0_usize);
    let mut receive = |event: Event| {
        let span = event.span().start() + value.start..event.span().end() + value.start;
        match event.kind() {
            EventKind::ArrayOpen | EventKind::InlineTableOpen => {
                depth += 1;
                if depth > 1 {
                    extend(&mut item.value, span);
                }
            }
            EventKind::ArrayClose | EventKind::InlineTableClose => {
                depth = depth.saturating_sub(1);
                if depth > 0 {
                    extend(&mut item.value, span);
                }
            }
            EventKind::SimpleKey if depth == 1 => {
                let mut name = Cow::Borrowed("");
                if let Some(raw) = source.get(event) {
                    raw.decode_key(&mut name, &mut ());
                }
                item.path.push(name.into_owned());
                extend(&mut item.key, span);
            }
            EventKind::ValueSep if depth == 1 => items.push(mem::take(&mut item)),
            EventKind::Scalar if depth > 0 => extend(&mut item.value, span),
            _ => {}
        }
    };
    let mut guard = RecursionGuard::new(&mut receive, DEPTH);
    parse_value(&tokens, &mut guard, &mut ());
    items.push(item);
    items.retain(|item| !item.value.is_empty());
    items
}

fn extend(range: &mut Range<usize>, span: Range<usize>) {
    if range.start == range.end {
        *range = span;
    } else {
        range.end = span.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tables;

    #[track_caller]
    fn check(value: &str, expected: &[&str]) {
        let text = format!("a = 1\nb = {value} # c\n");
        let all = tables(&text);
        let shown = |item: &Entry| {
            let (key, value) = (&text[item.key.clone()], &text[item.value.clone()]);
            format!("{key} {:?}={value}", item.path)
        };
        let found = items(&text, &all[0].find("b").unwrap().value);
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn items_are_those_between_the_outermost_brackets() {
        check(
            "[\"a,b\", # ,c\n  ['d', [1]], { e = 2 },]",
            &[" []=\"a,b\"", " []=['d', [1]]", " []={ e = 2 }"],
        );
        check(
            "{ a.'b c' = [1, 2], d = { e = 3 }, f = true }",
            &[
                "a.'b c' [\"a\", \"b c\"]=[1, 2]",
                "d [\"d\"]={ e = 3 }",
                "f [\"f\"]=true",
            ],
        );
        check("[]", &[]);
        check("\"[1]\"", &[]);
    }
}
