//! A dependency on the library in each form that Cargo accepts, and the one on the crate next to it.

use super::edits::Edits;
use super::{CRATE, FEATURE, NAME, PACKAGE};
use crate::tables::{Entry, Table, items, lines, tables};

/// A dependency on the library.
#[derive(Debug)]
pub struct Dependency {
    /// `["target", "cfg(unix)", "dev-dependencies"]`.
    pub section: Vec<String>,
    form: Form,
    values: toml::Table,
}

#[derive(Debug)]
enum Form {
    /// `manager = { workspace = true }`
    Inline(Entry),
    /// `manager.workspace = true`: all lines of it.
    Dotted(Vec<Entry>),
    /// `[dependencies.manager]`
    Table(Table),
}

impl Dependency {
    /// All of them in a manifest.
    pub fn all(text: &str, manifest: &toml::Table) -> Vec<Self> {
        let found = tables(text).into_iter().filter_map(|table| {
            let (section, form) = form(table)?;
            let values = library(manifest, &section)?.as_table()?.clone();
            Some(Self {
                section,
                form,
                values,
            })
        });
        found.collect()
    }

    pub fn has_feature(&self) -> bool {
        self.features().any(|it| it == FEATURE)
    }

    pub fn is_optional(&self) -> bool {
        self.values.get("optional").and_then(toml::Value::as_bool) == Some(true)
    }

    pub fn is_dev(&self) -> bool {
        self.section
            .last()
            .is_some_and(|it| it == "dev-dependencies")
    }

    /// Whether nothing but `workspace = true` is left without the feature.
    pub fn is_bare(&self) -> bool {
        let other = |key: &String| key != "workspace" && key != "features";
        self.inherits() && !self.values.keys().any(other) && self.features().count() == 1
    }

    /// Whether the crate is among the dependencies of the same section.
    pub fn has_crate(&self, manifest: &toml::Table) -> bool {
        section(manifest, &self.section).is_some_and(|it| it.get(CRATE).is_some())
    }

    /// Depends on the crate instead.
    pub fn rename(&self, text: &str, edits: &mut Edits) {
        let names = match &self.form {
            Form::Inline(entry) => vec![entry.key.clone()],
            Form::Dotted(entries) => {
                let others = entries.iter().filter(|it| !is_features(it));
                others.map(|it| it.key.clone()).collect()
            }
            Form::Table(table) => vec![table.header.clone()],
        };
        let is_header = matches!(self.form, Form::Table(_));
        for range in names {
            let name = &text[range.clone()];
            // The name comes last in a header, and first in a key.
            let at = if is_header {
                name.rfind(NAME)
            } else {
                name.find(NAME)
            };
            if let Some(at) = at {
                let start = range.start + at;
                edits.replace(start..start + NAME.len(), CRATE);
            }
        }
        self.drop_feature(text, edits);
    }

    /// Also depends on the crate, which is where the library is. `None` if that is not known.
    pub fn add_crate(&self, text: &str, is_optional: bool, edits: &mut Edits) -> Option<()> {
        let path = self
            .values
            .get("path")
            .map(|it| it.to_string().replace(PACKAGE, CRATE));
        let mut values = match path {
            Some(path) => vec![format!("path = {path}")],
            None if self.inherits() => vec!["workspace = true".to_owned()],
            None => return None,
        };
        if is_optional {
            values.push("optional = true".to_owned());
        }
        let (first, header) = match &self.form {
            Form::Inline(entry) => (entry, None),
            Form::Dotted(entries) => (entries.first()?, None),
            Form::Table(table) => (table.entries.last()?, Some(&text[table.header.clone()])),
        };
        let lines = lines(text, &(first.key.start..first.value.end));
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let Some(header) = header else {
            let indent = &text[lines.start..first.key.start];
            let line = format!("{indent}{CRATE} = {{ {} }}{ending}", values.join(", "));
            edits.insert(lines.start, line);
            return Some(());
        };
        let (before, after) = header.rsplit_once(NAME)?;
        let mut table = format!("{ending}{before}{CRATE}{after}{ending}");
        if !text[..lines.end].ends_with('\n') {
            table.insert_str(0, ending);
        }
        for value in values {
            table += &value;
            table += ending;
        }
        edits.insert(lines.end, table);
        Some(())
    }

    /// Removes the feature, and the whole key if it was the only one.
    pub fn drop_feature(&self, text: &str, edits: &mut Edits) {
        if !self.has_feature() {
            return;
        }
        let is_only = self.features().count() == 1;
        let entries = match &self.form {
            Form::Inline(entry) => &items(text, &entry.value),
            Form::Dotted(entries) => entries,
            Form::Table(table) => &table.entries,
        };
        let Some(entry) = entries.iter().find(|it| is_features(it)) else {
            return;
        };
        let whole = entry.key.start..entry.value.end;
        match &self.form {
            Form::Inline(_) if is_only => edits.remove_item(text, &whole),
            _ if is_only => edits.remove_entry(text, &whole),
            _ => {
                let list = items(text, &entry.value);
                for (item, _) in list
                    .iter()
                    .zip(self.features())
                    .filter(|it| it.1 == FEATURE)
                {
                    edits.remove_item(text, &item.value);
                }
            }
        }
    }

    fn inherits(&self) -> bool {
        self.values.get("workspace").and_then(toml::Value::as_bool) == Some(true)
    }

    fn features(&self) -> impl Iterator<Item = &str> {
        let list = self.values.get("features").and_then(toml::Value::as_array);
        list.into_iter()
            .flatten()
            .map(|it| it.as_str().unwrap_or_default())
    }
}

fn is_features(entry: &Entry) -> bool {
    entry.path.last().is_some_and(|it| it == "features")
}

/// The section of the library's dependency in this table, and its form there.
fn form(table: Table) -> Option<(Vec<String>, Form)> {
    if is_section(&table.path) {
        let is_part = |it: &&Entry| it.path.len() == 2 && it.path[0] == NAME;
        let parts: Vec<_> = table.entries.iter().filter(is_part).cloned().collect();
        let form = match table.find(NAME) {
            Some(entry) => Form::Inline(entry.clone()),
            None if parts.is_empty() => return None,
            None => Form::Dotted(parts),
        };
        return Some((table.path, form));
    }
    let (name, section) = table.path.split_last()?;
    (name == NAME && is_section(section)).then(|| (section.to_owned(), Form::Table(table.clone())))
}

fn is_section(path: &[String]) -> bool {
    let is_name = |it: &String| {
        ["dependencies", "dev-dependencies", "build-dependencies"].contains(&it.as_str())
    };
    match path {
        [name] => is_name(name),
        [target, _, name] => target == "target" && is_name(name),
        _ => false,
    }
}

fn section<'a>(manifest: &'a toml::Table, path: &[String]) -> Option<&'a toml::Table> {
    path.iter()
        .try_fold(manifest, |table, name| table.get(name)?.as_table())
}

fn library<'a>(manifest: &'a toml::Table, path: &[String]) -> Option<&'a toml::Value> {
    section(manifest, path)?.get(NAME)
}
