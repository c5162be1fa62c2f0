//! Whether an update leaves a value as it was, so that it may violate a rule.
//!
//! Source: `ratchetingOptions` in `pkg/apiserver/schema/cel/validation.go` of apiextensions-apiserver.

use super::super::ratcheting::Pair;

/// The value that is looked at, and the nearest one around it, if they replace others.
#[derive(Clone, Copy, Default)]
pub struct Ratchet<'v> {
    here: Option<Pair<'v>>,
    around: Option<Pair<'v>>,
}

impl<'v> Ratchet<'v> {
    /// For a whole object.
    pub fn root(pair: Pair<'v>) -> Self {
        let (here, around) = (Some(pair), None);
        Self { here, around }
    }

    /// Whether the value is the same as before, or at least a value around it that can be compared.
    pub fn is_same(&self) -> bool {
        let pair = self.here.or(self.around);
        pair.is_some_and(Pair::is_same)
    }

    /// For the alternatives in `allOf`, which are not compared.
    pub fn of_all(self) -> Self {
        Self { here: None, ..self }
    }

    pub fn field(self, name: &str) -> Self {
        // Both versions of an object are converted to the same one.
        if self.around.is_none() && ["apiVersion", "kind"].contains(&name) {
            return Self::default();
        }
        self.step(|pair| pair.field(name))
    }

    pub fn item(self, index: usize) -> Self {
        self.step(|pair| pair.item(index))
    }

    fn step(self, to: impl FnOnce(Pair<'v>) -> Option<Pair<'v>>) -> Self {
        match self.here {
            Some(pair) => Self {
                here: to(pair),
                around: Some(pair),
            },
            None => self,
        }
    }
}
