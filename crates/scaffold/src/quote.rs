//! Text of others -> a literal or a comment in the language of a file, a function each. Nothing of the text ends it.
//!
//! CRDs, Go projects, PROJECT and clusters are data. Their text reaches a generated file only through this file and [`crate::yaml`], or
//! as a name that was checked. What a function returns has only plain characters ([`is_plain`]), so that every reader sees the same lines.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde_json::Value;

/// Characters that no one sees, or that change how those around them are read: Unicode's line and paragraph separators, formats such as
/// the marks of direction, tags, and fillers.
const ODD: [RangeInclusive<char>; 20] = [
    '\u{a0}'..='\u{a0}',
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{ffff}',
    '\u{e0000}'..='\u{10ffff}',
];

/// Whether a character is visible, and does not change how the text around it is read. No control character is plain, not even a tab.
pub fn is_plain(letter: char) -> bool {
    !letter.is_control() && !ODD.iter().any(|range| range.contains(&letter))
}

/// `text` with `escape` for each character that is not plain.
fn escaped(text: &str, escape: impl Fn(u32) -> String) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_plain(letter) {
            escaped.push(letter);
        } else {
            escaped.push_str(&escape(u32::from(letter)));
        }
    }
    escaped
}

/// `text` with the escapes of Rust, which people read.
fn visible(text: &str) -> String {
    escaped(text, |code| format!("\\u{{{code:x}}}"))
}

/// A string literal of Rust; raw, if that is easier to read.
pub fn rust(text: &str) -> String {
    if text.contains('\\') && !text.contains('"') && text.chars().all(is_plain) {
        return format!("r\"{text}\"");
    }
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
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

/// A string literal of Rust with JSON, on several lines.
pub fn rust_json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines: Vec<String> = text.split('\n').map(utf16).collect();
    if !text.contains('"') {
        return format!("\"{text}\"");
    }
    // Quotes are part of JSON, and a literal has at most 255 hashes. In JSON, a hash follows a quote only inside of a string.
    let text = lines.join("\n").replace("\"#", "\"\\u0023");
    format!("r#\"{text}\"#")
}

/// A line comment of Rust, which may be a marker.
pub fn rust_line(text: &str) -> String {
    let text = visible(text);
    match text.trim_end() {
        "" => "//".to_owned(),
        text => format!("// {text}"),
    }
}

/// Line comments of Rust, each ended by a line feed. None of them is a marker.
pub fn rust_comment(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end().replace('\t', "    ");
        let line = if is_marker(&line) {
            format!("Text: {line}")
        } else {
            line
        };
        rust_line(&line) + "\n"
    };
    text.lines().map(line).collect()
}

/// Whether kbr would read a line of a comment as a marker, or would advise to make one of it.
pub fn is_marker(line: &str) -> bool {
    let bare = line.trim_start_matches(|it: char| it.is_whitespace() || "+@".contains(it));
    bare.starts_with("kbr:") || bare.starts_with("kubebuilder:")
}

/// Whether a description can be a doc comment: it comes back as it is, and neither kbr nor rustdoc take any of it for more than text.
/// To rustdoc, code in fences or behind four spaces is a test, which `cargo test` runs; it passes on HTML, and links to scripts.
pub fn is_doc(text: &str) -> bool {
    let is_line = |line: &str| {
        line.trim_end() == line
            && line.chars().all(is_plain)
            && !line.contains("    ")
            && !is_marker(line)
    };
    let is_code = text.contains("```") || text.contains("~~~");
    let begins_tag =
        |rest: &str| rest.starts_with(|it: char| it.is_ascii_alphabetic() || "/!?".contains(it));
    let is_web = |rest: &str| {
        let rest = rest.trim_start();
        ["https://", "http://"]
            .iter()
            .any(|it| rest.starts_with(it))
    };
    text.trim() == text
        && !text.starts_with('#')
        && !is_code
        && !text.split('<').skip(1).any(begins_tag)
        && text.split("](").skip(1).all(is_web)
        && text.split("]:").skip(1).all(is_web)
        && text.split('\n').all(is_line)
}

