//! A change of a file that templates write.

use super::File;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    path: String,
    change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// `from` becomes `to`, wherever it occurs in one text.
    Replace { from: String, to: String },
    /// Lines at the end.
    Append(String),
    /// Another text.
    Whole(String),
}

impl Edit {
    /// Replaces `from` in the file's own text, or in the lines of the first table that has it.
    pub fn replace(path: &str, from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        Edit {
            path: path.to_owned(),
            change: Change::Replace { from, to },
        }
    }

    /// Adds `text` at the end.
    pub fn append(path: &str, text: &str) -> Self {
        Edit {
            path: path.to_owned(),
            change: Change::Append(text.to_owned()),
        }
    }

    /// Replaces all of the file.
    pub fn whole(path: &str, text: &str) -> Self {
        Edit {
            path: path.to_owned(),
            change: Change::Whole(text.to_owned()),
        }
    }

    /// The file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Changes the file's own text, or the lines that a table adds to it. Returns whether there was something to change.
    pub(super) fn apply(&self, file: &mut File) -> bool {
        let Some(base) = &mut file.base else {
            return false;
        };
        match &self.change {
            Change::Whole(text) => base.clone_from(text),
            Change::Append(text) => base.push_str(text),
            Change::Replace { from, to } => {
                let lines = file.lines.iter_mut().map(|lines| &mut lines.text);
                let mut texts = std::iter::once(base).chain(lines);
                let Some(text) = texts.find(|text| text.contains(from.as_str())) else {
                    return false;
                };
                *text = text.replace(from.as_str(), to);
            }
        }
        true
    }
}
