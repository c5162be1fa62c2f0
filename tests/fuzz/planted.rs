//! Text that would end a literal or a comment of some language, planted in data. Each has [`WORD`], an identifier of Rust that kbr derives
//! from no name: where that is code, a key or a value of its own, the text has left its literal.

#![allow(dead_code, reason = "each crate uses its part")]

use kbr_scaffold::quote::is_plain;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::fuzz::Random;

/// In planted text, `§`.
pub const WORD: &str = "plánted";
/// A text that ends each kind of literal and comment.
const BREAKOUTS: [&str; 58] = [
    // Rust
    "\"); fn §() {} (\"",
    "\"); §!(); //",
    "FieldValueInvalid)] §!(); #[x(",
    "FieldValueInvalid); §(); (",
    "\"#; §!(); r#\"",
    "a\"####################################################################§",
    "\n§!();\n//",
    "*/ §!(); /*",
    "\\",
    "\\\"); §!(); (\"",
    "'§'",
    "b\"§\".to_owned()",
    // Doc comments
    "```\n§();\n```",
    "~~~\n§()\n~~~",
    "a\n\n>     §();",
    "a\n\n-     §();",
    "a\n\n-\t\t§();",
    "a\n\n    §();",
    "<script>§()</script>",
    "<!-- §",
    "[§](javascript:§())",
    "[§]: javascript:§()",
    "# §",
    // Markers
    "+kbr:rbac:groups=§,resources=*,verbs=*",
    "a\n+kbr:rbac:groups=§,resources=*,verbs=*\nb",
    "a\n  + @kbr:rbac:groups=§,resources=*,verbs=*",
    "a\nkubebuilder:webhook:path=/§",
    "+kbr:scaffold:controllers\n§",
    "a\n// +kbr:scaffold:webhooks\n§",
    // Lines and marks
    "a\r§",
    "a\r\n§: 1\r\n",
    "a\u{2028}§",
    "a\u{2029}§!();",
    "a\u{85}§: 1",
    "a\u{c}§",
    "a\u{0}§\u{1b}[2J",
    "a\u{7f}§",
    "a\u{202e}§\u{2066}",
    "a\u{61c}§\u{200b}\u{feff}\u{e0041}",
    "a\t§",
    // YAML
    "a\n§: 1",
    "\n---\n§: 1\n",
    "a: §",
    "§: §",
    "- §",
    "' §: 1",
    "\"\n§: \"1",
    "}, §: 1, a: {",
    "&a §",
    " # §",
    "| §\n  a",
    // TOML, make, Docker, templates, Markdown
    "\"\n§ = \"1",
    "'''\n[§]\n'''",
    "$(shell §) `§`",
    "a\n\t§",
    "a\nRUN §",
    "{{ § }}{% § %}${{ § }} kbrEndKbr",
    "a | `§` | <b>",
];

/// One of the planted texts.
pub fn breakout(random: &mut Random) -> String {
    random.one(&BREAKOUTS).replace('§', WORD)
}

/// One on a line that everyone sees as it is: as the name of a field or a file, which must have no others.
pub fn visible(random: &mut Random) -> String {
    loop {
        let text = breakout(random);
        if text.chars().all(is_plain) {
            return text;
        }
    }
}

/// Plants text in one of `share` places, in names with a hundredth of the chance: the rest of what has a wrong name is not read.
pub fn plant(random: &mut Random, share: usize, is_name: &dyn Fn(&str) -> bool, value: &mut Value) {
    planted(random, share, is_name, "", value);
}

fn planted(
    random: &mut Random,
    share: usize,
    is_name: &dyn Fn(&str) -> bool,
    path: &str,
    value: &mut Value,
) {
    match value {
        Value::Object(fields) => {
            let mut after = Map::new();
            for (key, mut value) in std::mem::take(fields) {
                let path = format!("{path}/{key}");
                planted(random, share, is_name, &path, &mut value);
                let is_renamed = !is_name(&path) && random.below(share * 8) == 0;
                after.insert(if is_renamed { visible(random) } else { key }, value);
            }
            *fields = after;
        }
        Value::Array(items) => {
            for item in items {
                planted(random, share, is_name, &format!("{path}/-"), item);
            }
        }
        scalar => {
            let chance = if is_name(path) { share * 100 } else { share };
            if random.below(chance) == 0 {
                *scalar = text(random, scalar);
            }
        }
    }
}

/// What is planted instead of a value: most often a text, which may begin as before.
fn text(random: &mut Random, before: &Value) -> Value {
    let planted = breakout(random);
    match random.below(12) {
        0 => json!([planted]),
        1 => json!({ "a": planted }),
        2 => json!(-1.5e300),
        3 => json!(true),
        4..8 => json!(format!("{}{planted}", before.as_str().unwrap_or("a"))),
        _ => json!(planted),
    }
}

/// Whether the file at `path` is YAML.
pub fn is_yaml(path: &str) -> bool {
    matches!(path.rsplit_once('.'), Some((_, "yaml")))
}

/// Checks YAML: both of the parsers that kbr and Kubernetes use (one like it) read the same data.
pub fn yaml(text: &str) -> Result<(), String> {
    let mut ours: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    let theirs = serde_yaml_ng::Deserializer::from_str(text).map(Value::deserialize);
    let theirs: Result<Vec<Value>, _> = theirs.collect();
    let mut theirs = theirs.map_err(|error| error.to_string())?;
    // A document of nothing but comments is null, or none.
    ours.retain(|it| !it.is_null());
    theirs.retain(|it| !it.is_null());
    if ours != theirs {
        return Err(format!("read in two ways: {ours:?} and {theirs:?}"));
    }
    ours.iter().try_for_each(data)
}

/// No planted text is a key or a value of its own.
pub fn data(value: &Value) -> Result<(), String> {
    match value {
        Value::Object(fields) if fields.contains_key(WORD) => Err("it is a key".to_owned()),
        Value::Object(fields) => fields.values().try_for_each(data),
        Value::Array(items) => items.iter().try_for_each(data),
        Value::String(text) if text == WORD => Err("it is a value".to_owned()),
        _ => Ok(()),
    }
}
