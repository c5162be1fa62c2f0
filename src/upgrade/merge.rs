//! Merges the lines of three versions of a text.

use diffy::MergeOptions;

/// A part of a merged text: lines, each with its line feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Lines that only one side changed, or both in the same way.
    Merged(String),
    /// Lines that both sides changed, in different ways.
    Conflict {
        ancestor: String,
        ours: String,
        new: String,
    },
}

/// The names of the three versions behind conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// `0.1.0`: the release that the project comes from.
    pub from: &'a str,
    /// `0.2.0`: the release that it is upgraded to.
    pub to: &'a str,
}

impl Labels<'_> {
    /// The lines that begin, divide twice, and end a conflict, as git and diff3 write them.
    pub fn markers(self) -> [String; 4] {
        [
            "<<<<<<< yours".to_owned(),
            format!("||||||| kbr {}", self.from),
            "=======".to_owned(),
            format!(">>>>>>> kbr {}", self.to),
        ]
    }
}

/// Merges `ours` and `new`, which both come from `ancestor`. All have line feeds as line endings.
pub fn merge(ancestor: &str, ours: &str, new: &str) -> Vec<Segment> {
    let length = free_length([ancestor, ours, new]);
    let mut options = MergeOptions::new();
    options
        .set_conflict_marker_length(length)
        .set_incomplete_hunk_style(diffy::IncompleteHunkStyle::Git);
    match options.merge(ancestor, ours, new) {
        Ok(merged) => vec![Segment::Merged(merged)],
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

fn split(marked: &str, length: usize) -> Vec<Segment> {
    let is_marker = |line: &str, sign: char| {
        let run = line.chars().take_while(|it| *it == sign).count();
        run == length
    };
    let mut segments = Vec::new();
    let mut merged = String::new();
    // The three texts of the conflict in progress, and the one that is being read.
    let mut conflict: Option<([String; 3], usize)> = None;
    for line in marked.split_inclusive('\n') {
        conflict = match conflict.take() {
            None if is_marker(line, '<') => {
                if !merged.is_empty() {
                    segments.push(Segment::Merged(std::mem::take(&mut merged)));
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
                segments.push(Segment::Conflict {
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
        segments.push(Segment::Merged(merged));
    }
    segments
}

/// The whole text if no lines conflict.
pub fn clean(segments: &[Segment]) -> Option<String> {
    let mut text = String::new();
    for segment in segments {
        match segment {
            Segment::Merged(lines) => text += lines,
            Segment::Conflict { .. } => return None,
        }
    }
    Some(text)
}

/// The text with the user's lines where both sides changed them.
pub fn with_ours(segments: &[Segment]) -> String {
    let text = segments.iter().map(|segment| match segment {
        Segment::Merged(lines) => lines.as_str(),
        Segment::Conflict { ours, .. } => ours,
    });
    text.collect()
}

/// The text with markers around the conflicts.
pub fn with_markers(segments: &[Segment], labels: Labels) -> String {
    let [begin, middle, divide, end] = labels.markers();
    let mut text = String::new();
    for segment in segments {
        match segment {
            Segment::Merged(lines) => text += lines,
            Segment::Conflict {
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

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: Labels = Labels {
        from: "0.1.0",
        to: "0.2.0",
    };

    #[test]
    fn changes_of_different_lines_are_merged() {
        let segments = merge("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n");
        assert_eq!(clean(&segments).unwrap(), "A\nb\nc\nD\n");
    }

    #[test]
    fn changes_of_the_same_line_conflict() {
        let segments = merge("a\nb\nc\n", "a\nours\nc\n", "a\nnew\nc\n");
        assert_eq!(clean(&segments), None);
        assert_eq!(with_ours(&segments), "a\nours\nc\n");
        assert_eq!(
            with_markers(&segments, LABELS),
            "a\n<<<<<<< yours\nours\n||||||| kbr 0.1.0\nb\n=======\nnew\n>>>>>>> kbr 0.2.0\nc\n"
        );
    }

    #[test]
    fn markers_are_lines_of_their_own_after_a_text_without_a_final_line_feed() {
        let segments = merge("a", "b", "c");
        assert_eq!(
            with_markers(&segments, LABELS),
            "<<<<<<< yours\nb\n||||||| kbr 0.1.0\na\n=======\nc\n>>>>>>> kbr 0.2.0\n"
        );
    }

    #[test]
    fn lines_that_look_like_markers_are_text() {
        let text = "<<<<<<< ours\n||||||||\n=======\n>>>>>>>>>> theirs\n";
        let (ours, new) = (format!("{text}ours\n"), format!("{text}new\n"));
        let segments = merge(text, &ours, &new);
        assert_eq!(
            segments,
            [
                Segment::Merged(text.to_owned()),
                Segment::Conflict {
                    ancestor: String::new(),
                    ours: "ours\n".to_owned(),
                    new: "new\n".to_owned(),
                }
            ]
        );
    }
}
