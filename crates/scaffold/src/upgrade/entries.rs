//! Merges files whose entries matter, and not the order of their lines: manifests of cargo, by table and key, and kustomizations and
//! workflows, by key and list entry.
//!
//! An entry is a key with its value, or an item of a list, with the comments above it. Entries of kbr that changed replace those in
//! the user's text, which otherwise stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::tables::{lines, tables};

/// A table of TOML, or a top-level key of YAML, with its entries. What precedes the first one has the name "".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Section {
    /// Its identity.
    name: String,
    /// Its own line, if it has one, after its comments.
    head: Entry,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// Its identity in the section: the key, the first line of a list item, or the text of a comment that belongs to nothing.
    key: String,
    /// Blank lines and comments directly above it.
    lead: String,
    /// Its lines.
    body: String,
}

/// The files that have entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Toml,
    Yaml,
}

/// The merged text; `None` if both sides changed an entry differently, or the file at `path` has no entries.
pub fn merge(path: &str, ancestor: &str, ours: &str, new: &str) -> Option<String> {
    let format = match path.rsplit_once('.')?.1 {
        "toml" => Format::Toml,
        "yaml" | "yml" => Format::Yaml,
        _ => return None,
    };
    let [ancestor, ours, new] = [ancestor, ours, new].map(|text| sections(format, text));
    let merged = merge_sections(&ancestor, &ours, &new)?;
    Some(merged.iter().map(text).collect())
}

fn text(section: &Section) -> String {
    let entries = section.entries.iter();
    let parts = std::iter::once(&section.head).chain(entries);
    parts.fold(String::new(), |text, entry| {
        text + &entry.lead + &entry.body
    })
}

fn merge_sections(ancestor: &[Section], ours: &[Section], new: &[Section]) -> Option<Vec<Section>> {
    let by_name = |sections: &[Section]| -> BTreeMap<String, Section> {
        let named = sections.iter().map(|it| (it.name.clone(), it.clone()));
        named.collect()
    };
    let (old, renewed) = (by_name(ancestor), by_name(new));
    let mut merged = Vec::new();
    for section in ours {
        match (old.get(&section.name), renewed.get(&section.name)) {
            (Some(old), None) if old == section => {}
            (_, None) => merged.push(section.clone()),
            (old, Some(renewed)) => {
                let none = Section::default();
                let old = old.unwrap_or(&none);
                merged.push(Section {
                    name: section.name.clone(),
                    head: merge_entry(Some(&old.head), &section.head, Some(&renewed.head))??,
                    entries: merge_entries(&old.entries, &section.entries, &renewed.entries)?,
                });
            }
        }
    }
    for (at, section) in new.iter().enumerate() {
        if old.contains_key(&section.name) || merged.iter().any(|it| it.name == section.name) {
            continue;
        }
        let place = place(&merged, &new[..at], |a, b| a.name == b.name);
        merged.insert(place, section.clone());
    }
    Some(merged)
}

/// `None` if both sides changed an entry.
fn merge_entries(ancestor: &[Entry], ours: &[Entry], new: &[Entry]) -> Option<Vec<Entry>> {
    let find = |entries: &[Entry], key: &str| entries.iter().find(|it| it.key == key).cloned();
    let mut merged = Vec::new();
    for entry in ours {
        let (old, renewed) = (find(ancestor, &entry.key), find(new, &entry.key));
        merged.extend(merge_entry(old.as_ref(), entry, renewed.as_ref())?);
    }
    for (at, entry) in new.iter().enumerate() {
        let is_known = |entries: &[Entry]| find(entries, &entry.key).is_some();
        if is_known(ancestor) || is_known(&merged) {
            continue;
        }
        let place = place(&merged, &new[..at], |a, b| a.key == b.key);
        merged.insert(place, entry.clone());
    }
    Some(merged)
}

