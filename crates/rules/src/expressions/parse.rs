//! Text -> expression.

use cel::IdedExpr;
use cel::parser::Parser;

use super::depth::{DEEPEST, depth};

/// Parses an expression, or returns why it is invalid.
pub fn parse(text: &str) -> Result<IdedExpr, String> {
    if depth(text) > DEEPEST {
        return Err(format!("it is nested more than {DEEPEST} levels deep"));
    }
    let parsed = Parser::new().enable_optional_syntax(true).parse(text);
    parsed.map_err(|errors| {
        let first = errors.errors.first();
        let reason = first.map_or_else(|| "invalid syntax".to_owned(), |error| plain(&error.msg));
        let column = first.map_or(1, |error| error.pos.1);
        format!("{reason}, at character {column}")
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
