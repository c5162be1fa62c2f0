//! JSON in which only strings change: numbers, order, keys and spaces stay as they are.

use serde_json::Value;

/// Whether a text is an object or an array of JSON.
pub fn is_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok()
}

/// The text with what `change` returns instead of strings. It is called with the last key before the string, and with the string; keys
/// stay. The text must be JSON.
pub fn map_strings(text: &str, mut change: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut mapped = String::with_capacity(text.len());
    let (mut rest, mut key) = (text, String::new());
    while let Some(start) = rest.find('"') {
        let end = start + string_length(&rest[start..]);
        let token = &rest[start..end];
        mapped += &rest[..start];
        rest = &rest[end..];
        let content: Option<String> = serde_json::from_str(token).ok();
        let is_key = rest.trim_start().starts_with(':');
        match content {
            Some(content) if is_key => {
                mapped += token;
                key = content;
            }
            Some(content) => match change(&key, &content) {
                Some(changed) => mapped += &Value::from(changed).to_string(),
                None => mapped += token,
            },
            None => mapped += token,
        }
    }
    mapped + rest
}

/// The length of the string at the start, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_that_are_no_keys_change() {
        let text = "{ \"a\\\"\" : \"b\\\"c\", \"n\":1e400000,\n\"l\":[\"x\",true,\"\"]}\n";
        let mut seen = Vec::new();
        let mapped = map_strings(text, |key, value| {
            seen.push(format!("{key}={value}"));
            (value != "x").then(|| format!("<{value}>"))
        });
        assert_eq!(
            mapped,
            "{ \"a\\\"\" : \"<b\\\"c>\", \"n\":1e400000,\n\"l\":[\"x\",true,\"<>\"]}\n"
        );
        assert_eq!(seen, ["a\"=b\"c", "l=x", "l="]);
    }
}
