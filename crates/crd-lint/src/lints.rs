//! The registry: every lint, in the order in which findings at one place come.
//!
//! A new lint is a function with its tests in a file below `lints/`, and a row here.

mod columns;
mod cost;
mod defaults;
mod deprecation;
mod extensions;
mod form;
mod keywords;
mod lists;
mod names;
mod nested;
mod patterns;
mod resource;
mod rule_form;
mod rules;
mod scalars;
mod scale;
mod selectable;
mod size;
mod versions;

use crate::lint::Check::{Condition, Definition, Schema, Version};
use crate::lint::Lint;

/// Every lint. Ids are unique and stay what they are.
pub const LINTS: &[Lint] = &[
    Lint::error("definition", "what is not a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`, or has no versions", Definition(versions::definition)),
    Lint::error("stored-version", "two stored versions, or none", Definition(versions::stored)),
    Lint::error("served-version", "no version that is served", Definition(versions::served)),
    Lint::error("group", "a group without a dot, or one that belongs to Kubernetes", Definition(names::group)),
    Lint::error("name", "plural, singular, kind, short names and categories that are not names", Definition(names::names)),
    Lint::error("selectable-fields-differ", "the same selectable fields in versions whose schemas differ, which kube-apiserver rejects up to 1.36 at least", Definition(selectable::same_in_versions_that_differ)).version_dependent(),
    Lint::warning("size", "a definition too large for client-side `kubectl apply`", Definition(size::check)),
    Lint::error("duplicate-version", "two versions with one name", Definition(versions::twice)),
    Lint::error("version-name", "a version whose name is not one", Version(names::version)),
    Lint::error("printer-column", "printer columns without a name, or whose path names no field", Version(columns::check)),
    Lint::error("unknown-column-type", "types and formats of printer columns that the API server does not know", Version(columns::types)).version_dependent(),
    Lint::error("selectable-field", "selectable fields that are lists or objects, are named twice, or whose path names no field", Version(selectable::check)),
    Lint::error("selectable-field-limit", "more selectable fields than the API server allows", Version(selectable::limit)).version_dependent(),
    Lint::error("scale", "paths of the `scale` subresource that name no field of `spec` or `status`", Version(scale::check)),
    Lint::error("deprecation-warning", "the warning of a deprecated version: empty, too long, of several lines, or of a version that is not deprecated", Version(deprecation::check)),
    Lint::error("root-restriction", "restrictions of the object itself that concern its status", Version(nested::root)),
    Lint::error("unsupported-keyword", "types that contain themselves, maps whose keys are not strings, and other keywords that a CRD cannot have", Schema(form::keywords)),
    Lint::error("schema-type", "values of any type: untagged enums of different types, tuples, `()`, lists without a schema of their items", Schema(form::types)),
    Lint::error("map-values", "fields beside a flattened map, and maps whose values have no schema", Schema(form::maps)),
    Lint::error("object-fields", "`apiVersion`, `kind` and `metadata` that are not those of an object, and a root that is not an object", Schema(resource::check)),
    Lint::error("extension", "`x-kubernetes-…` keywords that contradict each other or the type", Schema(extensions::check)),
    Lint::warning("float", "floats are rounded differently by different readers", Schema(scalars::float)),
    Lint::warning("bytes", "a list of bytes is a list of numbers in YAML", Schema(scalars::bytes)),
    Lint::warning("format", "a format that no API server checks", Schema(scalars::format)),
    Lint::error("restriction", "`anyOf`, `allOf`, `oneOf` and `not` that say what only the schema around them may", Schema(nested::check)),
    Lint::error("merge-strategy", "merge strategies at what is not a list or map", Schema(lists::strategies)),
    Lint::error("unknown-merge-strategy", "merge strategies that the API server does not know", Schema(lists::known_strategies)).version_dependent(),
    Lint::error("list-keys", "keys that no field has, that can be missing or null, or that are not scalars; sets of what can be merged in part", Schema(lists::keys)),
    Lint::error("conditions", "conditions without a key, which several writers overwrite", Schema(lists::conditions)),
    Lint::error("default", "defaults that are not valid, break a rule, or have fields that the type does not have", Schema(defaults::check)),
    Lint::error("pattern", "patterns that Go cannot read: look-around, back-references", Schema(patterns::check)),
    Lint::error("rule-form", "rules that are empty, or whose message or field path the API server rejects", Schema(rule_form::form)),
    Lint::error("unknown-reason", "rules with a reason that the API server does not know", Schema(rule_form::reason)).version_dependent(),
    Lint::error("rule", "rules that do not parse, or whose types do not fit", Schema(rules::types)),
    Lint::error("unknown-function", "rules and match conditions that call a function or library that is not there", Schema(rules::functions)).version_dependent(),
    Lint::error("unknown-overload", "rules and match conditions that call a function with what it does not take", Schema(rules::overloads)).version_dependent(),
    Lint::error("unknown-variable", "rules and match conditions that use a name that is not there", Schema(rules::variables)).version_dependent(),
    Lint::error("old-self", "rules that need an `oldSelf` where there is none", Schema(rules::old_self)),
    Lint::warning("cost", "a rule that may cost more than the API server allows (an estimate), and what to bound", Schema(rules::cost)),
    Lint::error("match-condition", "match conditions of webhooks that do not parse, or whose types do not fit", Condition).version_dependent(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_kebab_case_and_there_once() {
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
