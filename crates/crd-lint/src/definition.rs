//! Accessors for the parts of a `CustomResourceDefinition`; missing parts are empty.

use serde_json::Value;

/// A whole definition.
pub struct Definition<'a>(pub &'a Value);

impl<'a> Definition<'a> {
    /// Whether it is a `CustomResourceDefinition` with versions.
    pub fn is_sound(&self) -> bool {
        self.0["apiVersion"] == "apiextensions.k8s.io/v1"
            && self.0["kind"] == "CustomResourceDefinition"
            && !self.versions().is_empty()
    }

    /// `crew.example.com`.
    pub fn group(&self) -> &'a str {
        self.0["spec"]["group"].as_str().unwrap_or_default()
    }

    /// The names: `kind`, `plural`, `shortNames` and so on.
    pub fn names(&self) -> &'a Value {
        &self.0["spec"]["names"]
    }

    /// The versions, in the order of the definition.
    pub fn versions(&self) -> &'a [Value] {
        self.0["spec"]["versions"]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }
}

/// The schema of a version.
pub fn schema(version: &Value) -> &Value {
    &version["schema"]["openAPIV3Schema"]
}
