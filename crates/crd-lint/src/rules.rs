//! CEL rules (`x-kubernetes-validations`) and match conditions of webhooks: compiles them, and evaluates rules on values.

mod bound;
mod condition;
mod constants;
mod data;
mod depth;
mod evaluate;
mod functions;
mod infer;
mod inferred;
mod operators;
mod outcome;
mod overload;
mod parse;
mod run;
mod scope;
mod types;

pub use condition::check_condition;
pub use evaluate::{Broken, Old, broken, broken_by_object};
pub(crate) use infer::Checker;
pub(crate) use inferred::{Cause, TypeError};
pub(crate) use parse::{parse, unquoted};
pub(crate) use types::Type;
