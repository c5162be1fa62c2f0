//! Registrations of controllers in which `.when` and `.optional` are about the kind that was named last, which is deprecated.

use super::Span;
use crate::rust::Lines;
use crate::rust::comments::lex;

/// The release that deprecated them.
const RELEASE: &str = "0.3.0";

/// The methods that name another kind than the controller's own, each with the one that configures it as well.
const KINDS: [(&str, &str); 4] = [
    ("owns", "owns_with"),
    ("owns_cached", "owns_cached_with"),
    ("watches", "watches_with"),
    ("reads", "reads_optional"),
];

/// The most characters of a type, and calls in a row: each is looked at again for each place in it.
const LONGEST: usize = 1000;

/// The lines of a Rust file to change, each with what to write.
pub fn lines(text: &str, span: Span) -> Vec<(usize, String)> {
    if !span.includes(RELEASE) || !text.contains("manager") {
        return Vec::new();
    }
    let Ok(code) = lex(text).map(|it| it.code) else {
        return Vec::new();
    };
    let numbers = Lines::new(&code);
    let mut found = types(&code, &numbers);
    for (call, method) in [(".when(", "when"), (".optional(", "optional")] {
        let calls = code.match_indices(call).map(|(at, _)| at);
        let calls = calls.map(|at| Some((numbers.number(at), advice(method, &code[..at])?)));
        found.extend(calls.flatten());
    }
    found.sort();
    found
}

/// What to write instead of a call of `method`; `before` is the code before it.
fn advice(method: &str, before: &str) -> Option<String> {
    let mut calls = Chain(before).take(LONGEST);
    let mut has_read = false;
    loop {
        let Some((name, kind)) = calls.next() else {
            return has_read.then(|| {
                "`.when` is about the controller's own kind: write it before `.reads`".to_owned()
            });
        };
        let Some((_, with)) = KINDS.iter().find(|(it, _)| *it == name) else {
            // After a kind that is configured, they are about the controller's own.
            if KINDS.iter().any(|(_, with)| *with == name) {
                return None;
            }
            continue;
        };
        let configured = match (method, name) {
            // Its changes reconcile nothing, so this is about the kind before it.
            ("when", "reads") => {
                has_read = true;
                continue;
            }
            (_, "reads") => format!(".{with}::<{kind}>()"),
            ("when", "watches") => format!(".{with}::<{kind}>(…, |kind| kind.when(…))"),
            ("when", _) => format!(".{with}::<{kind}>(|kind| kind.when(…))"),
            (_, "watches") => format!(".{with}::<{kind}>(…, |kind| kind.optional())"),
            _ => format!(".{with}::<{kind}>(|kind| kind.optional())"),
        };
        return Some(format!(
            "`.{method}` after `.{name}` is deprecated: write `{configured}`"
        ));
    }
}

/// The methods called in the chain at the end of this code, the last one first, each with the type in its angle brackets.
struct Chain<'a>(&'a str);

impl<'a> Iterator for Chain<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (before, _) = group(self.0, ('(', ')'))?;
        let (before, kind) = match group(before, ('<', '>')) {
            Some((before, kind)) => (before.trim_end().strip_suffix("::")?, kind),
            None => (before, ""),
        };
        let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
        let dot = before.trim_end_matches(is_of_name);
        self.0 = dot.trim_end().strip_suffix('.')?;
        Some((&before[dot.len()..], kind))
    }
}

/// What is before and in the brackets that end this code.
fn group(code: &str, (open, close): (char, char)) -> Option<(&str, &str)> {
    let code = code.trim_end();
    let inside = code.strip_suffix(close)?;
    let mut depth = 0_usize;
    for (at, sign) in inside.char_indices().rev() {
        match sign {
            sign if sign == close => depth += 1,
            sign if sign == open && depth == 0 => return Some((&code[..at], &inside[at + 1..])),
            sign if sign == open => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The lines that name the type of a controller together with that of the kind that it has named last.
fn types(code: &str, numbers: &Lines) -> Vec<(usize, String)> {
    let name = "Controller<";
    let named = code.match_indices(name).filter(|(at, _)| {
        let (mut depth, mut kinds) = (1_usize, 1_usize);
        for sign in code[at + name.len()..].chars().take(LONGEST) {
            match sign {
                '<' | '(' => depth += 1,
                '>' | ')' => depth -= 1,
                ',' if depth == 1 => kinds += 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        kinds > 2
    });
    let note = "after `.owns` and the like, a `Controller` has another type: use `.owns_with::<C>(|kind| kind)`, which returns a `Controller<'_, K>`";
    named
        .map(|(at, _)| (numbers.number(at), note.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        from: "0.2.0",
        to: "0.3.0",
    };

    #[track_caller]
    fn check(code: &str, expected: &[(usize, &str)]) {
        let found = lines(&format!("use manager::Manager;\n{code}"), SPAN);
        let found: Vec<_> = found
            .iter()
            .map(|(line, it)| (*line, it.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_call_about_the_kind_named_last_is_noted_with_what_to_write() {
        check(
            "x.controller::<A>(\"a\").when(a)\n.owns_cached::<PartialObjectMeta<B>>()\n.when(|old, new| changed(old, new))\n.conditions(c)\n.optional();",
            &[
                (
                    4,
                    "`.when` after `.owns_cached` is deprecated: write `.owns_cached_with::<PartialObjectMeta<B>>(|kind| kind.when(…))`",
                ),
                (
                    6,
                    "`.optional` after `.owns_cached` is deprecated: write `.owns_cached_with::<PartialObjectMeta<B>>(|kind| kind.optional())`",
                ),
            ],
        );
        check(
            "x.watches::<B>(|b, cached| { cached.list::<A>().keys() })\n    .when(b)\n",
            &[(
                3,
                "`.when` after `.watches` is deprecated: write `.watches_with::<B>(…, |kind| kind.when(…))`",
            )],
        );
        check(
            "x.owns::<B>().reads::<C>().optional().when(b);",
            &[
                (
                    2,
                    "`.optional` after `.reads` is deprecated: write `.reads_optional::<C>()`",
                ),
                (
                    2,
                    "`.when` after `.owns` is deprecated: write `.owns_with::<B>(|kind| kind.when(…))`",
                ),
            ],
        );
        check(
            "x.controller::<A>(a)\n.reads::<C>()\n.when(a);",
            &[(
                4,
                "`.when` is about the controller's own kind: write it before `.reads`",
            )],
        );
    }

    #[test]
    fn the_type_of_a_controller_with_the_kind_named_last_is_noted() {
        let note = "after `.owns` and the like, a `Controller` has another type: use `.owns_with::<C>(|kind| kind)`, which returns a `Controller<'_, K>`";
        check(
            "fn a<'a>(c: Controller<'a, A>) -> Controller<'a, A, Meta<B>> {}\n",
            &[(2, note)],
        );
    }

    #[test]
    fn calls_about_the_controllers_own_kind_are_not_noted() {
        for code in [
            "x.controller::<A>(a).when(a).optional().owns::<B>();",
            "x.owns_with::<B>(|kind| kind.when(b).optional()).when(a).optional();",
            "// x.owns::<B>().when(b);",
            "fn a(c: Controller<'_, A>, b: Controller<'_, Meta<A>>) {}",
            "warp.owns().and(x); y.when(z);",
        ] {
            check(code, &[]);
        }
        assert_eq!(lines("x.owns::<B>().when(b);", SPAN), []);
    }
}
