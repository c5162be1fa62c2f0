//! One file of the tree.

use anyhow::anyhow;

use super::Source;
use crate::edit;
use crate::scaffold::Policy;

/// A file with the contributions of all tables of PROJECT.
#[derive(Debug)]
pub struct File {
    /// Whether kbr or the user changes it once it exists.
    pub policy: Policy,
    /// The text without the lines of other tables; `None` if nothing writes the file.
    pub(super) base: Option<String>,
    /// The tables that write the whole file.
    pub(super) writers: Vec<Source>,
    /// The lines above its markers, in the order of the tables.
    pub(super) lines: Vec<Lines>,
}

/// Lines above one marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The table that contributes them.
    pub source: Source,
    /// The marker's name.
    pub marker: String,
    /// Whether they are a choice that the user can change later.
    pub once: bool,
    /// The lines, without the marker's indentation, each ended by a line feed.
    pub text: String,
}

impl Default for File {
    fn default() -> Self {
        File {
            policy: Policy::Once,
            base: None,
            writers: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl File {
    /// The whole text.
    ///
    /// # Errors
    /// A mistake in the templates: nothing writes the file at `path`, or it lacks a marker.
    pub fn text(&self, path: &str) -> anyhow::Result<String> {
        let mistake =
            |what: &str| anyhow!("`{path}` {what}: this is a bug in kbr, please report it");
        let base = self
            .base
            .as_ref()
            .ok_or_else(|| mistake("gets lines but is never written"))?;
        let mut text = base.clone();
        for Lines {
            marker,
            text: lines,
            ..
        } in &self.lines
        {
            text = edit::insert(path, &text, marker, lines)
                .map_err(|_| mistake(&format!("needs the marker `{marker}` once")))?;
        }
        Ok(text)
    }
}
