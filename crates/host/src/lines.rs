//! Lines of messages. Names and texts in them are those of files, projects and clusters, which a stranger may have made: none begins a
//! line of its own, such as `help: run …`, and none moves what the terminal shows.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::ops::AddAssign;

/// Lines of a message, each of which is escaped when it is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(String);

impl Lines {
    /// Adds a line.
    pub fn add(&mut self, line: impl Display) {
        self.0 += &one_line(&line.to_string());
        self.0.push('\n');
    }
}

/// Text that kbr itself contains; each line has its end.
impl From<&'static str> for Lines {
    fn from(text: &'static str) -> Self {
        Lines(text.to_owned())
    }
}

impl AddAssign<&Lines> for Lines {
    fn add_assign(&mut self, more: &Lines) {
        self.0 += &more.0;
    }
}

impl<T: Display> Extend<T> for Lines {
    fn extend<I: IntoIterator<Item = T>>(&mut self, lines: I) {
        lines.into_iter().for_each(|line| self.add(line));
    }
}

impl<T: Display> FromIterator<T> for Lines {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut lines = Lines::default();
        lines.extend(all);
        lines
    }
}

impl Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text as one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || is_hidden(c))
}

/// The text with its lines.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Control characters, which move the cursor or change the title of a terminal, and those that no one sees: they change the direction
/// of text, or end a line in some terminals.
fn is_hidden(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    is_invisible || c.is_control() && c != '\n' && c != '\t'
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// A text as one word of a command to type: in quotes if a shell would read it otherwise.
pub fn shell(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r#"'"'"'"#))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_marks_of_direction_are_shown_as_escapes() {
        for (text, expected) in [
            ("a\tb\nä", "a\tb\nä"),
            ("\x1b[2J\x07", "\\u{1b}[2J\\u{7}"),
            ("a\r\n", "a\\r\n"),
            ("\u{9b}2J\x7f\0", "\\u{9b}2J\\u{7f}\\u{0}"),
            (
                "a\u{202e}b\u{2066}\u{200f}",
                "a\\u{202e}b\\u{2066}\\u{200f}",
            ),
            ("a\u{2028}b\u{e0041}", "a\\u{2028}b\\u{e0041}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(one_line("a\nerror: b"), "a\\nerror: b");
        let mut lines = Lines::from("next:\n");
        lines.add("  edit a\nhelp: b");
        lines += &["c", "d\n"].into_iter().collect();
        assert_eq!(lines.to_string(), "next:\n  edit a\\nhelp: b\nc\nd\\n\n");
    }

    #[test]
    fn a_word_of_a_command_is_quoted_if_a_shell_would_divide_or_expand_it() {
        for (text, quoted) in [
            ("../audit.log", "../audit.log"),
            ("au dit.log", "'au dit.log'"),
            ("it's", r#"'it'"'"'s'"#),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(shell(text), quoted);
        }
    }
}