/// A description that [`is_doc`] as a doc comment.
pub fn rust_doc(text: &str, indent: &str) -> String {
    let lines = text.split('\n').map(|line| match line {
        "" => format!("{indent}///\n"),
        line => format!("{indent}/// {line}\n"),
    });
    lines.collect()
}

/// A value of YAML on one line: its JSON.
pub fn yaml(value: &Value) -> String {
    wide(&value.to_string())
}

/// Whether a text is the same text in YAML without quotes, also to a program that reads YAML 1.1.
pub fn is_yaml_word(text: &str) -> bool {
    const OTHERS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|it: char| it.is_ascii_lowercase())
        && text
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "-./".contains(it))
        && !OTHERS.contains(&text)
}

/// A comment of YAML on one line.
pub fn yaml_comment(text: &str) -> String {
    format!("# {}", visible(text))
}

/// A string of TOML.
pub fn toml(text: &str) -> String {
    wide(&Value::from(text).to_string())
}

/// A table of TOML: as people write it, unless they would not see all of it.
pub fn toml_table(name: &str, table: &toml::Table) -> String {
    let tables = toml::Table::from_iter([(name.to_owned(), toml::Value::Table(table.clone()))]);
    let text = toml::to_string(&tables).unwrap_or_default();
    if text.chars().all(|it| is_plain(it) || "\n\t".contains(it)) {
        return text;
    }
    let line = |(key, value): (&String, &toml::Value)| {
        let value = serde_json::to_value(value).unwrap_or_default();
        format!("{} = {}\n", toml(key), toml_value(&value))
    };
    let lines: String = table.iter().map(line).collect();
    format!("[{name}]\n{lines}")
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{} = {}", toml(key), toml_value(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        scalar => wide(&scalar.to_string()),
    }
}

/// A string of Go, as the templates of a chart have it.
pub fn go(text: &str) -> String {
    wide(&Value::from(text).to_string())
}

/// JSON with escapes that YAML, TOML and Go have: they do not know the pairs of JSON.
fn wide(json: &str) -> String {
    escaped(json, |code| format!("\\U{code:08x}"))
}

/// JSON between backticks, in which no character is a backtick: the value of an argument of a marker.
pub fn marker_json(value: &Value) -> String {
    utf16(&value.to_string()).replace('`', "\\u0060")
}

/// JSON with the escapes of JSON.
fn utf16(json: &str) -> String {
    escaped(json, |code| {
        let letter = char::from_u32(code).unwrap_or_default();
        let units = letter.encode_utf16(&mut [0; 2]).to_vec();
        let mut text = String::new();
        for unit in units {
            let _ = write!(text, "\\u{unit:04x}");
        }
        text
    })
}

/// A span of code in a cell of a table of Markdown.
pub fn markdown(text: &str) -> String {
    let text = visible(text).replace('|', "\\|");
    let mut fence = "`".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let space = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A sentence of Markdown on one line: what is between its backticks is code, and the rest is text.
pub fn markdown_line(text: &str) -> String {
    let text = visible(text);
    let parts: Vec<_> = text.split('`').collect();
    // A span of code ends at as many backticks as it has begun with.
    let has_code = parts.len() % 2 == 1 && !text.contains("``");
    let mut line = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            line.push_str(if has_code { "`" } else { "\\`" });
        }
        for letter in part.chars() {
            if !(has_code && at % 2 == 1) && "\\<>[]*_&~#|".contains(letter) {
                line.push('\\');
            }
            line.push(letter);
        }
    }
    line
}

/// The value of a label in a Dockerfile.
pub fn dockerfile(text: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./,+:@".contains(it);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let text = visible(text);
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('$', "\\$"))
}

#[cfg(test)]
mod tests;
