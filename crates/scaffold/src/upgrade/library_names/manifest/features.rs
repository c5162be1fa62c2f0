//! The features of a manifest that enable the library, or what the crate has now.

use super::edits::Edits;
use super::{CRATE, FEATURE, NAME};
use crate::tables::{Entry, items, tables};

/// The features, and what was found about the dependencies.
#[derive(Debug)]
pub struct Features {
    lists: Vec<Vec<Item>>,
    /// Where the table ends, if there is one.
    end: Option<usize>,
    /// Whether a dependency on the library is optional.
    pub library_is_optional: bool,
    /// Whether the dependency on the crate is optional.
    pub crate_is_optional: bool,
    /// Whether what enables the library also enables the crate.
    pub crate_follows_library: bool,
}

#[derive(Debug)]
struct Item {
    entry: Entry,
    value: String,
}

impl Item {
    /// Whether it is the feature that became a crate.
    fn is_it(&self) -> bool {
        let strong = format!("{NAME}/{FEATURE}");
        self.value == strong || self.is_weak()
    }

    /// Whether it is that feature, for the case that something else enables the library.
    fn is_weak(&self) -> bool {
        self.value == format!("{NAME}?/{FEATURE}")
    }

    /// Whether it enables the library.
    fn enables(&self) -> bool {
        self.value == format!("dep:{NAME}") || self.value.starts_with(&format!("{NAME}/"))
    }
}

impl Features {
    pub fn of(text: &str, manifest: &toml::Table) -> Self {
        let table = tables(text).into_iter().find(|it| it.path == ["features"]);
        let values = manifest.get("features").and_then(toml::Value::as_table);
        let list = |entry: &Entry| {
            let values = values?.get(entry.path.first()?)?.as_array()?;
            let values = values.iter().map(|it| it.as_str().unwrap_or_default());
            let items = items(text, &entry.value).into_iter().zip(values);
            let items = items.map(|(entry, value)| Item {
                entry,
                value: value.to_owned(),
            });
            Some(items.collect())
        };
        let entries = table.iter().flat_map(|it| &it.entries);
        Self {
            lists: entries.filter_map(list).collect(),
            end: table.as_ref().map(crate::tables::Table::end),
            library_is_optional: false,
            crate_is_optional: false,
            crate_follows_library: false,
        }
    }

    /// Whether a feature enables the one that became a crate.
    pub fn names_it(&self) -> bool {
        self.lists.iter().flatten().any(Item::is_it)
    }

    /// Enables the crate wherever the feature, or the library with it, was enabled.
    pub fn edit(&self, text: &str, edits: &mut Edits) {
        for list in &self.lists {
            let found: Vec<&Item> = list.iter().filter(|it| it.is_it()).collect();
            if let Some((first, others)) = found.split_first() {
                self.replace(first, list, text, edits);
                for item in others {
                    edits.remove_item(text, &item.entry.value);
                }
            } else if self.crate_follows_library
                && let Some(item) = list.iter().find(|it| it.enables())
            {
                edits.insert(item.entry.value.end, format!(", \"dep:{CRATE}\""));
            }
        }
        if self.crate_follows_library && self.is_implicit() {
            self.add_explicit(text, edits);
        }
    }

    /// Replaces the feature in a list by the crate.
    fn replace(&self, item: &Item, list: &[Item], text: &str, edits: &mut Edits) {
        let range = &item.entry.value;
        if !self.crate_is_optional {
            return edits.remove_item(text, range);
        }
        let library = if self.is_implicit() {
            NAME.to_owned()
        } else {
            format!("dep:{NAME}")
        };
        let is_weak = list.iter().filter(|it| it.is_it()).all(Item::is_weak);
        let is_enabled = list.iter().any(|it| it.value == library);
        let mut new = format!("\"dep:{CRATE}\"");
        if self.library_is_optional && !is_weak && !is_enabled {
            new = format!("\"{library}\", {new}");
        }
        edits.replace(range.clone(), new);
    }

    /// Whether Cargo defines a feature with the name of the optional library: it does if no feature names the dependency.
    fn is_implicit(&self) -> bool {
        let explicit = format!("dep:{NAME}");
        self.library_is_optional && !self.lists.iter().flatten().any(|it| it.value == explicit)
    }

    /// Defines the feature that Cargo has defined, so that it enables the crate as well.
    fn add_explicit(&self, text: &str, edits: &mut Edits) {
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let line = format!("{NAME} = [\"dep:{NAME}\", \"dep:{CRATE}\"]");
        let end = self.end.unwrap_or(text.len());
        let end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
        let before = if text[..end].ends_with('\n') {
            ""
        } else {
            ending
        };
        let header = match self.end {
            Some(_) => String::new(),
            None => format!("{ending}[features]{ending}"),
        };
        edits.insert(end, format!("{before}{header}{line}{ending}"));
    }
}