/// Where an item goes that follows `before` in the new text: below the last of them that `merged` has, or first.
fn place<T>(merged: &[T], before: &[T], is_same: impl Fn(&T, &T) -> bool) -> usize {
    let known = before
        .iter()
        .rev()
        .find_map(|earlier| merged.iter().position(|it| is_same(it, earlier)));
    known.map_or(0, |at| at + 1)
}

/// `None` if both sides changed it; `Some(None)` if it goes. Where both changed its comments, the user's stay.
#[allow(
    clippy::option_option,
    reason = "a conflict is not the same as a removal"
)]
fn merge_entry(
    ancestor: Option<&Entry>,
    ours: &Entry,
    new: Option<&Entry>,
) -> Option<Option<Entry>> {
    let Some(new) = new else {
        return match ancestor {
            Some(ancestor) if ancestor == ours => Some(None),
            // The user's comments above an entry that goes.
            Some(ancestor) if ancestor.body == ours.body => None,
            _ => Some(Some(ours.clone())),
        };
    };
    let body = match ancestor {
        Some(ancestor) if ancestor.body == ours.body => &new.body,
        Some(ancestor) if ancestor.body == new.body => &ours.body,
        _ if ours.body == new.body => &ours.body,
        Some(ancestor) => &merge_list(&ancestor.body, &ours.body, &new.body)?,
        None => return None,
    };
    let is_lead_untouched = ancestor.is_some_and(|ancestor| ancestor.lead == ours.lead);
    let lead = if is_lead_untouched {
        &new.lead
    } else {
        &ours.lead
    };
    Some(Some(Entry {
        key: ours.key.clone(),
        lead: lead.clone(),
        body: body.clone(),
    }))
}

/// A list of texts in one line of TOML, such as `members`, merged as a set; `None` if it is none.
fn merge_list(ancestor: &str, ours: &str, new: &str) -> Option<String> {
    let value = tables(ours).first()?.entries.first()?.value.clone();
    let (ancestor, mut merged, new) = (items(ancestor)?, items(ours)?, items(new)?);
    merged.retain(|item| new.contains(item) || !ancestor.contains(item));
    for item in new {
        if !ancestor.contains(&item) && !merged.contains(&item) {
            merged.push(item);
        }
    }
    let merged: Vec<String> = merged
        .into_iter()
        .map(|item| toml::Value::String(item).to_string())
        .collect();
    let mut text = ours.to_owned();
    text.replace_range(value, &format!("[{}]", merged.join(", ")));
    Some(text)
}

/// The items of the list in an entry, which are texts, each once: in a list such as `["-C", "a", "-C", "b"]` their order matters.
fn items(entry: &str) -> Option<Vec<String>> {
    let value = tables(entry).first()?.entries.first()?.value.clone();
    // Comments would be lost.
    if entry[value].contains('\n') {
        return None;
    }
    let table: toml::Table = toml::from_str(entry).ok()?;
    let list = table.values().next()?.as_array()?;
    let items = list.iter().map(|item| Some(item.as_str()?.to_owned()));
    let items: Vec<String> = items.collect::<Option<_>>()?;
    let is_set = items.iter().collect::<BTreeSet<_>>().len() == items.len();
    is_set.then_some(items)
}

/// Whether a section repeats an entry, which makes a manifest invalid and a kustomization fail.
pub fn has_duplicates(path: &str, text: &str) -> bool {
    if !path.ends_with("kustomization.yaml") {
        // Duplicate keys are a syntax error of TOML.
        return false;
    }
    sections(Format::Yaml, text).iter().any(|section| {
        let keys = section.entries.iter().map(|entry| &entry.body);
        let mut keys: Vec<&String> = keys.filter(|body| !body.is_empty()).collect();
        keys.sort_unstable();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    })
}

fn sections(format: Format, text: &str) -> Vec<Section> {
    let mut reader = Reader::default();
    match format {
        Format::Toml => reader.toml(text),
        Format::Yaml => text
            .split_inclusive('\n')
            .for_each(|line| reader.yaml(line)),
    }
    reader.end()
}

