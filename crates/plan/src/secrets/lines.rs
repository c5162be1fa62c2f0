//! Fakes of configurations that consist of lines: YAML, `.env`, properties and INI. Keys stay, and values become others of their shape.

use super::fakes::{Fakes, Treatment};

/// The longest key. What is longer is a value.
const KEY: usize = 64;

/// The fake of a text whose lines have keys. `None` if none has.
pub fn fake(fakes: &mut Fakes, text: &str, treatment: Treatment) -> Option<String> {
    let form = Form::of(text);
    let starts: Vec<_> = text
        .split('\n')
        .map(|line| form.value_start(line))
        .collect();
    starts.iter().flatten().next()?;
    let mut made = Vec::new();
    for (line, start) in text.split('\n').zip(starts) {
        made.push(match start {
            Some(start) => {
                let (before, value) = line.split_at(start);
                before.to_owned() + &of_value(fakes, value, treatment.inner())
            }
            None => without_key(fakes, line, form, treatment.inner().unsearched()),
        });
    }
    Some(made.join("\n"))
}

/// What may be a key in a text.
#[derive(Clone, Copy)]
struct Form {
    has_lines: bool,
    /// Whether each line is an assignment, comment or section. Otherwise `=` is a part of most values: of base64, and of passwords.
    is_assignments: bool,
}

impl Form {
    fn of(text: &str) -> Form {
        let mut lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
        let has_lines = lines.clone().nth(1).is_some();
        let is_assignment =
            |line: &str| line.starts_with(['#', ';', '[']) || assignment(line, |_| true).is_some();
        Form {
            has_lines,
            is_assignments: has_lines && lines.all(is_assignment),
        }
    }

    /// Where the value begins in a line with a key.
    fn value_start(self, line: &str) -> Option<usize> {
        let mut start = line.len() - line.trim_start().len();
        while self.has_lines && line[start..].starts_with("- ") {
            start += 2;
            start += line[start..].len() - line[start..].trim_start().len();
        }
        let rest = &line[start..];
        let is_key = |key: &str| self.is_assignments || is_of_one_case(key);
        mapping(rest, self.has_lines)
            .or_else(|| assignment(rest, is_key))
            .map(|length| start + length)
    }
}

/// The length of `key: ` of YAML.
fn mapping(text: &str, has_lines: bool) -> Option<usize> {
    let key = key_length(text)?;
    let after = text[key..].trim_start_matches(' ').strip_prefix(':')?;
    let value = after.trim_start_matches([' ', '\t']);
    let is_mapping = match value.trim() {
        "" => has_lines,
        _ => value.len() < after.len(),
    };
    is_mapping.then_some(text.len() - value.len())
}

/// The length of `key=`, also of `export key =`.
fn assignment(text: &str, is_key: impl Fn(&str) -> bool) -> Option<usize> {
    let rest = text.strip_prefix("export ").unwrap_or(text);
    let key = key_length(rest)?;
    let after = rest[key..].trim_start_matches(' ').strip_prefix('=')?;
    let value = after.trim_start_matches([' ', '\t']);
    let is_assignment = is_key(&rest[..key]) && !value.trim().is_empty() && !value.starts_with('=');
    is_assignment.then_some(text.len() - value.len())
}

fn key_length(text: &str) -> Option<usize> {
    let length = match text.chars().next()? {
        '"' => text[1..].find('"')? + 2,
        '\'' => text[1..].find('\'')? + 2,
        _ => {
            let is_key = |c: char| c.is_ascii_alphanumeric() || "_.-/<".contains(c);
            text.find(|c| !is_key(c)).unwrap_or(text.len())
        }
    };
    (1..=KEY).contains(&length).then_some(length)
}

fn is_of_one_case(key: &str) -> bool {
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let any = |is: fn(&u8) -> bool| key.bytes().any(|c| is(&c));
    starts && any(u8::is_ascii_uppercase) != any(u8::is_ascii_lowercase)
}

/// A value with its quotes and the comment after it.
fn of_value(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    let value = text.trim_end();
    let after = &text[value.len()..];
    // An anchor of YAML and its aliases have the same name, and so the same fake.
    if let Some(name) = value.strip_prefix(['&', '*']) {
        let (name, rest) = name.split_at(name.find(' ').unwrap_or(name.len()));
        let name = fakes.text(name, treatment);
        let rest = of_rest(fakes, rest, treatment);
        return format!("{}{name}{rest}{after}", &value[..1]);
    }
    match value.split_once(" #") {
        Some((value, comment)) if !value.starts_with(['"', '\'']) => {
            let comment = fakes.text(comment, treatment.unsearched());
            let value = of_rest(fakes, value, treatment);
            format!("{value} #{comment}{after}")
        }
        _ => of_rest(fakes, value, treatment) + after,
    }
}

