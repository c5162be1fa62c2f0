//! Keywords of Kubernetes that several lints look at.

pub const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
pub const EMBEDDED: &str = "x-kubernetes-embedded-resource";
pub const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// How a field accepts values of any form.
pub const ANYTHING: &str =
    "`#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` lets anything in";
