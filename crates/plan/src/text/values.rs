//! Values of fields -> lines of a report: of a long value, the part that differs.

use std::fmt::Write as _;
use std::time::Duration;

use kbr_host::lines::one_line;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::super::difference::Field;

/// The most characters of a value, and the most lines, without `details`.
const CHARACTERS: usize = 60;
const LINES: usize = 12;

/// How much is shown around a difference.
const AROUND: usize = 15;
const LINES_AROUND: usize = 1;

/// How long to look for the shortest difference.
const LIMIT: Duration = Duration::from_millis(500);

/// A field that differs, and its values.
pub fn shown(field: &Field, details: bool) -> Vec<String> {
    let [before, after] = [&field.before, &field.after].map(|it| it.as_ref().map(plain));
    let mut lines = match (&before, &after) {
        (Some(before), Some(after)) if before.contains('\n') && after.contains('\n') => {
            let mut lines = vec![field.path.clone()];
            lines.extend(differing_lines(before, after, details));
            lines
        }
        (Some(before), Some(after)) => {
            let (before, after) = differing_parts(before, after, details);
            vec![format!("{}   {before} → {after}", field.path)]
        }
        (None, Some(after)) => vec![format!("{}   → {}", field.path, shortened(after, details))],
        (Some(before), None) => vec![format!("{}   {} →", field.path, shortened(before, details))],
        (None, None) => vec![field.path.clone()],
    };
    if !field.taken_from.is_empty() {
        let others: Vec<&str> = field.taken_from.iter().map(String::as_str).collect();
        write!(lines[0], "   (was set by {})", others.join(" and ")).ok();
    }
    escaped(lines)
}

/// A field of a new object.
pub fn new(path: &str, value: &Value, details: bool) -> Vec<String> {
    let value = plain(value);
    if details && value.trim_end().contains('\n') {
        let lines = value.lines().map(|it| format!("  {it}"));
        return escaped([path.to_owned()].into_iter().chain(lines));
    }
    let value = if details { &*value } else { value.trim_end() };
    escaped([format!("{path}   {}", shortened(value, details))])
}

/// A text as one line, without its end if it is long.
pub fn shortened(text: &str, details: bool) -> String {
    let text = one_line(text);
    let most = if details { usize::MAX } else { CHARACTERS };
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn escaped(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let lines = lines.into_iter();
    lines.map(|it| one_line(&it).into_owned()).collect()
}

/// The values, without what is equal in them if they are long.
fn differing_parts(before: &str, after: &str, details: bool) -> (String, String) {
    let [before, after] = [before, after].map(|it| one_line(it).chars().collect::<Vec<char>>());
    let is_short = |it: &[char]| it.len() <= CHARACTERS;
    if details || is_short(&before) && is_short(&after) {
        return (before.iter().collect(), after.iter().collect());
    }
    let pairs = before.iter().zip(&after);
    let begin = pairs.take_while(|(a, b)| a == b).count();
    let pairs = before[begin..]
        .iter()
        .rev()
        .zip(after[begin..].iter().rev());
    let end = pairs.take_while(|(a, b)| a == b).count();
    let part = |text: &[char]| {
        let from = begin.saturating_sub(AROUND);
        let to = (text.len() - end + AROUND)
            .min(from + CHARACTERS)
            .min(text.len());
        let part: String = text[from..to].iter().collect();
        let dots = |is_cut| if is_cut { "…" } else { "" };
        format!("{}{part}{}", dots(from > 0), dots(to < text.len()))
    };
    (part(&before), part(&after))
}

/// The lines that differ, with signs, and some around them.
fn differing_lines(before: &str, after: &str, details: bool) -> Vec<String> {
    let difference = TextDiff::configure()
        .timeout(LIMIT)
        .diff_lines(before, after);
    let mut lines = Vec::new();
    for (at, group) in difference.grouped_ops(LINES_AROUND).iter().enumerate() {
        if at > 0 {
            lines.push("    …".to_owned());
        }
        for change in group.iter().flat_map(|it| difference.iter_changes(it)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = shortened(change.value().trim_end_matches('\n'), details);
            lines.push(format!("  {sign} {line}"));
        }
    }
    let most = if details { usize::MAX } else { LINES };
    if lines.len() > most {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(format!("    and {more} lines more: see --details"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn field(before: &str, after: &str) -> Field {
        Field {
            path: "data.x".to_owned(),
            before: Some(json!(before)),
            after: Some(json!(after)),
            taken_from: BTreeSet::new(),
        }
    }

    #[test]
    fn of_a_long_line_the_part_that_differs_is_shown() {
        let text = |zone: &str| format!("{} --zone={zone} {}", "a".repeat(100), "b".repeat(100));
        let around = ("aaaaaaa --zone=", " bbbbbbbbbbbbbb");
        let part = |zone: &str| format!("…{}{zone}{}…", around.0, around.1);
        let expected = format!("data.x   {} → {}", part("north"), part("east"));
        assert_eq!(
            shown(&field(&text("north"), &text("east")), false),
            [expected]
        );
        assert_eq!(
            shown(&field("north", "east"), false),
            ["data.x   north → east"]
        );
        let longer = shown(&field("north", &"n".repeat(200)), false);
        assert_eq!(longer, [format!("data.x   north → {}…", "n".repeat(60))]);
    }

    #[test]
    fn of_a_text_the_lines_that_differ_are_shown_with_those_around_them() {
        let text =
            |port: &str, level: &str| format!("a\nb\nport: {port}\nc\nd\ne\nlevel: {level}\n");
        let expected = [
            "data.x",
            "    b",
            "  - port: 80",
            "  + port: 90",
            "    c",
            "    …",
            "    e",
            "  - level: info",
            "  + level: debug",
        ];
        let shown =
            |port: &str, level: &str| shown(&field(&text("80", "info"), &text(port, level)), false);
        assert_eq!(shown("90", "debug"), expected);
        assert_eq!(shown("90", "info"), expected[..5]);
        let many = ["a", "b", "c", "d", "e"]
            .map(|it| format!("{it}\n").repeat(4))
            .concat();
        let many = super::shown(&field("a\n", &many), false);
        assert_eq!(many.last().unwrap(), "    and 8 lines more: see --details");
    }

    #[test]
    fn a_value_that_another_manager_had_set_says_so() {
        let mut field = field("5", "2");
        field.taken_from.insert("kubectl-edit".to_owned());
        assert_eq!(
            shown(&field, false),
            ["data.x   5 → 2   (was set by kubectl-edit)"]
        );
    }

    #[test]
    fn details_of_a_new_value_have_all_of_its_lines() {
        let value = json!("a\nb\n");
        assert_eq!(new("data.x", &value, true), ["data.x", "  a", "  b"]);
        assert_eq!(new("data.x", &value, false), ["data.x   a\\nb"]);
    }
}
