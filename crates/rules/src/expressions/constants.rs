//! Constants that are checked before a rule runs: patterns, durations and timestamps.

use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue};
use regex::Regex;

use super::super::re2::translate;

/// Checks a constant argument of the function `name` like the API server.
pub fn check(name: &str, arguments: &[IdedExpr]) -> Result<(), String> {
    // The pattern is the last argument of `matches`, both as a function and as a method.
    let argument = match name {
        "matches" => arguments.last(),
        _ => arguments.first(),
    };
    let Some(Expr::Literal(LiteralValue::String(text))) = argument.map(|argument| &argument.expr)
    else {
        return Ok(());
    };
    let text = text.inner();
    let form = |form: &str, example: &str| match Regex::new(form) {
        Ok(form) if !form.is_match(text) => {
            Err(format!("`{text}` is not a {name} such as {example}"))
        }
        _ => Ok(()),
    };
    match name {
        "matches" | "find" | "findAll" => match translate(text) {
            Ok(_) => Ok(()),
            Err(reason) => Err(format!("invalid pattern `{text}`: {reason}")),
        },
        "duration" => form(
            r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$",
            "`1h30m`",
        ),
        "timestamp" => form(
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})$",
            "`2026-01-01T00:00:00Z`",
        ),
        _ => Ok(()),
    }
}
