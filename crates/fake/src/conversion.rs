//! Who converts objects between the versions of their kind.

use std::{fmt, sync::Arc};

use serde_json::Value;

/// All objects in another version, or why one of them cannot be converted.
pub type Converted = Result<Vec<Value>, String>;

type Convert = dyn Fn(&[Value], &str) -> Converted + Send + Sync;

/// What a conversion webhook does: converts all objects to a version, such as `crew.example.com/v2`, or none.
#[derive(Clone)]
pub struct Conversions(Arc<Convert>);

impl fmt::Debug for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conversions")
    }
}

impl Conversions {
    /// Conversions by a function.
    pub fn new(convert: impl Fn(&[Value], &str) -> Converted + Send + Sync + 'static) -> Self {
        Self(Arc::new(convert))
    }

    /// Converts objects.
    ///
    /// # Errors
    /// Why one of them cannot be converted.
    pub fn convert(&self, objects: &[Value], version: &str) -> Converted {
        (self.0)(objects, version)
    }
}
