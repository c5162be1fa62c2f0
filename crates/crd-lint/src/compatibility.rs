//! Compares a definition with an older one as an API: what existing objects, clients and manifests can no longer rely on.
//!
//! ```
//! # use serde_json::json;
//! let crd = |port: serde_json::Value| json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//!     "metadata": { "name": "ships.example.com" },
//!     "spec": {
//!         "group": "example.com", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" },
//!         "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
//!             "type": "object", "properties": { "spec": { "type": "object", "properties": { "port": port } } },
//!         } } }],
//!     },
//! });
//! let (old, new) = (crd(json!({ "type": "integer" })), crd(json!({ "type": "string" })));
//! let findings = crd_lint::compatibility::compare(&old, &new);
//! assert_eq!(findings[0].id, "type-changed");
//! assert_eq!(findings[0].path, ".spec.port");
//! ```
//!
//! # Severity
//!
//! Since Kubernetes 1.30, an API server tolerates an invalid value in an update that leaves it as it is ("ratcheting"; it cannot be
//! switched off since 1.33). It compares the value at a path with the old one, so lists, maps and objects are validated again whenever
//! anything in them changes, and so are the items of a list without keys. A stricter validation of a scalar is thus a
//! [warning](Severity::Warning): existing objects stay usable, and only new ones are rejected. All that the API server does not tolerate
//! is an [error](Severity::Error): an object is rejected although an update did not touch the invalid value, content is lost, or a
//! client's request fails. So are another type and an enum with fewer values, because programs that were built for one of them cannot read
//! what the other allows.

mod bounds;
mod cel;
mod definition;
mod fields;
mod lists;
mod pair;
mod restrictions;
mod rule;
mod types;
mod version;

use serde_json::Value;

use crate::definition::{Definition, schema};
use crate::finding::{Finding, Severity};
use pair::pairs;
pub use rule::Rule;
use rule::{Break, Check, Check::Schema};

/// Every rule. Ids are unique, also among those of [`LINTS`](crate::LINTS), and never change.
pub const RULES: &[Rule] = &[
    Rule::error("kind-changed", "a kind that was renamed but kept its plural; API servers reject that", Check::Definition(definition::kind)),
    Rule::error("scope-changed", "a kind whose scope changed; API servers reject that", Check::Definition(definition::scope)),
    Rule::error("version-still-stored", "a removed version that is still in `status.storedVersions` of the definition in a cluster: its objects could not be read", Check::Definition(definition::still_stored)).always(),
    Rule::error("version-removed", "a version that was removed or is not served now", Check::Definition(definition::versions)),
    Rule::error("conversion-removed", "several versions, and a conversion webhook that was removed", Check::Definition(definition::conversion)),
    Rule::warning("storage-changed", "another storage version: objects stay in the old one until rewritten", Check::Definition(definition::storage)),
    Rule::error("subresource-changed", "`status` or `scale` that was removed or has other paths; a warning if `status` is new", Check::Version(version::subresources)),
    Rule::error("selectable-field-removed", "a field that is not selectable now", Check::Version(version::selectable)),
    Rule::error("field-removed", "a field that was removed or renamed: the API server drops its content; a warning if unknown fields are kept", Schema(fields::removed)),
    Rule::error("unknown-fields-dropped", "unknown fields that were kept and are now dropped", Schema(fields::unknown)),
    Rule::error("field-required", "a required field that was optional or did not exist, and has no default", Schema(fields::required)),
    Rule::error("type-changed", "a value of another type; a warning if the old values are still valid", Schema(types::kind)),
    Rule::error("null-rejected", "a value that could be null and now cannot", Schema(types::null)),
    Rule::error("values-restricted", "a range, length or `multipleOf` that allows fewer values; a warning if the API server tolerates existing ones", Schema(bounds::values)),
    Rule::error("enum-restricted", "an `enum` that is new or has fewer values: programs cannot read others, even where the API server tolerates them", Schema(bounds::allowed)),
    Rule::error("pattern-changed", "a pattern or format that is new or different; a warning if the API server tolerates existing values, or does not check the format", Schema(bounds::text)),
    Rule::error("size-restricted", "a list or map that may have fewer items, or needs more", Schema(bounds::size)),
    Rule::error("rule-added", "a CEL rule that is new or different; a warning if it uses `oldSelf`, or if the API server tolerates existing values", Schema(cel::added)),
    Rule::error("restriction-changed", "`allOf`, `anyOf`, `oneOf` or `not` that may reject values that were valid", Schema(restrictions::changed)),
    Rule::warning("list-type-changed", "a list with another type or other keys, or a map with another type: server-side apply merges it differently, and new objects with duplicate items may be rejected", Schema(lists::merging)),
    Rule::warning("default-changed", "a default that is new, different or removed", Schema(fields::default)),
];

/// All incompatible changes from an older definition to a newer one of the same name: first those of the definition as a whole, then those
/// of each version of the newer one.
///
/// If the older one comes from an API server, its `status.storedVersions` counts as well. A version that only the newer one has is compared
/// with the older storage version if nothing converts between them. Values that are not definitions have no findings: [`lint`](crate::lint)
/// reports them.
#[must_use]
pub fn compare(old: &Value, new: &Value) -> Vec<Finding> {
    let mut all = Vec::new();
    let (old, new) = (&Definition(old), &Definition(new));
    if !old.is_sound() || !new.is_sound() {
        return all;
    }
    for rule in RULES {
        let mut found = Vec::new();
        if let Check::Definition(check) = rule.check {
            check(old, new, &mut found);
        }
        all.extend(found.into_iter().map(|it| finding(rule, None, it)));
    }
    let (known, stored) = (definition::by_name(old), definition::stored(old));
    for version in new.versions() {
        if let Some(before) = definition::before(&known, stored, new, version) {
            all.extend(compare_versions(before, version));
        }
    }
    all
}

fn compare_versions(old: &Value, new: &Value) -> Vec<Finding> {
    let mut all = Vec::new();
    let name = new["name"].as_str();
    let is_same = old["name"] == new["name"];
    for rule in RULES {
        let mut found = Vec::new();
        if let (Check::Version(check), true) = (rule.check, is_same) {
            check(old, new, &mut found);
        }
        all.extend(found.into_iter().map(|it| finding(rule, name, it)));
    }
    for pair in &pairs(schema(old), schema(new)) {
        for rule in RULES {
            let mut found = Vec::new();
            if let Schema(check) = rule.check {
                check(pair, &mut found);
            }
            all.extend(found.into_iter().map(|it| finding(rule, name, it)));
        }
    }
    all
}

fn finding(rule: &Rule, version: Option<&str>, it: Break) -> Finding {
    Finding {
        id: rule.id,
        severity: if it.is_tolerated {
            Severity::Warning
        } else {
            rule.severity
        },
        version: version.map(str::to_owned),
        path: it.path,
        message: it.message,
        helps: vec![it.help],
    }
}

#[cfg(test)]
mod tests;
