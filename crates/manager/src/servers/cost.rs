//! Estimates the memory that JSON takes once it is parsed, without parsing it.

use crate::json_path::end_of_text;

/// The bytes of a value in a list, which may have room for twice as many as it holds.
const VALUE: usize = 2 * size_of::<serde_json::Value>();

/// The bytes of an object: its map has room for eleven fields, however few it has.
const OBJECT: usize = 640;

/// The bytes of a text, besides its content.
const TEXT: usize = size_of::<String>() + 16;

/// How many copies of a text there are at once: in the object, and in what it is written to.
const COPIES: usize = 4;

/// The bytes that the most expensive value at this depth takes; the whole document is at depth 0.
pub(crate) fn most_expensive(json: &[u8], depth: usize) -> usize {
    let (mut most, mut cost, mut level, mut at) = (0, 0, 0_usize, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                let end = end_of_text(json, at);
                cost += TEXT + COPIES * (end - at);
                at = end;
                continue;
            }
            b'{' | b'[' => {
                level += 1;
                cost += VALUE + if *byte == b'{' { OBJECT } else { 0 };
                if level <= depth {
                    cost = 0;
                }
            }
            b',' => cost += VALUE,
            b'}' | b']' => {
                level = level.saturating_sub(1);
                if level <= depth {
                    most = most.max(cost);
                    cost = 0;
                }
            }
            _ => {}
        }
        at += 1;
    }
    most.max(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_text_and_object_has_its_cost() {
        for (json, cost) in [
            ("", 0),
            ("1", 0),
            ("[]", VALUE),
            ("[1,2,3]", 3 * VALUE),
            (r#""a\"}""#, TEXT + COPIES * 6),
            (
                r#"{"a":"{[,","b":[]}"#,
                OBJECT + 3 * VALUE + 3 * TEXT + COPIES * 11,
            ),
        ] {
            assert_eq!(most_expensive(json.as_bytes(), 0), cost, "{json}");
        }
    }

    #[test]
    fn at_a_depth_the_most_expensive_value_counts() {
        let json = r#"{"a":"long text","b":[[1],[1,2,3],["a"]]}"#;
        assert_eq!(most_expensive(json.as_bytes(), 2), 4 * VALUE);
    }

    #[test]
    fn what_is_no_json_has_a_cost() {
        for json in ["]]]]}", "\"", "[[[[", "{\"a\\"] {
            most_expensive(json.as_bytes(), 3);
        }
    }
}
