//! A webhook in the form of the API: applies a `patch`, and finds what the API server would reject.

use apiserver_rules::merge;
use crd_lint::check_condition;
use crd_lint::nearest;
use serde_json::{Map, Value, json};

use crate::allow::is_allowable;
use crate::problem::{self, Problem};
use kbr_scaffold::resource::names;

pub use names::is_subdomain;

/// The fields of a webhook in `admissionregistration.k8s.io/v1`.
const FIELDS: [&str; 12] = [
    "admissionReviewVersions",
    "clientConfig",
    "failurePolicy",
    "matchConditions",
    "matchPolicy",
    "name",
    "namespaceSelector",
    "objectSelector",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
];

/// A domain name of at least three labels, as the API server requires.
pub fn is_qualified(name: &str) -> bool {
    is_subdomain(name) && name.split('.').count() >= 3
}

/// Applies `patch`, a JSON object whose fields replace those of the webhook: objects are merged, lists are replaced, `null`
/// removes. A strategic merge patch gives the same result, because the webhook has no mergeable list yet.
///
/// Returns a problem for each unknown field.
///
/// # Errors
/// `patch` is not a JSON object.
pub fn patch(webhook: &mut Value, patch: &str) -> Result<Vec<Problem>, String> {
    let parsed: Map<String, Value> = serde_json::from_str(patch)
        .map_err(|error| format!("`patch` is not a JSON object: {error}"))?;
    let unknown = unknown_fields(&parsed);
    merge(webhook, Value::Object(parsed));
    Ok(unknown)
}

/// Mistakes that the API server would reject, or that would make its calls fail.
pub fn faults(webhook: &Value, mutating: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |bad: bool, text: &str, help: &str| {
        if bad {
            problems.push(Problem::new(text).help(help));
        }
    };
    let effects = &webhook["sideEffects"];
    wrong(
        effects != "None" && effects != "NoneOnDryRun",
        "`sideEffects` is missing, or is not `None` or `NoneOnDryRun`",
        "write `sideEffects=None`, or `NoneOnDryRun` if the webhook has no side effects in dry runs",
    );
    let timeout = &webhook["timeoutSeconds"];
    wrong(
        !timeout.is_null()
            && !timeout
                .as_i64()
                .is_some_and(|seconds| (1..=30).contains(&seconds)),
        "`timeoutSeconds` must be from 1 to 30",
        "remove it for the default of 10 seconds",
    );
    wrong(
        !mutating && !webhook["reinvocationPolicy"].is_null(),
        "only mutating webhooks can have a `reinvocationPolicy`",
        "remove it",
    );
    let versions = webhook["admissionReviewVersions"].as_array();
    wrong(
        !versions.is_some_and(|versions| versions.contains(&json!("v1"))),
        "`admissionReviewVersions` lacks `v1`, the only version that the operator supports",
        "write `admissionReviewVersions=v1`",
    );
    for rule in webhook["rules"].as_array().into_iter().flatten() {
        let several = |list: &str, all: &str| {
            let values = rule[list].as_array().map_or(&[][..], Vec::as_slice);
            values.len() > 1 && values.contains(&json!(all))
        };
        let all = [
            ("apiGroups", "*"),
            ("apiVersions", "*"),
            ("operations", "*"),
            ("resources", "*/*"),
        ];
        wrong(
            all.iter().any(|(list, all)| several(list, all)),
            "`*` means all, so it must be the only item of its list",
            "write only `*`",
        );
    }
    problems.extend(address(&webhook["clientConfig"]).map(Problem::new));
    problems.extend(conditions(&webhook["matchConditions"]));
    problems
}

/// A problem for each unknown field.
fn unknown_fields(patch: &Map<String, Value>) -> Vec<Problem> {
    let unknown = patch.keys().map(String::as_str);
    let unknown = unknown.filter(|field| !FIELDS.contains(field));
    let problem = |field| {
        let problem = Problem::new(format!("`patch`: unknown webhook field `{field}`"));
        let problem = problem.did_you_mean(nearest(field, FIELDS));
        problem::or_newer(problem, "unknown-webhook-field")
    };
    unknown.map(problem).collect()
}

/// The problems of match conditions.
fn conditions(conditions: &Value) -> Vec<Problem> {
    let mut names = Vec::new();
    let mut problems = Vec::new();
    for condition in conditions.as_array().into_iter().flatten() {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let (name, expression) = (text("name"), text("expression"));
        if names.contains(&name) {
            problems.push(Problem::new(format!("duplicate match condition `{name}`")));
        }
        names.push(name);
        if let Err(finding) = check_condition(expression) {
            let reason = &finding.message;
            let text = format!("the match condition `{name}`, `{expression}`: {reason}");
            let problem = Problem::new(text).help(finding.helps.join("; "));
            problems.push(if is_allowable(finding.id) {
                problem::or_newer(problem, finding.id)
            } else {
                problem
            });
        }
    }
    problems
}

/// The problem of an invalid path or URL.
fn address(client: &Value) -> Option<String> {
    if let Some(url) = client["url"].as_str() {
        let good = url.strip_prefix("https://").is_some_and(|rest| {
            let host = rest.split('/').next().unwrap_or_default();
            !host.is_empty() && !host.contains('@') && !rest.contains(['?', '#', ' '])
        });
        return (!good).then(|| {
            format!("`{url}` is not a valid webhook URL: write `https://` and a host, without user, query or fragment")
        });
    }
    let path = client["service"]["path"].as_str()?;
    let words = |rest: &str| {
        rest.strip_suffix('/')
            .unwrap_or(rest)
            .split('/')
            .all(is_subdomain)
    };
    let good = path == "/" || path.strip_prefix('/').is_some_and(words);
    (!good).then(|| {
        format!("`{path}` is not a valid webhook path: write `/`, then segments of `a` to `z`, `0` to `9`, `-` and `.`, separated by single `/`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples in appendix A of the RFC, and `{}`, `[]`, `null` and nothing in each place.
    #[test]
    fn a_patch_is_merged_as_the_rfc_says() {
        for (mut target, patch, merged) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
            (json!({}), json!({"a": {}}), json!({"a": {}})),
            (json!({"a": 1}), json!({"a": {}}), json!({"a": {}})),
            (
                json!({"a": {"b": 1}}),
                json!({"a": {}}),
                json!({"a": {"b": 1}}),
            ),
            (json!({"a": {"b": 1}}), json!({"a": []}), json!({"a": []})),
            (json!({"a": {"b": 1}}), json!({}), json!({"a": {"b": 1}})),
        ] {
            merge(&mut target, patch);
            assert_eq!(target, merged);
        }
    }
}
