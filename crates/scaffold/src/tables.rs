//! The tables of a text of TOML, with the span of each header, key and value.
//!
//! Whatever edits TOML reads it here, and edits the text itself, so that comments, line endings and the user's layout stay. A text that
//! is not valid is read as far as it goes: templates are not valid, and whether a result is valid is checked in the end.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};
use toml_parser::{Source, Span};

use kbr_host::lines::Lines;

/// The deepest value that is read, as in the crate `toml`.
const DEPTH: u32 = 80;

/// A table with its own header, or what precedes the first header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// `["dependencies", "kube"]`; empty for what precedes the first header.
    pub path: Vec<String>,
    /// From the first bracket to the last; empty for what precedes the first header.
    pub header: Range<usize>,
    /// Its keys, in order.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// `["kube", "version"]` for `kube.version = "5"`.
    pub path: Vec<String>,
    /// The key, with all its parts.
    pub key: Range<usize>,
    /// The value, which may have several lines; empty if it is missing.
    pub value: Range<usize>,
}

impl Table {
    /// The entry of `key`, if the table has it and it is not dotted.
    pub fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == [key])
    }

    /// The end of its last value, or of its header.
    pub fn end(&self) -> usize {
        let last = self.entries.last();
        last.map_or(self.header.end, |entry| entry.value.end)
    }
}

/// The tables of `text` in order. The first one is what precedes the first header.
pub fn tables(text: &str) -> Vec<Table> {
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source::new(plain);
    let mut reader = Reader {
        source,
        mark: text.len() - plain.len(),
        done: Vec::new(),
        table: Table::default(),
        entry: Entry::default(),
        state: State::Between,
    };
    let tokens = source.lex().into_vec();
    let mut receive = |event: Event| reader.read(&event);
    let mut guard = RecursionGuard::new(&mut receive, DEPTH);
    parse_document(&tokens, &mut guard, &mut ());
    reader.end_table();
    reader.done
}

/// What the parser says: the line of the file, and the message, which may contain the name of a key.
pub fn shown(error: &toml::de::Error) -> Lines {
    let (text, message) = (error.to_string(), error.message());
    let place = text.trim_end().strip_suffix(message).unwrap_or_default();
    place.lines().chain([message]).collect()
}

/// The whole lines around `range`, with the last line feed.
pub fn lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n');
    start..end.map_or(text.len(), |at| range.end + at + 1)
}

struct Reader<'a> {
    source: Source<'a>,
    /// The length of the byte order mark.
    mark: usize,
    done: Vec<Table>,
    /// What is being read.
    table: Table,
    entry: Entry,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Between,
    Header,
    Key,
    /// After `=`, inside of this many brackets.
    Value(usize),
}

impl Reader<'_> {
    fn read(&mut self, event: &Event) {
        let span = self.span(event.span());
        match (self.state, event.kind()) {
            (State::Value(depth), kind) => self.value(depth, kind, span),
            (_, EventKind::StdTableOpen | EventKind::ArrayTableOpen) => {
                self.end_table();
                self.table.header = span;
                self.state = State::Header;
            }
            (State::Header, EventKind::StdTableClose | EventKind::ArrayTableClose) => {
                self.table.header.end = span.end;
                self.state = State::Between;
            }
            (State::Header, EventKind::SimpleKey) => self.table.path.push(self.name(event)),
            (State::Between, EventKind::SimpleKey) => {
                self.state = State::Key;
                self.entry.path.push(self.name(event));
                self.entry.value = span.end..span.end;
                self.entry.key = span;
            }
            (State::Key, EventKind::SimpleKey) => {
                self.entry.path.push(self.name(event));
                self.entry.key.end = span.end;
                self.entry.value = span.end..span.end;
            }
            (State::Key, EventKind::KeyValSep) => self.state = State::Value(0),
            (_, EventKind::Newline) => self.end_entry(),
            _ => {}
        }
    }

    /// An event after `=`.
    fn value(&mut self, depth: usize, kind: EventKind, span: Range<usize>) {
        let depth = match kind {
            EventKind::Newline if depth == 0 => return self.end_entry(),
            EventKind::Whitespace | EventKind::Comment if depth == 0 => return,
            EventKind::ArrayOpen | EventKind::InlineTableOpen => depth + 1,
            EventKind::ArrayClose | EventKind::InlineTableClose => depth.saturating_sub(1),
            _ => depth,
        };
        self.state = State::Value(depth);
        let value = &mut self.entry.value;
        if value.start == value.end {
            value.start = span.start;
        }
        value.end = span.end;
    }

    fn end_entry(&mut self) {
        self.state = State::Between;
        if !self.entry.path.is_empty() {
            self.table.entries.push(mem::take(&mut self.entry));
        }
    }

    fn end_table(&mut self) {
        self.end_entry();
        self.done.push(mem::take(&mut self.table));
    }

    fn span(&self, span: Span) -> Range<usize> {
        span.start() + self.mark..span.end() + self.mark
    }

    /// A part of a key, without its quotes.
    fn name(&self, event: &Event) -> String {
        let mut name = Cow::Borrowed("");
        if let Some(raw) = self.source.get(event) {
            raw.decode_key(&mut name, &mut ());
        }
        name.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each table as `header path: key path=value, …`.
    fn read(text: &str) -> Vec<String> {
        let shown = |table: Table| {
            let entries = table.entries.iter().map(|entry| {
                let (key, value) = (&text[entry.key.clone()], &text[entry.value.clone()]);
                format!("{key} {:?}={value}", entry.path)
            });
            let entries: Vec<String> = entries.collect();
            let header = &text[table.header.clone()];
            format!("{header} {:?}: {}", table.path, entries.join(", "))
        };
        tables(text).into_iter().map(shown).collect()
    }

    const TEXT: &str = "\u{feff}a = 1 # one\n\"b.c\" . 'd'='[x] = #'\n\n[ t . \"u v\" ] # t\n# no = 1\ne = [\n  \"[f]\", # g = 1\n  { h = 2 },\n]\ni = '''\n[j]\nk = 1\n'''\n[[l]]\n[l.m]\nn.o = true";

    #[test]
    fn spans_are_those_of_headers_keys_and_values() {
        let expected = [
            " []: a [\"a\"]=1, \"b.c\" . 'd' [\"b.c\", \"d\"]='[x] = #'",
            "[ t . \"u v\" ] [\"t\", \"u v\"]: e [\"e\"]=[\n  \"[f]\", # g = 1\n  { h = 2 },\n], i [\"i\"]='''\n[j]\nk = 1\n'''",
            "[[l]] [\"l\"]: ",
            "[l.m] [\"l\", \"m\"]: n.o [\"n\", \"o\"]=true",
        ];
        assert_eq!(read(TEXT), expected);
        let windows = expected.map(|table| table.replace('\n', "\r\n"));
        assert_eq!(read(&TEXT.replace('\n', "\r\n")), windows);
    }

    #[test]
    fn a_text_that_is_not_valid_is_read_as_far_as_it_goes() {
        let text =
            "[package]\n{% if a %}\nname = \"{{ project }}\"\n[dependencies\nb =\nc = \"1\"\n";
        let tables = tables(text);
        assert_eq!(tables[1].path, ["package"]);
        assert_eq!(
            &text[tables[1].find("name").unwrap().value.clone()],
            "\"{{ project }}\""
        );
        assert_eq!(tables[2].path, ["dependencies"]);
        assert_eq!(&text[tables[2].find("c").unwrap().value.clone()], "\"1\"");
        let deep = format!("a = {}\nb = 1\n", "[".repeat(100_000));
        assert!(!super::tables(&deep).is_empty());
    }
}
