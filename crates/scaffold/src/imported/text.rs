//! Literals, JSON and comments as Rust, laid out as rustfmt leaves them.

use std::fmt::Write as _;

use serde_json::Value;

/// The longest line.
pub const WIDTH: usize = 100;

/// A string literal.
pub fn literal(text: &str) -> String {
    let is_raw = text.contains('\\')
        && !text.contains(['"', '\n', '\r', '\t'])
        && text.chars().all(is_plain);
    if is_raw {
        return format!("r\"{text}\"");
    }
    escaped(text)
}

fn escaped(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            letter if is_plain(letter) => literal.push(letter),
            letter => {
                let _ = write!(literal, "\\u{{{:x}}}", u32::from(letter));
            }
        }
    }
    literal.push('"');
    literal
}

/// Whether a letter is visible, and does not change how the text around it is read.
pub fn is_plain(letter: char) -> bool {
    let is_mark = matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{a0}');
    !letter.is_control() && !is_mark
}

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

/// `value` as a string literal with its JSON.
pub fn raw(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    if !text.contains('"') {
        return format!("\"{text}\"");
    }
    // One more than follow any quote.
    let after = text.split('"').skip(1);
    let most = after.map(|it| it.bytes().take_while(|byte| *byte == b'#').count());
    let hashes = "#".repeat(1 + most.max().unwrap_or_default());
    if hashes.len() > MOST_HASHES {
        return escaped(&text);
    }
    format!("r{hashes}\"{text}\"{hashes}")
}

/// The compiler takes no more.
const MOST_HASHES: usize = 255;

/// Whether a description survives as a comment, and does not become a test of the documentation.
pub fn is_comment(text: &str) -> bool {
    let is_line = |line: &str| {
        line.trim_end() == line
            && line
                .chars()
                .all(|letter| is_plain(letter) || letter == '\t')
            && !line.starts_with("    ")
            && !line.starts_with('\t')
    };
    let has_code = text.contains("```") || text.contains("~~~");
    text.trim_matches(|letter: char| letter.is_ascii_whitespace()) == text
        && !text.starts_with('#')
        && !has_code
        && text.split('\n').all(is_line)
}

/// A comment of documentation.
pub fn comment(text: &str, indent: &str) -> String {
    let lines = text.split('\n').map(|line| match line {
        "" => format!("{indent}///\n"),
        line => format!("{indent}/// {line}\n"),
    });
    lines.collect()
}
