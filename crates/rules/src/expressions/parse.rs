//! Text -> expression.

use std::panic::resume_unwind;
use std::thread;

use cel::IdedExpr;
use cel::parser::{ParseErrors, Parser};

use super::depth::{DEEPEST, depth};

/// Parses an expression, or returns why it is invalid.
pub fn parse(text: &str) -> Result<IdedExpr, String> {
    let levels = depth(text);
    if levels > DEEPEST {
        return Err(format!("it is nested more than {DEEPEST} levels deep"));
    }
    parsed(text, levels).map_err(|errors| {
        let first = errors.errors.first();
        let reason = first.map_or_else(|| "invalid syntax".to_owned(), |error| plain(&error.msg));
        let column = first.map_or(1, |error| error.pos.1);
        format!("{reason}, at character {column}")
    })
}

/// Runs the parser. For a nested text on a stack of its own, because each bracket takes some 100 KB without optimizations.
fn parsed(text: &str, levels: usize) -> Result<IdedExpr, ParseErrors> {
    const FLAT: usize = 4;
    const LEVEL: usize = 256 * 1024;
    let run = || Parser::new().enable_optional_syntax(true).parse(text);
    if levels <= FLAT {
        return run();
    }
    thread::scope(|scope| {
        let nested = thread::Builder::new().stack_size(levels * LEVEL);
        match nested.spawn_scoped(scope, run) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => run(),
        }
    })
}

/// The name of a field as in the schema: a rule may write it in backticks, since Kubernetes 1.37.
#[must_use]
pub fn unquoted(field: &str) -> &str {
    field.trim_matches('`')
}

/// The parser's message without the list of expected tokens, which contains nearly all of them.
fn plain(message: &str) -> String {
    let message = message.trim().trim_start_matches("Syntax error: ");
    let message = message.split(" expecting ").next().unwrap_or(message);
    let mut plain = message.replace("'<EOF>'", "end");
    for odd in [
        "extraneous input",
        "mismatched input",
        "no viable alternative at input",
        "token recognition error at:",
    ] {
        plain = plain.replace(odd, "unexpected");
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::Rules;

    /// Tests run on threads with 2 MB of stack, as those of servers do.
    #[test]
    fn no_nesting_that_is_accepted_overflows_the_stack() {
        let shapes: [fn(&str) -> String; 8] = [
            |inner| format!("[[{inner}][0].b][0].b"),
            |inner| format!("[{inner}][0]"),
            |inner| format!("({inner})"),
            |inner| format!("({inner}).b"),
            |inner| format!("{{'a': {inner}}}['a']"),
            |inner| format!("[1].all(x, {inner} == 1)"),
            |inner| format!("true ? {inner} : 1"),
            |inner| format!("-(1 + {inner})"),
        ];
        for shape in shapes {
            let mut text = "self.b".to_owned();
            while depth(&text) <= DEEPEST {
                text = shape(&text);
                // The deepest ones, and some others.
                if !depth(&text).is_multiple_of(50) && depth(&text) < DEEPEST - 4 {
                    continue;
                }
                let schema = json!({
                    "type": "object", "properties": {"b": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    "x-kubernetes-validations": [{"rule": text}],
                });
                let rules = Rules::of(&schema, false).expect("it has a rule");
                drop(rules.judge(&schema, &json!({"b": {"b": 1}}), None));
            }
            assert!(parse(&text).is_err(), "{text}");
        }
    }
}