#[derive(Default)]
struct Reader {
    done: Vec<Section>,
    current: Section,
    /// Blank lines and comments since the last entry.
    lead: String,
    /// The indentation of the entries of the current section of YAML, once one was read.
    indent: Option<usize>,
    /// How often each section of the file, and each key of the current section, was read.
    sections: BTreeMap<String, usize>,
    keys: BTreeMap<String, usize>,
}

impl Reader {
    fn toml(&mut self, text: &str) {
        let mut end = 0;
        for table in tables(text) {
            if !table.header.is_empty() {
                let (lead, lines) = next(text, end, &table.header);
                end = lines.end;
                self.lead += lead;
                self.section(&table.path.join("."), &text[lines]);
            }
            for entry in &table.entries {
                let (lead, lines) = next(text, end, &(entry.key.start..entry.value.end));
                end = lines.end;
                self.lead += lead;
                self.entry(&entry.path.join("."), &text[lines]);
            }
        }
        self.lead += &text[end..];
    }

    fn yaml(&mut self, line: &str) {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        // In a text of several lines, this is no comment.
        let is_inside = self.indent.is_some_and(|of_entries| indent > of_entries);
        if trimmed.is_empty() || trimmed.starts_with('#') && !is_inside {
            self.lead += line;
        } else if indent == 0 && !trimmed.starts_with("- ") {
            self.indent = None;
            let key = trimmed.split(':').next().unwrap_or(trimmed);
            self.section(key, line);
        } else if indent <= *self.indent.get_or_insert(indent) {
            self.indent = Some(indent);
            let key = trimmed
                .split(": ")
                .next()
                .filter(|_| !trimmed.starts_with('-'));
            self.entry(key.unwrap_or(trimmed), line);
        } else {
            self.continues(line);
        }
    }

    /// A line that belongs to the entry above it, as do the comments between.
    fn continues(&mut self, line: &str) {
        let lead = std::mem::take(&mut self.lead);
        let entry = self.current.entries.last_mut();
        let entry = entry.unwrap_or(&mut self.current.head);
        entry.body += &lead;
        entry.body += line;
    }

    fn section(&mut self, name: &str, line: &str) {
        // Comments directly above belong to the section, those before a blank line to what precedes it.
        let split = self.lead.rfind("\n\n").map_or(0, |at| at + 1);
        let own = self.lead.split_off(split);
        self.loose();
        self.done.push(std::mem::take(&mut self.current));
        let name = numbered(name, &mut self.sections);
        self.keys.clear();
        self.current = Section {
            name,
            head: Entry {
                key: String::new(),
                lead: own,
                body: line.to_owned(),
            },
            entries: Vec::new(),
        };
    }

    fn entry(&mut self, key: &str, line: &str) {
        let key = numbered(key, &mut self.keys);
        self.current.entries.push(Entry {
            key,
            lead: std::mem::take(&mut self.lead),
            body: line.to_owned(),
        });
    }

    /// Comments and blank lines that belong to no entry.
    fn loose(&mut self) {
        if !self.lead.is_empty() {
            let lead = std::mem::take(&mut self.lead);
            self.current.entries.push(Entry {
                key: lead.clone(),
                lead,
                body: String::new(),
            });
        }
    }

    fn end(mut self) -> Vec<Section> {
        self.loose();
        self.done.push(self.current);
        self.done
    }
}

/// What lies between `end` and the lines around `range`, and these lines.
fn next<'a>(text: &'a str, end: usize, range: &Range<usize>) -> (&'a str, Range<usize>) {
    let mut lines = lines(text, range);
    // Two entries in one line are not valid.
    lines.start = lines.start.max(end);
    lines.end = lines.end.max(end);
    (&text[end..lines.start], lines)
}

/// `name`, with a number from its second time on.
fn numbered(name: &str, known: &mut BTreeMap<String, usize>) -> String {
    let times = known.entry(name.to_owned()).or_default();
    *times += 1;
    match *times - 1 {
        0 => name.to_owned(),
        number => format!("{name}\0{number}"),
    }
}

#[cfg(test)]
mod tests;
