//! The names in the scope of an expression.

use super::super::nearest::nearest;
use super::inferred::{Cause, Inferred};
use super::types::Type;

/// Types whose names are values.
const KINDS: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// Names in scope, the innermost last.
pub struct Scope {
    names: Vec<(String, Type)>,
    /// The number of initial names.
    given: usize,
    uses_old: bool,
}

impl Scope {
    pub fn new<const N: usize>(names: [(&str, Type); N]) -> Self {
        Self {
            names: names.map(|(name, kind)| (name.to_owned(), kind)).into(),
            given: N,
            uses_old: false,
        }
    }

    /// Whether `oldSelf` was looked up.
    pub fn uses_old(&self) -> bool {
        self.uses_old
    }

    /// Adds names; returns the argument with which [`Scope::leave`] removes them.
    pub fn enter(&mut self, names: &[(&str, Type)]) -> usize {
        let outer = self.names.len();
        let more = names.iter().cloned();
        self.names
            .extend(more.map(|(name, kind)| (name.to_owned(), kind)));
        outer
    }

    pub fn leave(&mut self, outer: usize) {
        self.names.truncate(outer);
    }

    /// The type of a name.
    pub fn name(&mut self, name: &str) -> Inferred {
        if let Some((_, kind)) = self.names.iter().rev().find(|(known, _)| known == name) {
            self.uses_old |= name == "oldSelf";
            return Ok(kind.clone());
        }
        if KINDS.contains(&name) {
            return Ok(Type::Kind);
        }
        let near = nearest(name, self.names.iter().map(|(known, _)| known.as_str()));
        let near = near.map_or_else(
            || {
                let given = self.names[..self.given].iter();
                let given: Vec<_> = given.map(|(name, _)| format!("`{name}`")).collect();
                format!(
                    "; the variables are {} and those of macros",
                    given.join(", ")
                )
            },
            |near| format!("; did you mean `{near}`"),
        );
        Err(Cause::UnknownVariable.error(format!("unknown variable `{name}`{near}")))
    }
}
