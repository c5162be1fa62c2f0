//! What an import does not take over: a list in `IMPORT.md`, and its first lines on the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kbr_host::lines::Lines;
use kbr_scaffold::quote;

/// The file in the new project.
pub const FILE: &str = "IMPORT.md";

/// How many notes the terminal shows.
const SHOWN: usize = 10;

/// What a note is about. What breaks first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Both operators would run, or lead, or leave something behind.
    Running,
    /// Webhooks and conversions.
    Admission,
    /// What the operator may do.
    Permissions,
    /// The operator's Deployment, and what `make deploy` creates beside it.
    Deployment,
    /// Kinds and their CRDs.
    Types,
    /// What the author ports: reconcilers, finalizers.
    Code,
    /// Other files.
    Files,
}

impl Part {
    fn title(self) -> &'static str {
        match self {
            Part::Running => "Take over from the operator in Go",
            Part::Admission => "Webhooks and conversions",
            Part::Permissions => "Permissions",
            Part::Deployment => "The Deployment",
            Part::Types => "Kinds and CRDs",
            Part::Code => "Code",
            Part::Files => "Other files",
        }
    }
}

/// All notes of an import, each once. Those that differ in one name are one.
#[derive(Debug, Default)]
pub struct Report {
    parts: BTreeMap<Part, Vec<Note>>,
    said: BTreeSet<String>,
    /// Where the note is that a sentence without one of its names belongs to.
    similar: BTreeMap<(Part, Vec<String>), usize>,
    /// The file of each controller and webhook, with the Go files that it replaces.
    ported: BTreeMap<String, Vec<String>>,
}

/// A sentence, split at its backticks, and the names that it is about.
#[derive(Debug)]
struct Note {
    pieces: Vec<String>,
    /// The piece that stands for several names, and these; none until there is a second one.
    names: Option<(usize, Vec<String>)>,
}

/// A sentence with more names is not compared with others.
const MOST_NAMES: usize = 8;

impl Note {
    /// Adds the name of a sentence that differs in one piece; false if this one already differs in another from its first.
    fn add(&mut self, at: usize, name: &str) -> bool {
        let first = || (at, vec![self.pieces[at].clone()]);
        let (place, names) = self.names.get_or_insert_with(first);
        if *place == at {
            names.push(name.to_owned());
        }
        *place == at
    }

    /// The sentence, with at most this many of its names.
    fn text(&self, most: usize) -> String {
        let Some((place, names)) = &self.names else {
            return self.pieces.join("`");
        };
        let shown = &names[..names.len().min(most)];
        let (before, after) = (&self.pieces[..*place], &self.pieces[place + 1..]);
        let (before, after) = (before.join("`"), after.join("`"));
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{before}`{}`{more}{after}", shown.join("`, `"))
    }
}

impl Report {
    /// Adds a note: what is not taken over or differs, and what to do.
    pub fn add(&mut self, part: Part, note: &str) {
        if !self.said.insert(note.to_owned()) {
            return;
        }
        let pieces: Vec<_> = note.split('`').map(str::to_owned).collect();
        let notes = self.parts.entry(part).or_default();
        let names = (1..pieces.len()).step_by(2);
        let sentences: Vec<_> = names
            .filter(|_| pieces.len() <= 2 * MOST_NAMES + 1 && pieces.len() % 2 == 1)
            .map(|at| {
                let mut sentence = pieces.clone();
                sentence[at].clear();
                (at, (part, sentence))
            })
            .collect();
        for (at, sentence) in &sentences {
            let similar = self.similar.get(sentence);
            if similar.is_some_and(|it| notes[*it].add(*at, &pieces[*at])) {
                return;
            }
        }
        for (_, sentence) in sentences {
            self.similar.insert(sentence, notes.len());
        }
        notes.push(Note {
            pieces,
            names: None,
        });
    }

    /// Adds several notes.
    pub fn extend(&mut self, part: Part, notes: impl IntoIterator<Item = String>) {
        notes.into_iter().for_each(|note| self.add(part, &note));
    }

