//! The expressions in CEL that accepted something only because they cannot be evaluated here.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// These expressions. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Unevaluated(Arc<Mutex<BTreeSet<String>>>);

impl Unevaluated {
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    /// Records an expression, and warns of it once; `what` it is.
    pub fn record(&self, what: &str, expression: &str) {
        if self.lock().insert(expression.to_owned()) {
            tracing::warn!("the {what} `{expression}` is not evaluated");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
