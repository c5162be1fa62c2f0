//! CEL rules (`x-kubernetes-validations`) and match conditions of webhooks: compiles them, and evaluates rules on values.

mod condition;
mod evaluate;

pub use condition::check_condition;
pub(crate) use evaluate::broken_within;
pub use evaluate::{Broken, Old, broken, broken_by_object};