    /// Adds files to port, each with a Go file.
    pub fn port(&mut self, files: &[(String, Option<String>)]) {
        for (path, go) in files {
            let all = self.ported.entry(path.clone()).or_default();
            let new = go.clone().filter(|it| !all.contains(it));
            all.extend(new);
        }
    }

    /// The text of `IMPORT.md`.
    pub fn markdown(&self) -> String {
        let mut text = "# What the import left\n\n\
            What `kbr import` did not take over, with what to do. What breaks first comes first.\n\
            Delete a line when it is done, and this file in the end.\n"
            .to_owned();
        for (part, notes) in &self.parts {
            let _ = writeln!(text, "\n## {}\n", part.title());
            for note in notes {
                let _ = writeln!(
                    text,
                    "- [ ] {}",
                    quote::markdown_line(&note.text(usize::MAX))
                );
            }
        }
        if !self.ported.is_empty() {
            text += "\n## To port\n\n| File | Go files, which it has as comments |\n|---|---|\n";
        }
        for (path, go) in &self.ported {
            let all: Vec<_> = go.iter().map(|it| quote::markdown(it)).collect();
            let go = match &all[..] {
                [] => "no reconciler was found for it".to_owned(),
                all => all.join(", "),
            };
            let _ = writeln!(text, "| {} | {go} |", quote::markdown(path));
        }
        text
    }

    /// The first notes; all of them, if there is no file that has the others.
    pub fn lines(&self, is_written: bool) -> Lines {
        let all = self.parts.values().flatten();
        let (shown, names) = if is_written {
            (SHOWN, 3)
        } else {
            (usize::MAX, usize::MAX)
        };
        let mut lines: Lines = all
            .clone()
            .take(shown)
            .map(|note| format!("note: {}", note.text(names)))
            .collect();
        let others = all.count().saturating_sub(shown);
        if others > 0 {
            lines.add(format_args!("note: {others} more in `{FILE}`"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_first_comes_first_and_the_terminal_shows_ten_notes() {
        let mut report = Report::default();
        for at in 0..12 {
            report.add(Part::Files, &format!("file {at}"));
        }
        report.add(Part::Running, "both lead");
        report.add(Part::Running, "both lead");
        let file = |go: Option<&str>| {
            [(
                "src/controllers/captain.rs".to_owned(),
                go.map(str::to_owned),
            )]
        };
        report.port(&file(Some("a.go")));
        report.port(&file(Some("b.go")));
        let lines = report.lines(true).to_string();
        assert!(
            lines.starts_with("note: both lead\nnote: file 0\n"),
            "{lines}"
        );
        assert!(
            lines.ends_with("note: file 8\nnote: 3 more in `IMPORT.md`\n"),
            "{lines}"
        );
        assert_eq!(report.lines(false).to_string().lines().count(), 13);
        let text = report.markdown();
        let order = ["## Take over", "- [ ] both lead", "## Other", "## To port"];
        let places: Vec<_> = order.map(|it| text.find(it).unwrap()).into();
        assert!(places.is_sorted(), "{text}");
        let row = "| `src/controllers/captain.rs` | `a.go`, `b.go` |\n";
        assert!(text.ends_with(row), "{text}");
    }

    #[test]
    fn sentences_that_differ_in_one_name_are_one() {
        let mut report = Report::default();
        for (kept, path) in [
            ("items", "a"),
            ("items", "b"),
            ("required", "b"),
            ("items", "c"),
            ("items", "d"),
            ("items", "d"),
        ] {
            report.add(Part::Types, &format!("kept `{kept}` of `{path}` as it is"));
        }
        let shown = "note: kept `items` of `a`, `b`, `c` and 1 more as it is\nnote: kept `required` of `b` as it is\n";
        assert_eq!(report.lines(true).to_string(), shown);
        let all = "- [ ] kept `items` of `a`, `b`, `c`, `d` as it is\n";
        assert!(report.markdown().contains(all));
    }
}
