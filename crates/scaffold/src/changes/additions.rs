//! The change to PROJECT, which gains whole tables.

use super::{Change, Verb, conflict, outcome};
use crate::project::PROJECT;
use kbr_host::diagnostic::Problem;

/// The additions to PROJECT.
#[derive(Debug, Default)]
pub struct Records {
    /// The initial text of a new project: TOML, ended by a line feed.
    pub head: Option<String>,
    /// Tables to append, in the same form.
    pub tables: Vec<String>,
}

impl Records {
    /// Whether PROJECT is unchanged.
    pub fn is_empty(&self) -> bool {
        self.head.is_none() && self.tables.is_empty()
    }
}

/// The change of PROJECT, whose current content is `before`.
pub(super) fn change(records: &Records, before: Option<Vec<u8>>) -> Result<Change, Vec<Problem>> {
    let text = str::from_utf8(before.as_deref().unwrap_or_default())
        .map_err(|_| vec![conflict::not_utf8(PROJECT)])?;
    let mut after = match (text.trim().is_empty(), &records.head) {
        (true, Some(head)) => head.clone(),
        (true, None) => return Err(vec![conflict::no_project()]),
        (false, Some(_)) => return Err(vec![conflict::project_exists()]),
        (false, None) => text.to_owned(),
    };
    for table in &records.tables {
        after = append(&after, table);
    }
    let change = Change {
        path: PROJECT.to_owned(),
        verb: if before.is_some() {
            Verb::Insert
        } else {
            Verb::Create
        },
        before,
        after: after.into_bytes(),
    };
    outcome::check_syntax(&change)?;
    Ok(change)
}

/// PROJECT with one more table, after a blank line.
fn append(project: &str, table: &str) -> String {
    let ending = if project.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let table = table.replace('\n', ending);
    let gap = if !project.ends_with('\n') {
        ending.repeat(2)
    } else if project.ends_with(&ending.repeat(2)) {
        String::new()
    } else {
        ending.to_owned()
    };
    format!("{project}{gap}{table}")
}
