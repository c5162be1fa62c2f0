//! Keywords of Kubernetes that several lints use.

pub const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
pub const EMBEDDED: &str = "x-kubernetes-embedded-resource";
pub const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// Help: how to accept values of any type in a field.
pub const ANYTHING: &str = "to accept any value, add `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`";
