//! Turns findings about definitions into problems of the project: at the line of Rust, without those that are allowed.

mod ignored;

use crd_lint::{Finding, Severity};
use serde_json::{Value, json};

use super::allow::{self, Allow, SERDE};
use super::crd::Crd;
use super::original::Original;
use super::problem::{self, Problem};
use super::source_map::{Located, SourceMap};

/// The errors and warnings about a kind.
pub fn check(
    crd: &Crd,
    map: &SourceMap,
    allow: &Allow,
    original: &Original,
) -> (Vec<Problem>, Vec<Problem>) {
    let mut findings = crd_lint::lint(&crd.object);
    findings.extend(ignored::check(crd, map));
    problems(crd, findings, map, allow, original)
}

/// The findings as errors and warnings about a kind, at their lines, without those that are allowed or that an imported kind has had.
pub fn problems(
    crd: &Crd,
    findings: Vec<Finding>,
    map: &SourceMap,
    allow: &Allow,
    original: &Original,
) -> (Vec<Problem>, Vec<Problem>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for finding in findings
        .into_iter()
        .filter(|finding| !original.has(finding))
    {
        let version = finding.version.as_deref();
        let version = version.unwrap_or_else(|| stored(&crd.object));
        let located = map.locate(&crd.kind, version, &finding.path);
        if allow::is_allowable(finding.id)
            && (allow.has(finding.id) || map.allows(&located, finding.id))
        {
            continue;
        }
        let problem = problem(crd, &finding, &located);
        match finding.severity {
            Severity::Error => errors.push(problem),
            Severity::Warning => warnings.push(problem),
        }
    }
    (errors, warnings)
}

/// The version to which findings about the definition as a whole are attributed.
pub fn stored(crd: &Value) -> &str {
    let versions = || crd["spec"]["versions"].as_array().into_iter().flatten();
    let stored = versions().find(|version| version["storage"] == json!(true));
    let name = stored.or(versions().next()).map(|it| &it["name"]);
    name.and_then(Value::as_str).unwrap_or_default()
}

/// The kind, the version, the path and the message.
pub fn text(group: &str, kind: &str, finding: &Finding) -> String {
    let of = match &finding.version {
        Some(version) => format!("`{group}/{version}`"),
        None => format!("group `{group}`"),
    };
    let at = match finding.path.as_str() {
        "" => String::new(),
        path => format!(", `{path}`"),
    };
    format!("`{kind}` of {of}{at}: {}", finding.message)
}

fn problem(crd: &Crd, finding: &Finding, located: &Located) -> Problem {
    let text = text(&crd.group, &crd.kind, finding);
    let problem = helps(finding)
        .into_iter()
        .fold(Problem::new(text), Problem::help);
    let problem = match finding.severity {
        Severity::Warning => problem::or_intended(problem, finding.id),
        Severity::Error if finding.id == SERDE => problem::or_intended(problem, finding.id),
        Severity::Error if allow::is_allowable(finding.id) => {
            problem::or_newer(problem, finding.id)
        }
        Severity::Error => problem,
    };
    match located.shown() {
        Some(place) => problem.at(&place),
        None => problem,
    }
}

/// Help that only applies to projects of kbr.
fn helps(finding: &Finding) -> Vec<String> {
    match finding.id {
        "size" => vec!["`make install` and `make deploy` do that; to make it smaller, set `max_description_length = 0` under `[manifests]` in PROJECT".to_owned()],
        _ => finding.helps.clone(),
    }
}

#[cfg(test)]
mod tests {
    mod fuzz;

    use super::*;
    use crate::markers::markers;
    use kbr_scaffold::rust::Source;

    /// The errors about a kind with a rule that calls an unknown function, and with a wrong pattern.
    fn errors(comment: &str, allow: &[&str]) -> Vec<String> {
        let source = format!(
            "#[derive(CustomResource)]\n#[kube(group = \"x.io\", version = \"v1\", kind = \"Ship\")]\npub struct ShipSpec {{\n    {comment}\n    name: String,\n    code: String,\n}}\n"
        );
        let mut problems = Vec::new();
        let source = Source::new("a.rs", source);
        let markers = markers(&source, &mut problems);
        problems.extend(allow::check_comments(&markers));
        assert_eq!(problems, []);
        let map = SourceMap::new(&[source], &markers);
        let name = json!({ "type": "string", "maxLength": 9, "x-kubernetes-validations": [{ "rule": "future.sail(self)" }] });
        let spec = json!({ "type": "object", "properties": { "name": name, "code": { "type": "string", "pattern": "(?=a)" } } });
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        let crd = Crd {
            group: "x.io".to_owned(),
            kind: "Ship".to_owned(),
            plural: "ships".to_owned(),
            object: json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {
                "group": "x.io", "names": { "kind": "Ship", "plural": "ships" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
            } }),
        };
        let allow: Vec<String> = allow.iter().map(|id| (*id).to_owned()).collect();
        let (errors, warnings) = check(&crd, &map, &Allow::new(&allow), &Original::default());
        assert_eq!(warnings, []);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_error_that_depends_on_the_version_is_allowed_by_a_comment_or_by_project() {
        let both = errors("", &[]);
        let [pattern, function] = &both[..] else {
            panic!("two errors: {both:#?}");
        };
        assert!(function.starts_with("`a.rs:5`: `Ship` of `x.io/v1`, `.spec.name`: rule `future"));
        let help = "\n    help: if your Kubernetes is newer than this kbr and has it, write above it `// +kbr:lint:allow=unknown-function`";
        assert!(function.ends_with(help), "{function}");
        assert!(pattern.starts_with("`a.rs:6`: "), "{pattern}");
        let one = std::slice::from_ref(pattern);
        assert_eq!(errors("// +kbr:lint:allow=unknown-function", &[]), one);
        assert_eq!(errors("", &["unknown-function"]), one);
        assert_eq!(errors("// +kbr:lint:allow=unknown-reason", &[]), both);
    }

    #[test]
    fn an_error_of_another_kind_cannot_be_allowed() {
        assert_eq!(errors("", &["pattern"]).len(), 2);
    }
}
