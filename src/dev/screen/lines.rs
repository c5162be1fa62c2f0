//! Lines that programs print, as the screen shows them.

/// Whether a line of the operator's log, which is text or JSON, reports an error or a warning.
pub fn is_problem(line: &str) -> bool {
    let level = line.split_whitespace().nth(1);
    matches!(level, Some("ERROR" | "WARN"))
        || line.contains(r#""level":"ERROR""#)
        || line.contains(r#""level":"WARN""#)
        || line.starts_with("Error: ")
        || line.starts_with("thread '") && line.contains("panicked at")
}

/// `text` without escape sequences and other control characters except line feeds; tabs are spaces.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            // A control sequence ends with a letter or one of a few signs.
            '\x1b' if rest.as_str().starts_with('[') => {
                rest.next();
                rest.find(|c| ('\x40'..='\x7e').contains(c));
            }
            '\t' => plain.push_str("    "),
            '\n' => plain.push('\n'),
            character if character.is_control() => {}
            character => plain.push(character),
        }
    }
    plain
}

/// The rows of `width` characters that a line fills: at least one.
pub fn wrapped(line: &str, width: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let end = line.char_indices().nth(width.max(1)).map(|(at, _)| at);
        let (row, after) = line.split_at(end.unwrap_or(line.len()));
        rest = end.map(|_| after);
        Some(row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_of_a_log_are_recognized() {
        let problems = [
            "2027-01-15T08:00:09Z ERROR manager: x",
            "2027-01-15T08:00:09Z  WARN manager: x",
            r#"{"timestamp":"2027","level":"ERROR"}"#,
            "thread 'main' (7) panicked at src/main.rs:1:1:",
            "Error: no cluster",
        ];
        for line in problems {
            assert!(is_problem(line), "{line}");
        }
        for line in [
            "2027-01-15T08:00:09Z  INFO manager: no ERROR",
            "",
            "note: x",
        ] {
            assert!(!is_problem(line), "{line}");
        }
    }

    #[test]
    fn escape_sequences_are_left_out_and_tabs_are_spaces() {
        assert_eq!(
            plain("\x1b[1m\x1b[31merror\x1b[0m: a\tb\r\nc\x07"),
            "error: a    b\nc"
        );
        // A sequence that never ends.
        assert_eq!(plain("a\x1b[31"), "a");
        assert_eq!(plain("ä\x1b"), "ä");
    }

    #[test]
    fn a_long_line_fills_several_rows() {
        let rows = |line, width| wrapped(line, width).collect::<Vec<_>>();
        assert_eq!(rows("äbcde", 2), ["äb", "cd", "e"]);
        assert_eq!(rows("abcd", 2), ["ab", "cd"]);
        assert_eq!(rows("", 2), [""]);
        assert_eq!(rows("ab", 0), ["a", "b"]);
    }
}
