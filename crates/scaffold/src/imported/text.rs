//! JSON as Rust, laid out as rustfmt leaves it.

use serde_json::Value;

use crate::quote::rust as literal;
use crate::rust::comments::lex;

/// The longest line.
pub const WIDTH: usize = 100;

/// `value` as an argument of `json!`, on one line.
pub fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => literal(text),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(json).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", literal(key), json(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn number_text(number: &serde_json::Number) -> String {
    let Some(whole) = number.as_i64() else {
        return if number.is_u64() {
            format!("{number}_u64")
        } else {
            number.to_string()
        };
    };
    let digits = whole.unsigned_abs().to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 && digits.len() > 4 {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    let sign = if whole < 0 { "-" } else { "" };
    let suffix = if i32::try_from(whole).is_err() {
        "_i64"
    } else {
        ""
    };
    format!("{sign}{grouped}{suffix}")
}

/// Rust with blanks for what comments and strings say.
pub fn code(text: &str) -> String {
    lex(text).map(|it| it.code).unwrap_or_default()
}

/// A number of JSON as Rust.
pub fn number(value: &Value) -> String {
    json(value)
}

/// `value` on several lines if it does not fit on one. `before` is the text before it on its line.
pub fn laid_out(value: &Value, indent: usize, before: usize) -> String {
    let line = json(value);
    if indent + before + line.len() < WIDTH {
        return line;
    }
    let inner = indent + 4;
    let pad = " ".repeat(inner);
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Array(items) => (
            '[',
            ']',
            items.iter().map(|item| laid_out(item, inner, 1)).collect(),
        ),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let key = format!("{}: ", literal(key));
                let value = laid_out(value, inner, key.len() + 1);
                key + &value
            });
            ('{', '}', fields.collect())
        }
        _ => return line,
    };
    if parts.is_empty() {
        return line;
    }
    format!(
        "{open}\n{pad}{}\n{}{close}",
        parts.join(&format!(",\n{pad}")),
        " ".repeat(indent)
    )
}

/// How deep `json!` recurses for `value`, at most: it reads one token after the other.
pub fn depth(value: &Value) -> usize {
    let deepest = |values: &mut dyn Iterator<Item = &Value>, each: usize| {
        let depths = values
            .enumerate()
            .map(|(at, value)| each * (at + 1) + depth(value));
        2 + depths.max().unwrap_or_default()
    };
    match value {
        Value::Array(items) => deepest(&mut items.iter(), 2),
        Value::Object(fields) => deepest(&mut fields.values(), 5),
        _ => 1,
    }
}
