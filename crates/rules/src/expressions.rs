//! CEL as kube-apiserver has it: parses expressions, infers their types, and evaluates the rules of a schema.

mod bound;
mod check;
mod condition;
mod constants;
mod data;
mod depth;
mod field_path;
mod functions;
mod infer;
mod inferred;
mod operators;
mod outcome;
mod overload;
mod parse;
mod ratchet;
mod rules;
mod run;
mod scope;
mod types;

pub use check::{Message, Verdict, Why};
pub use condition::holds;
pub use infer::Checker;
pub use inferred::{Cause, TypeError};
pub use parse::{parse, unquoted};
pub use rules::{Rule, Rules};
pub use types::{Place, Type};
