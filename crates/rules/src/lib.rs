//! The rules by which a Kubernetes API server takes, changes or rejects a custom resource, without a server.
//!
//! ```
//! use apiserver_rules::{complete, problems};
//! use serde_json::json;
//!
//! let schema = json!({ "type": "object", "properties": { "spec": {
//!     "type": "object", "properties": { "size": { "type": "integer", "minimum": 1, "default": 3 } },
//! } } });
//! let mut object = json!({ "kind": "Ship", "spec": { "sizes": 5 } });
//! complete(&mut object, &schema);
//! assert_eq!(object, json!({ "kind": "Ship", "spec": { "size": 3 } }));
//! object["spec"]["size"] = json!(0);
//! let found = problems(&object, &schema);
//! assert_eq!(found[0].to_string(), "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1");
//! assert_eq!(found[0].plain, "is below 1");
//! ```
//!
//! The reference is kube-apiserver 1.37, and the tests compare with it. Nothing here does I/O. With the feature `cel`, [`Rules`] evaluates
//! the rules of a schema (`x-kubernetes-validations`), and [`expressions`] checks their types.

// In a project this crate is a path dependency, and cargo does not cap the lints of those: a newer compiler could
// print new warnings. Only kbr itself runs clippy on it, with all lints.
#![cfg_attr(not(clippy), allow(warnings))]

mod bounds;
#[cfg(feature = "cel")]
pub mod expressions;
mod extensions;
pub mod formats;
pub mod garbage;
mod merge;
#[cfg(feature = "cel")]
mod nearest;
mod number;
mod operator;
mod path;
mod problem;
mod ratcheting;
pub mod rbac;
pub mod re2;
#[cfg_attr(not(feature = "cel"), path = "rules/off.rs")]
mod rules;
mod schema;
mod validate;

#[cfg(feature = "cel")]
pub use self::nearest::nearest;
pub use self::{
    bounds::width,
    merge::merge,
    number::normalise,
    operator::Operator,
    problem::{Problem, Reason},
    rules::{Rules, holds},
    schema::{complete, complete_applied, is_embedded, prune, set_defaults, undeclared},
    validate::{are_valid, problems, problems_of_update, problems_within},
};

/// What rules say about a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What they reject.
    pub problems: Vec<Problem>,
    /// The expressions that cannot be evaluated here, and so accept everything.
    pub unevaluated: Vec<String>,
}
