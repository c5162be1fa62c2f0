//! The original location of a marker, for errors about a missing or moved one.

use std::fmt;

use super::{Form, Scaffolds, form};
use crate::edit::{self, marker_name};

/// A marker's location in its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerLocation<'a> {
    /// Whether it is not indented: its lines are top-level items.
    pub margin: bool,
    /// The TOML table that contains it.
    pub table: Option<String>,
    /// The recognizable lines next to it, the preferred one first.
    neighbours: Vec<Neighbour<'a>>,
}

/// A line next to a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Neighbour<'a> {
    /// The marker goes above this line.
    Below(&'a str),
    /// The marker goes below this line and the lines inserted there.
    Above(&'a str),
}

impl fmt::Display for Neighbour<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Neighbour::Below(line) => write!(f, "above `{line}`"),
            Neighbour::Above(line) => {
                write!(f, "below `{line}` and the lines that kbr inserted there")
            }
        }
    }
}

impl MarkerLocation<'_> {
    /// The neighbour that occurs in `text` exactly once.
    pub fn neighbour_in(&self, text: &str) -> Option<&Neighbour<'_>> {
        let is_once = |neighbour: &&Neighbour| {
            let (Neighbour::Below(wanted) | Neighbour::Above(wanted)) = neighbour;
            text.lines().filter(|line| line.trim() == *wanted).count() == 1
        };
        self.neighbours.iter().find(is_once)
    }
}

impl Scaffolds {
    /// The location of `marker` in the file at `path`, if a scaffold has it.
    pub fn marker_location(&self, path: &str, marker: &str) -> Option<MarkerLocation<'_>> {
        let templates = self.files.iter().filter(|(template, _)| {
            let in_set = template.split_once('/');
            in_set.is_some_and(|(_, template)| is_for(template, path))
        });
        templates
            .into_iter()
            .find_map(|(_, text)| find(path, text, marker))
    }
}

/// Whether the template writes the file at `path`; a folder or name with a variable matches any.
fn is_for(template: &str, path: &str) -> bool {
    let (form, template) = form(template);
    let (mut wanted, mut found) = (template.split('/'), path.split('/'));
    let same = wanted
        .by_ref()
        .zip(found.by_ref())
        .all(|(wanted, found)| wanted == found || wanted.contains("{{"));
    form != Form::Insert && same && template.matches('/').count() == path.matches('/').count()
}

fn find<'a>(path: &str, text: &'a str, marker: &str) -> Option<MarkerLocation<'a>> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .position(|line| marker_name(line) == Some(marker))?;
    let filled = |line: &&&str| !line.trim().is_empty() && marker_name(line).is_none();
    let below = lines[at + 1..].iter().find(filled);
    let above = lines[..at].iter().rfind(filled);
    let neighbours = [
        below.map(|line| Neighbour::Below(line.trim())),
        above.map(|line| Neighbour::Above(line.trim())),
    ];
    Some(MarkerLocation {
        margin: !lines[at].starts_with([' ', '\t']),
        table: edit::table(path, text, marker),
        neighbours: neighbours.into_iter().flatten().filter(is_known).collect(),
    })
}

/// Whether a user can recognize the line: it is not a brace, another marker, or text with variables.
fn is_known(neighbour: &Neighbour<'_>) -> bool {
    let (Neighbour::Below(line) | Neighbour::Above(line)) = neighbour;
    line.contains(|character: char| character.is_ascii_alphanumeric())
        && !["{{", "{%", "`"].iter().any(|odd| line.contains(odd))
        && marker_name(line).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout;

    #[test]
    fn the_location_of_a_marker_comes_from_its_template() {
        let scaffolds = checkout::current().scaffolds;
        let marker_location = |path, marker| scaffolds.marker_location(path, marker);
        let found = marker_location("src/main.rs", "controllers").unwrap();
        assert!(!found.margin);
        let place = |text: &str| found.neighbour_in(text).map(ToString::to_string);
        assert_eq!(
            place("fn main() {\n    manager.run().await\n}\n").as_deref(),
            Some("above `manager.run().await`")
        );
        assert_eq!(place("fn main() {}\n"), None);
        let found = marker_location("config/default/kustomization.yaml", "components").unwrap();
        assert_eq!(
            found.neighbours,
            [Neighbour::Above("components:")],
            "the last line"
        );
        assert!(
            marker_location("api/src/crew/v1/mod.rs", "kinds")
                .unwrap()
                .margin
        );
        let found = marker_location("Cargo.toml", "dependencies").unwrap();
        assert_eq!(found.table.as_deref(), Some("dependencies"));
        assert_eq!(marker_location("src/main.rs", "nothing"), None);
        assert_eq!(marker_location("main.rs", "controllers"), None);
    }
}
