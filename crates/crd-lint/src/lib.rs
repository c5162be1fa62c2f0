//! Finds what a Kubernetes API server would reject, drop or corrupt in a `CustomResourceDefinition`, without a server.
//!
//! [`lint`] takes a definition, from JSON or YAML, and returns [`Finding`]s:
//!
//! ```
//! let crd = serde_json::json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//!     "metadata": { "name": "ships.example.com" },
//!     "spec": {
//!         "group": "example.com", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" },
//!         "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
//!             "type": "object", "properties": { "spec": { "type": "object",
//!                 "properties": { "name": { "type": "string", "maxLength": 9 } },
//!                 "x-kubernetes-validations": [{ "rule": "self.nmae != ''" }],
//!             } },
//!         } } }],
//!     },
//! });
//! let findings = crd_lint::lint(&crd);
//! assert_eq!(findings[0].id, "rule");
//! assert_eq!(findings[0].path, ".spec");
//! assert_eq!(findings[0].message, "rule `self.nmae != ''`: unknown field `nmae`; did you mean `name`");
//! ```
//!
//! [`LINTS`] lists every lint. [`compatibility`] compares a definition with an older one. Objects are judged by the crate `apiserver-rules`. The reference
//! is kube-apiserver 1.37: `pkg/apis/apiextensions/validation` and `pkg/apiserver/schema` of `apiextensions-apiserver`. Lints that
//! may not apply to a newer Kubernetes have [`Lint::version_dependent`] set.
//!
//! The help texts are written for definitions derived from Rust types with kube and schemars.

pub mod compatibility;
mod condition;
mod definition;
mod finding;
mod jsonpath;
mod lint;
mod lints;
mod node;
mod path;

use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value;

pub use apiserver_rules::nearest;
pub use condition::check_condition;
use definition::Definition;
pub use finding::{Finding, Severity};
pub use lint::Lint;
use lint::{Check, Hit};
pub use lints::LINTS;
pub use node::schemas;

/// All problems of a definition: first those of the definition as a whole, then those of each version.
///
/// A value that is not a `CustomResourceDefinition` gets one finding, [`definition`](LINTS).
#[must_use]
pub fn lint(crd: &Value) -> Vec<Finding> {
    let definition = Definition(crd);
    let mut found = Vec::new();
    for lint in LINTS {
        let mut hits = Vec::new();
        if let Check::Definition(check) = lint.check {
            check(&definition, &mut hits);
        }
        found.extend(hits.into_iter().map(|hit| finding(lint, None, hit)));
        if !definition.is_sound() {
            return found;
        }
    }
    let steps = Rc::new(Cell::new(node::STEPS));
    for version in definition.versions() {
        found.extend(lint_version(version, &steps));
    }
    found
}

fn lint_version(version: &Value, steps: &Rc<Cell<usize>>) -> Vec<Finding> {
    let name = version["name"].as_str();
    let mut found = Vec::new();
    for lint in LINTS {
        let mut hits = Vec::new();
        if let Check::Version(check) = lint.check {
            check(version, &mut hits);
        }
        found.extend(hits.into_iter().map(|hit| finding(lint, name, hit)));
    }
    node::walk_within(steps, definition::schema(version), &mut |node| {
        for lint in LINTS {
            let mut hits = Vec::new();
            if let Check::Schema(check) = lint.check {
                check(node, &mut hits);
            }
            found.extend(hits.into_iter().map(|hit| finding(lint, name, hit)));
        }
    });
    found
}

fn finding(lint: &Lint, version: Option<&str>, hit: Hit) -> Finding {
    Finding {
        id: lint.id,
        severity: lint.severity,
        version: version.map(str::to_owned),
        path: hit.path,
        message: hit.message,
        helps: vec![hit.help],
    }
}