fn of_rest(fakes: &mut Fakes, value: &str, treatment: Treatment) -> String {
    let is_quoted = |quote| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
    if is_quoted('"') {
        if let Ok(inner) = serde_json::from_str::<String>(value) {
            return serde_json::Value::from(fakes.text(&inner, treatment)).to_string();
        }
        // Escapes that only other formats have.
        let inner = value[1..value.len() - 1].replace(['\\', '"'], "/");
        return format!("\"{}\"", fakes.text(&inner, treatment));
    }
    if is_quoted('\'') {
        let inner = &value[1..value.len() - 1];
        return format!("'{}'", fakes.text(inner, treatment));
    }
    // The syntax of YAML: `{}`, `|-`, `---`.
    let is_syntax = value.len() < 4 && value.bytes().all(|c| c.is_ascii_punctuation());
    if is_syntax {
        return value.to_owned();
    }
    fakes.text(value, treatment)
}

/// A comment, a section, an element of a list, or a line of a longer text.
fn without_key(fakes: &mut Fakes, line: &str, form: Form, treatment: Treatment) -> String {
    let content = line.trim_start();
    let before = &line[..line.len() - content.len()];
    let is_section = form.is_assignments && content.starts_with('[');
    if is_section && content.len() <= KEY && content.trim_end().ends_with(']') {
        return line.to_owned();
    }
    for mark in ["- ", "# ", "#"] {
        if let Some(rest) = content.strip_prefix(mark) {
            let treatment = Treatment {
                searched: mark == "- " && form.has_lines,
                ..treatment
            };
            return format!("{before}{mark}{}", of_value(fakes, rest, treatment));
        }
    }
    before.to_owned() + &of_rest(fakes, content, treatment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::shape;

    /// The text with `*` instead of letters and digits that changed.
    fn changed(text: &str) -> String {
        let mut fakes = Fakes::new(shape::text).unwrap();
        let Some(fake) = fake(&mut fakes, text, Treatment::VALUE) else {
            return "no lines".to_owned();
        };
        assert_eq!(fake.len(), text.len(), "{fake}");
        let pairs = text.chars().zip(fake.chars());
        pairs.map(|(a, b)| if a == b { a } else { '*' }).collect()
    }

    /// A long value changes in at least one place.
    fn check(text: &str, expected: &str) {
        let changed = changed(text);
        let is_like = |(a, b): (char, char)| a == b || b == '*';
        assert!(
            changed.chars().zip(expected.chars()).all(is_like),
            "{changed}"
        );
        assert_eq!(changed.len(), expected.len());
        assert_eq!(changed.contains('*'), expected.contains('*'));
    }

    #[test]
    fn keys_and_syntax_stay() {
        check("a: secret\nb: true", "a: ******\nb: true");
        check(
            "a:\n  - bcdefg\n  - c: \"bcdefg\"",
            "a:\n  - ******\n  - c: \"******\"",
        );
        check("export A_B='cdefgh'", "export A_B='******'");
        check("[a]\nkeyStore = cdefgh", "[a]\nkeyStore = ******");
        check(
            "# abcdef\na=bcdefgh # cdefghi",
            "# ******\na=******* # *******",
        );
        check(
            "a: &xyz\n  b: {}\r\nc: !!x y",
            "a: &***\n  b: {}\r\nc: !!* *",
        );
        check(
            "<<: *abc\na.b/c: |-\n  bcdefgh",
            "<<: ****\na.b/c: |-\n  *******",
        );
        check("A_B=cdefghi", "A_B=*******");
        check("password: cdefghi", "password: *******");
    }

    #[test]
    fn an_anchor_and_its_aliases_have_the_same_fake() {
        let mut fakes = Fakes::new(shape::text).unwrap();
        let fake = fake(&mut fakes, "a: &abcd {}\nb: *abcd", Treatment::VALUE).unwrap();
        let (anchor, alias) = (&fake[4..8], &fake[fake.len() - 4..]);
        assert_eq!(anchor, alias);
        assert_ne!(anchor, "abcd");
    }

    #[test]
    fn an_equals_sign_in_a_value_does_not_make_a_key_of_it() {
        for text in [
            "Ab1=cdef",
            "abcdefgh=",
            "abcd==",
            "abcdefgh:",
            "1a=b",
            "a b=c",
        ] {
            assert_eq!(changed(text), "no lines", "{text}");
        }
        assert_eq!(changed("Ab1=cdef\nno assignment"), "no lines");
    }
}
