//! A webhook as the API has it: what a `patch` makes of it, and what the API server would refuse.

use crd_lint::nearest;
use crd_lint::rules::check_condition;
use serde_json::{Map, Value, json};

use crate::manifests::allow::is_allowable;
use crate::manifests::problem::Problem;
use crate::resource::names;

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

/// A domain name of at least three words, as the API server wants it.
pub fn is_qualified(name: &str) -> bool {
    is_subdomain(name) && name.split('.').count() >= 3
}

/// Applies `patch`, a JSON object whose fields replace those of the webhook: objects are merged, lists replaced, and `null`
/// removes. That is what a strategic merge patch does with a webhook, which has no list to merge at that time.
///
/// Gives what is wrong with fields that webhooks do not have.
///
/// # Errors
/// It is not a JSON object.
pub fn patch(webhook: &mut Value, patch: &str) -> Result<Vec<Problem>, String> {
    let parsed: Map<String, Value> = serde_json::from_str(patch)
        .map_err(|error| format!("`patch` is not a JSON object: {error}"))?;
    let unknown = unknown_fields(&parsed);
    merge(webhook, Value::Object(parsed));
    Ok(unknown)
}

/// RFC 7396.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().map(|fields| fields.remove(&key));
        } else {
            merge(&mut target[key], value);
        }
    }
}

/// What the API server would refuse, or call in vain.
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
        "`sideEffects` is missing, or says that there are some",
        "write `sideEffects=None`, or `NoneOnDryRun` for a webhook that minds dry runs",
    );
    let timeout = &webhook["timeoutSeconds"];
    wrong(
        !timeout.is_null()
            && !timeout
                .as_i64()
                .is_some_and(|seconds| (1..=30).contains(&seconds)),
        "`timeoutSeconds` is not from 1 to 30",
        "leave it out for 10 seconds",
    );
    wrong(
        !mutating && !webhook["reinvocationPolicy"].is_null(),
        "`reinvocationPolicy` is for mutating webhooks",
        "leave it out",
    );
    let versions = webhook["admissionReviewVersions"].as_array();
    wrong(
        !versions.is_some_and(|versions| versions.contains(&json!("v1"))),
        "`admissionReviewVersions` lacks `v1`, the only version that the operator speaks",
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
            "`*` stands for all, so nothing else may be in its list",
            "write `*` alone",
        );
    }
    problems.extend(address(&webhook["clientConfig"]).map(Problem::new));
    problems.extend(conditions(&webhook["matchConditions"]));
    problems
}

/// Fields that webhooks do not have.
fn unknown_fields(patch: &Map<String, Value>) -> Vec<Problem> {
    let unknown = patch.keys().map(String::as_str);
    let unknown = unknown.filter(|field| !FIELDS.contains(field));
    let problem = |field| {
        let problem = Problem::new(format!("`patch`: no webhook has `{field}`"));
        let problem = problem.did_you_mean(nearest(field, FIELDS));
        problem.or_newer("unknown-webhook-field")
    };
    unknown.map(problem).collect()
}

/// What is wrong with match conditions.
fn conditions(conditions: &Value) -> Vec<Problem> {
    let mut names = Vec::new();
    let mut problems = Vec::new();
    for condition in conditions.as_array().into_iter().flatten() {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let (name, expression) = (text("name"), text("expression"));
        if names.contains(&name) {
            problems.push(Problem::new(format!(
                "there are two match conditions `{name}`"
            )));
        }
        names.push(name);
        if let Err(finding) = check_condition(expression) {
            let reason = &finding.message;
            let text = format!("the match condition `{name}`, `{expression}`: {reason}");
            let problem = Problem::new(text).help(finding.helps.join("; "));
            problems.push(if is_allowable(finding.id) {
                problem.or_newer(finding.id)
            } else {
                problem
            });
        }
    }
    problems
}

/// What is wrong with a path or URL.
fn address(client: &Value) -> Option<String> {
    if let Some(url) = client["url"].as_str() {
        let good = url.strip_prefix("https://").is_some_and(|rest| {
            let host = rest.split('/').next().unwrap_or_default();
            !host.is_empty() && !host.contains('@') && !rest.contains(['?', '#', ' '])
        });
        return (!good).then(|| {
            format!("`{url}` is no URL that a webhook may have: `https://`, a host, and no user, query or fragment")
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
        format!("`{path}` is not a path that a webhook may have: `/`, then lower-case letters, digits, `-` and `.`, with single `/` between")
    })
}
