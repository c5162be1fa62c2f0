//! Merges the lines of three versions of a text.

use diffy::MergeOptions;

use super::Span;

/// A part of a merged text: lines, each with its line feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hunk {
    /// Lines that only one side changed, or both in the same way.
    Merged(String),
    /// Lines that both sides changed, in different ways.
    Conflict {
        ancestor: String,
        ours: String,
        new: String,
    },
}

/// The lines that begin, divide twice, and end a conflict, as git and diff3 write them.
fn markers(span: Span) -> [String; 4] {
    [
        "<<<<<<< yours".to_owned(),
        format!("||||||| kbr {}", span.from),
        "=======".to_owned(),
        format!(">>>>>>> kbr {}", span.to),
    ]
}

/// The most lines that are compared with others, which takes time with the square of their number. Scaffolds have hundreds.
const MOST_LINES: usize = 10_000;

/// Whether comparing this text with another one takes seconds.
pub fn is_long(text: &str) -> bool {
    text.lines().nth(MOST_LINES).is_some()
}

/// Merges `ours` and `new`, which both come from `ancestor`. All have line feeds as line endings.
pub fn merge(ancestor: &str, ours: &str, new: &str) -> Vec<Hunk> {
    let length = free_length([ancestor, ours, new]);
    let mut options = MergeOptions::new();
    options
        .set_conflict_marker_length(length)
        .set_incomplete_hunk_style(diffy::IncompleteHunkStyle::Git);
    match options.merge(ancestor, ours, new) {
        Ok(merged) => vec![Hunk::Merged(merged)],
        Err(marked) => split(&marked, length),
    }
}

/// A length of markers that no line of the texts begins with.
fn free_length(texts: [&str; 3]) -> usize {
    let run = |line: &str| {
        let first = line.chars().next();
        let signs = first.filter(|sign| "<|=>".contains(*sign));
        signs.map_or(0, |sign| line.chars().take_while(|it| *it == sign).count())
    };
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.map(run).max().unwrap_or(0).max(7) + 1
}

fn split(marked: &str, length: usize) -> Vec<Hunk> {
    let is_marker = |line: &str, sign: char| {
        let run = line.chars().take_while(|it| *it == sign).count();
        run == length
    };
    let mut hunks = Vec::new();
    let mut merged = String::new();
    // The three texts of the conflict in progress, and the one that is being read.
    let mut conflict: Option<([String; 3], usize)> = None;
    for line in marked.split_inclusive('\n') {
        conflict = match conflict.take() {
            None if is_marker(line, '<') => {
                if !merged.is_empty() {
                    hunks.push(Hunk::Merged(std::mem::take(&mut merged)));
                }
                Some(Default::default())
            }
            None => {
                merged += line;
                None
            }
            Some((texts, 0)) if is_marker(line, '|') => Some((texts, 1)),
            Some((texts, 1)) if is_marker(line, '=') => Some((texts, 2)),
            Some((texts, 2)) if is_marker(line, '>') => {
                let [ours, ancestor, new] = texts;
                hunks.push(Hunk::Conflict {
                    ancestor,
                    ours,
                    new,
                });
                None
            }
            Some((mut texts, at)) => {
                texts[at] += line;
                Some((texts, at))
            }
        };
    }
    if !merged.is_empty() {
        hunks.push(Hunk::Merged(merged));
    }
    hunks
}

/// The whole text if no lines conflict.
pub fn clean(hunks: &[Hunk]) -> Option<String> {
    let mut text = String::new();
    for hunk in hunks {
        match hunk {
            Hunk::Merged(lines) => text += lines,
            Hunk::Conflict { .. } => return None,
        }
    }
    Some(text)
}

/// The text with the user's lines where both sides changed them.
pub fn with_ours(hunks: &[Hunk]) -> String {
    let text = hunks.iter().map(|hunk| match hunk {
        Hunk::Merged(lines) => lines.as_str(),
        Hunk::Conflict { ours, .. } => ours,
    });
    text.collect()
}

