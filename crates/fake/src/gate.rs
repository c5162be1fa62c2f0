//! What the writes of a test, which is the user, pass in a simulation.

use std::{fmt, sync::Arc};

use serde_json::Value;

use super::server::Path;

/// What is stored of what the user writes, `None` for a deletion; or an error, if the user may not write that.
pub type Decided = Result<Option<Value>, ()>;

type Decide = dyn Fn(&Path, Option<Value>) -> Decided + Send + Sync;

/// What every write of the user passes: the webhooks of the operator, in a simulation.
#[derive(Clone)]
pub struct Gate(Arc<Decide>);

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Gate {
    pub fn new(decide: impl Fn(&Path, Option<Value>) -> Decided + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    pub fn decide(&self, path: &Path, object: Option<Value>) -> Decided {
        (self.0)(path, object)
    }
}
