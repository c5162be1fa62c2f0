//! The registry of lints. Findings at the same path are reported in this order.
//!
//! To add a lint, write a function with tests in a file below `lints/`, and add a row here.

mod columns;
mod cost;
mod defaults;
mod deprecation;
mod extensions;
mod form;
pub(crate) mod keywords;
mod lists;
mod names;
mod nested;
mod patterns;
mod resource;
mod rule_form;
mod rules;
pub(crate) mod scalars;
mod scale;
mod selectable;
mod size;
mod versions;

use crate::lint::Check::{Condition, Definition, Schema, Version};
use crate::lint::Lint;

/// Every lint. Ids are unique and never change.
pub const LINTS: &[Lint] = &[
    Lint::error("definition", "an object that is not a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`, or has no versions", Definition(versions::definition)),
    Lint::error("stored-version", "several storage versions, or none", Definition(versions::stored)),
    Lint::error("served-version", "no version that is served", Definition(versions::served)),
    Lint::error("group", "a group without a dot, or one that belongs to Kubernetes", Definition(names::group)),
    Lint::error("name", "invalid plural, singular, kind, short names and categories", Definition(names::names)),
    Lint::error("selectable-fields-differ", "the same selectable fields in versions whose schemas differ, which kube-apiserver rejects up to 1.37 at least", Definition(selectable::same_fields_but_different_schemas)).version_dependent(),
    Lint::warning("size", "a definition too large for client-side `kubectl apply`", Definition(size::check)),
    Lint::error("duplicate-version", "two versions with the same name", Definition(versions::duplicates)),
    Lint::error("version-name", "an invalid name of a version", Version(names::version)),
    Lint::error("printer-column", "printer columns without a name, or with the path of an unknown field", Version(columns::check)),
    Lint::error("unknown-column-type", "types and formats of printer columns that the API server does not know", Version(columns::types)).version_dependent(),
    Lint::error("selectable-field", "selectable fields that are lists or objects, are listed twice, or do not exist", Version(selectable::check)),
    Lint::error("selectable-field-limit", "more selectable fields than the API server allows", Version(selectable::limit)).version_dependent(),
    Lint::error("scale", "paths of the `scale` subresource that are not fields of `spec` or `status`", Version(scale::check)),
    Lint::error("deprecation-warning", "a deprecation warning that is empty, too long, has several lines, or belongs to a version that is not deprecated", Version(deprecation::check)),
    Lint::error("root-restriction", "restrictions of the object itself that affect its status", Version(nested::root)),
    Lint::error("unsupported-keyword", "recursive types, maps whose keys are not strings, and other keywords that a CRD cannot have", Schema(form::keywords)),
    Lint::error("schema-type", "values of any type: untagged enums of different types, tuples, `()`, lists without a schema for their items", Schema(form::types)),
    Lint::error("map-values", "fields next to a flattened map, and maps whose values have no schema", Schema(form::maps)),
    Lint::error("object-fields", "invalid schemas of `apiVersion`, `kind` and `metadata`, and a root that is not an object", Schema(resource::check)),
    Lint::error("extension", "`x-kubernetes-…` keywords that contradict each other or the type", Schema(extensions::check)),
    Lint::warning("float", "floats are rounded differently by different clients", Schema(scalars::float)),
    Lint::warning("bytes", "a list of bytes is a list of numbers in YAML", Schema(scalars::bytes)),
    Lint::warning("format", "a format that the API server does not check", Schema(scalars::format)),
    Lint::error("restriction", "`anyOf`, `allOf`, `oneOf` and `not` with keywords that only the schema around them may have", Schema(nested::check)),
    Lint::error("merge-strategy", "merge strategies on a value that is not a list or map", Schema(lists::strategies)),
    Lint::error("unknown-merge-strategy", "merge strategies that the API server does not know", Schema(lists::known_strategies)).version_dependent(),
    Lint::error("list-keys", "keys that do not exist, can be missing or null, or are not scalars; sets of items that are merged field by field", Schema(lists::keys)),
    Lint::warning("set-items", "sets of objects or lists, which server-side apply and rules do not support", Schema(lists::set_items)),
    Lint::error("conditions", "lists of conditions without a key, so that several writers overwrite each other", Schema(lists::conditions)),
    Lint::error("default", "defaults that are invalid, violate a rule, or have unknown fields", Schema(defaults::check)),
    Lint::error("pattern", "patterns that Go does not support: look-around, back-references", Schema(patterns::check)),
    Lint::error("rule-form", "rules that are empty, or whose message or field path the API server rejects", Schema(rule_form::form)),
    Lint::error("unknown-reason", "rules with a reason that the API server does not know", Schema(rule_form::reason)).version_dependent(),
    Lint::error("rule", "rules that do not parse, or have type errors", Schema(rules::types)),
    Lint::error("unknown-function", "rules and match conditions that call an unknown function or library", Schema(rules::functions)).version_dependent(),
    Lint::error("unknown-overload", "rules and match conditions that call a function with arguments of the wrong types", Schema(rules::overloads)).version_dependent(),
    Lint::error("unknown-variable", "rules and match conditions that use an unknown variable", Schema(rules::variables)).version_dependent(),
    Lint::error("old-self", "rules that use `oldSelf` where it is not available", Schema(rules::old_self)),
    Lint::warning("cost", "a rule that may cost more than the API server allows (an estimate), and what to bound", Schema(rules::cost)),
    Lint::error("match-condition", "match conditions of webhooks that do not parse, or have type errors", Condition).version_dependent(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_kebab_case() {
        for (position, lint) in LINTS.iter().enumerate() {
            let allowed = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(lint.id.bytes().all(allowed), "{}", lint.id);
            let before = &LINTS[..position];
            assert!(
                before.iter().all(|known| known.id != lint.id),
                "{}",
                lint.id
            );
        }
    }
}