/// The text with markers around the conflicts.
pub fn with_markers(hunks: &[Hunk], span: Span) -> String {
    let [begin, middle, divide, end] = markers(span);
    let mut text = String::new();
    for hunk in hunks {
        match hunk {
            Hunk::Merged(lines) => text += lines,
            Hunk::Conflict {
                ancestor,
                ours,
                new,
            } => {
                let parts = [
                    (&begin, ours.as_str()),
                    (&middle, ancestor),
                    (&divide, new),
                    (&end, ""),
                ];
                for (marker, lines) in parts {
                    text.extend([marker, "\n", lines]);
                    if !lines.is_empty() && !lines.ends_with('\n') {
                        text.push('\n');
                    }
                }
            }
        }
    }
    text
}

/// The lines of `text`, from 1, that are markers of a conflict. A line that only divides counts inside a conflict: outside, it may
/// underline a heading.
pub fn marked<'a>(text: &'a str, span: Span) -> Vec<(usize, &'a str)> {
    let [begin, middle, divide, end] = markers(span);
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let labelled = line == begin || line == middle || line == end;
        if labelled || inside && line == divide {
            found.push((number, line));
        }
        inside = if labelled { line != end } else { inside };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        from: "0.1.0",
        to: "0.2.0",
    };

    #[test]
    fn changes_of_different_lines_are_merged() {
        let hunks = merge("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n");
        assert_eq!(clean(&hunks).unwrap(), "A\nb\nc\nD\n");
    }

    #[test]
    fn changes_of_the_same_line_conflict() {
        let hunks = merge("a\nb\nc\n", "a\nours\nc\n", "a\nnew\nc\n");
        assert_eq!(clean(&hunks), None);
        assert_eq!(with_ours(&hunks), "a\nours\nc\n");
        assert_eq!(
            with_markers(&hunks, SPAN),
            "a\n<<<<<<< yours\nours\n||||||| kbr 0.1.0\nb\n=======\nnew\n>>>>>>> kbr 0.2.0\nc\n"
        );
    }

    #[test]
    fn markers_are_lines_of_their_own_after_a_text_without_a_final_line_feed() {
        let hunks = merge("a", "b", "c");
        assert_eq!(
            with_markers(&hunks, SPAN),
            "<<<<<<< yours\nb\n||||||| kbr 0.1.0\na\n=======\nc\n>>>>>>> kbr 0.2.0\n"
        );
    }

    #[test]
    fn lines_that_look_like_markers_are_text() {
        let text = "<<<<<<< ours\n||||||||\n=======\n>>>>>>>>>> theirs\n";
        let (ours, new) = (format!("{text}ours\n"), format!("{text}new\n"));
        let hunks = merge(text, &ours, &new);
        assert_eq!(
            hunks,
            [
                Hunk::Merged(text.to_owned()),
                Hunk::Conflict {
                    ancestor: String::new(),
                    ours: "ours\n".to_owned(),
                    new: "new\n".to_owned(),
                }
            ]
        );
    }

    #[test]
    fn only_lines_that_kbr_writes_around_conflicts_are_markers() {
        let numbers = |text: &str| -> Vec<usize> {
            let found = marked(text, SPAN);
            found.into_iter().map(|(number, _)| number).collect()
        };
        let conflict = with_markers(&merge("a\nb\n", "a\nours\n", "a\nnew\n"), SPAN);
        assert_eq!(numbers(&conflict), [2, 4, 6, 8]);
        let heading = "Heading\n=======\n";
        assert_eq!(
            numbers(&format!("{heading}{conflict}{heading}")),
            [4, 6, 8, 10]
        );
        for text in [
            heading,
            "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n",
            " <<<<<<< yours\n",
            ">>>>>>> kbr 0.1.0\n",
        ] {
            assert_eq!(numbers(text), [0; 0], "{text}");
        }
        assert_eq!(
            numbers("=======\na\n>>>>>>> kbr 0.2.0\n"),
            [3],
            "a marker that was forgotten"
        );
    }
}
