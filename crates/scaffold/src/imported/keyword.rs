//! What single keywords of a schema say.

use serde_json::{Value, json};

/// The pattern that controller-gen writes for a quantity.
pub const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Objects keep fields that the schema does not name.
pub const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// Whether objects keep fields that the schema does not name.
pub fn is_open(schema: &Value) -> bool {
    schema[OPEN] == json!(true)
}

/// Whether values are integers or texts.
pub fn is_int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == json!(true)
}

/// Whether they are also quantities.
pub fn is_quantity(schema: &Value) -> bool {
    is_int_or_string(schema) && schema["pattern"] == json!(QUANTITY)
}
