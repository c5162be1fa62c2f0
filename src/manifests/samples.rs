//! `config/samples` against the types: a sample that nobody has touched is kept valid, any other is only validated.

mod fill;
mod lines;

use std::path::Path;

use crd_lint::nearest;
use crd_lint::rules::{Broken, broken_by_object};
use crd_lint::value::{self, Violation};
use serde_json::{Map, Value, json};

use super::crd::Crd;
use super::files;
use super::problem::Problem;
use super::yaml;
use crate::changes::{Change, Verb};
use crate::sample;
use lines::Document;

/// Where samples are.
const FOLDER: &str = "config/samples";

/// The fields that each object has, whatever its schema says.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What to write, and what a person should know.
///
/// # Errors
/// The folder cannot be read.
pub fn check(root: &Path, crds: &[Crd]) -> anyhow::Result<(Vec<Change>, Vec<Problem>)> {
    let (mut changes, mut warnings) = (Vec::new(), Vec::new());
    for name in files::list(&root.join(FOLDER))? {
        let path = format!("{FOLDER}/{name}");
        let Some(before) = files::read(&root.join(&path))? else {
            continue;
        };
        let Ok(text) = str::from_utf8(&before) else {
            warnings.push(Problem::new("is not UTF-8 text").at(&path));
            continue;
        };
        let found = match sample::untouched(text) {
            Some(_) => repair(crds, &path, text),
            None => (None, validate(crds, &path, text)),
        };
        warnings.extend(found.1);
        if let Some(after) = found.0 {
            changes.push(Change {
                path,
                verb: Verb::Update,
                before: Some(before),
                after: after.into_bytes(),
            });
        }
    }
    Ok((changes, warnings))
}

/// What is wrong with each object of a file.
fn validate(crds: &[Crd], path: &str, text: &str) -> Vec<Problem> {
    let documents = match Document::all(text) {
        Ok(documents) => documents,
        Err(error) => return vec![Problem::new(format!("is not YAML: {error}")).at(path)],
    };
    documents
        .iter()
        .flat_map(|document| problems(crds, path, document))
        .collect()
}

/// A sample of kbr's own that is valid again; `None` when it is so already, or cannot be made so.
fn repair(crds: &[Crd], path: &str, text: &str) -> (Option<String>, Vec<Problem>) {
    let found = validate(crds, path, text);
    if found.is_empty() {
        return (None, found);
    }
    let repaired = || {
        let documents = Document::all(text).ok()?;
        let [document] = &documents[..] else {
            return None;
        };
        let version = version(crds, &document.value).ok()??;
        let object = filled(schema(version), &document.value);
        let body = yaml::render("", &[object]).ok()?;
        validate(crds, path, &body)
            .is_empty()
            .then(|| sample::signed(&body))
    };
    if let Some(after) = repaired() {
        return (Some(after), Vec::new());
    }
    let known = is_ours(crds, text);
    let text = "nobody has changed this sample, and kbr found no values that make it valid: it stays as it is";
    let help = "write them into it, or give the fields examples: `#[schemars(example = …)]`";
    let problem = Problem::new(text).at(path).help(help);
    let found = found.into_iter().chain(known.then_some(problem));
    (None, found.collect())
}

/// Whether a type gives what is in a file.
fn is_ours(crds: &[Crd], text: &str) -> bool {
    let documents = Document::all(text).unwrap_or_default();
    let known = |document: &Document| matches!(version(crds, &document.value), Ok(Some(_)));
    documents.iter().any(known)
}

/// The object with whatever its schema asks for.
fn filled(schema: &Value, object: &Value) -> Value {
    let mut filled = fill::fill(schema, Some(&bare(object)));
    for name in OF_EVERY_OBJECT {
        if let Some(value) = object.get(name) {
            filled[name] = value.clone();
        }
    }
    filled
}

/// The object without what every object has.
fn bare(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let own = fields.filter(|(name, _)| !OF_EVERY_OBJECT.contains(&name.as_str()));
    let own = own.map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(own.collect::<Map<_, _>>())
}

fn schema(version: &Value) -> &Value {
    &version["schema"]["openAPIV3Schema"]
}

/// The version that an object is of; none for a kind of somebody else.
fn version<'a>(crds: &'a [Crd], object: &Value) -> Result<Option<&'a Value>, String> {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    let (api_version, kind) = (word("apiVersion"), word("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if !crds.iter().any(|crd| crd.group == group) {
        return Ok(None);
    }
    let same = crds
        .iter()
        .find(|crd| crd.group == group && crd.kind == kind);
    let versions = same.map_or(&[][..], Crd::versions);
    match versions.iter().find(|known| known["name"] == version) {
        Some(known) if known["served"] == json!(true) => Ok(Some(known)),
        Some(_) => Err(format!("`{kind}` is not served as `{api_version}`")),
        None => Err(format!("no type gives `{kind}` of `{api_version}`")),
    }
}

fn problems(crds: &[Crd], file: &str, document: &Document) -> Vec<Problem> {
    let at = |path: &str| format!("{file}:{}", document.line(path));
    let version = match version(crds, &document.value) {
        Ok(Some(version)) => version,
        Ok(None) => return Vec::new(),
        Err(reason) => return vec![Problem::new(reason).at(&at(".kind"))],
    };
    let schema = schema(version);
    let object = bare(&document.value);
    let whole = value::defaulted(schema, &object);
    let mut found = value::violations(schema, &whole, "");
    if found.is_empty() {
        found = rules(version, &document.value, whole);
    }
    unknown(schema, &object, "", &mut found);
    let problem = |violation: Violation| {
        let text = match violation.path.as_str() {
            "" => format!("the object {}", violation.reason),
            path => format!("`{path}` {}", violation.reason),
        };
        Problem::new(text).at(&at(&violation.path))
    };
    found.into_iter().map(problem).collect()
}

/// The rules that an object does not keep. The API server runs them on what has the right form, and drops a status that
/// is a subresource when an object is made.
fn rules(version: &Value, object: &Value, mut whole: Value) -> Vec<Violation> {
    for name in OF_EVERY_OBJECT {
        whole[name] = object[name].clone();
    }
    let fields = whole.as_object_mut();
    if let (Some(fields), true) = (fields, version["subresources"]["status"].is_object()) {
        fields.remove("status");
    }
    let violation = |broken: Broken| {
        let why = broken.why.map(|why| format!(": {why}")).unwrap_or_default();
        let reason = format!("does not keep the rule `{}`{why}", broken.rule);
        Violation {
            path: broken.path,
            reason,
        }
    };
    let broken = broken_by_object(schema(version), &whole);
    broken.into_iter().map(violation).collect()
}

/// Fields that the schema does not have: the API server drops them, and kubectl refuses to send them.
fn unknown(schema: &Value, value: &Value, path: &str, found: &mut Vec<Violation>) {
    match value {
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                unknown(
                    &schema["items"],
                    item,
                    &format!("{path}[{position}]"),
                    found,
                );
            }
        }
        Value::Object(fields) => {
            let is = |key: &str| schema[key] == json!(true);
            let embedded = is("x-kubernetes-embedded-resource");
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                let field = &schema["properties"][name];
                if field.is_object() {
                    unknown(field, value, &path, found);
                } else if schema["additionalProperties"].is_object() {
                    unknown(&schema["additionalProperties"], value, &path, found);
                } else if !(is("x-kubernetes-preserve-unknown-fields")
                    || is("additionalProperties")
                    || embedded && OF_EVERY_OBJECT.contains(&name.as_str()))
                {
                    let known = schema["properties"].as_object().into_iter().flatten();
                    let near = nearest(name, known.map(|(known, _)| known.as_str()));
                    let near = near.map(|near| format!(", did you mean `{near}`"));
                    let reason = format!("is no field of the type{}", near.unwrap_or_default());
                    found.push(Violation { path, reason });
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::crd::merge;
    use crate::manifests::source_map::SourceMap;

    fn crds(spec: &Value) -> Vec<Crd> {
        let version = |name: &str, served: bool| {
            json!({ "name": name, "served": served, "storage": served, "schema": { "openAPIV3Schema": {
                "type": "object", "required": ["spec"], "properties": { "spec": spec },
            } } })
        };
        let crd = json!({ "metadata": {}, "spec": {
            "group": "crew.example.com", "scope": "Namespaced", "names": { "kind": "Captain", "plural": "captains" },
            "versions": [version("v1", true), version("v0", false)],
        } });
        merge(&[crd], &SourceMap::default(), &mut Vec::new())
    }

    fn spec() -> Value {
        json!({ "type": "object", "required": ["image", "replicas"], "properties": {
            "image": { "type": "string", "minLength": 1 },
            "replicas": { "type": "integer", "minimum": 1, "default": 1 },
            "ports": { "type": "array", "items": { "type": "object", "properties": { "port": { "type": "integer" } } } },
        } })
    }

    const HEAD: &str =
        "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata:\n  name: captain-sample\n";

    fn warnings(text: &str) -> Vec<String> {
        validate(&crds(&spec()), "a.yaml", text)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_valid_sample_is_let_alone() {
        let good = format!("{HEAD}spec:\n  image: x\n  ports: [{{port: 1}}]\n");
        assert_eq!(warnings(&good), [""; 0]);
        assert_eq!(
            repair(&crds(&spec()), "a.yaml", &sample::signed(&good)),
            (None, vec![])
        );
    }

    #[test]
    fn an_edited_sample_is_told_each_wrong_field_with_its_line() {
        let bad =
            format!("# mine\n{HEAD}spec:\n  replicas: 0\n  ports:\n  - prot: 1\n  - port: x\n");
        let expected = [
            "`a.yaml:6`: `.spec` has no `image`, which is required",
            "`a.yaml:10`: `.spec.ports[1].port` is of type `string`, not `integer`",
            "`a.yaml:7`: `.spec.replicas` is below 1",
            "`a.yaml:9`: `.spec.ports[0].prot` is no field of the type, did you mean `port`",
        ];
        assert_eq!(warnings(&bad), expected);
        assert!(warnings("a: [").concat().contains("`a.yaml`: is not YAML"));
    }

    #[test]
    fn a_sample_of_a_kind_that_is_gone_or_not_served_is_told() {
        let of = |from: &str, to: &str| warnings(&HEAD.replace(from, to));
        assert_eq!(
            of("v1", "v0"),
            ["`a.yaml:2`: `Captain` is not served as `crew.example.com/v0`"]
        );
        assert_eq!(
            of("v1", "v3"),
            ["`a.yaml:2`: no type gives `Captain` of `crew.example.com/v3`"]
        );
        assert_eq!(
            of("Captain", "Mate"),
            ["`a.yaml:2`: no type gives `Mate` of `crew.example.com/v1`"]
        );
        assert_eq!(
            of("crew.example.com", "apps"),
            [""; 0],
            "somebody else's kind"
        );
    }

    #[test]
    fn a_sample_that_nobody_has_touched_becomes_valid_again() {
        let now = sample::signed(&format!("{HEAD}spec:\n  ports: []\n  gone: 1\n"));
        let (after, found) = repair(&crds(&spec()), "a.yaml", &now);
        assert!(found.is_empty());
        let expected = sample::signed(&format!("{HEAD}spec:\n  image: example\n  ports: []\n"));
        assert_eq!(after, Some(expected));
    }

    fn ruled(rule: &Value) -> Vec<Crd> {
        crds(
            &json!({ "type": "object", "x-kubernetes-validations": [rule], "properties": {
            "least": { "type": "integer" }, "most": { "type": "integer", "default": 3 }, "url": { "type": "string" },
        } }),
        )
    }

    #[test]
    fn a_sample_that_breaks_a_rule_is_told_with_its_message_and_field() {
        let rule = json!({ "rule": "self.least <= self.most", "message": "least is above most", "fieldPath": ".least" });
        let found = |least: u32| {
            let text = format!("{HEAD}spec:\n  url: x\n  least: {least}\n");
            let found = validate(&ruled(&rule), "a.yaml", &text);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(3), [""; 0], "with the default of the other field");
        let expected = "`a.yaml:7`: `.spec.least` does not keep the rule `self.least <= self.most`: least is above most";
        assert_eq!(found(4), [expected]);
    }

    #[test]
    fn a_sample_that_nobody_has_touched_is_changed_until_it_keeps_the_rules() {
        let now = sample::signed(&format!("{HEAD}spec: {{}}\n"));
        let repaired = |rule: &str| {
            let (after, found) = repair(&ruled(&json!({ "rule": rule })), "a.yaml", &now);
            assert_eq!(found, []);
            after.expect("it can be repaired")
        };
        assert!(repaired("has(self.least) && self.least < self.most").ends_with("  least: 1\n"));
        assert!(repaired("has(self.least) != has(self.url)").ends_with("  least: 1\n"));
    }

    #[test]
    fn a_rule_that_kbr_knows_no_values_for_is_told_and_the_sample_stays() {
        let now = sample::signed(&format!("{HEAD}spec: {{}}\n"));
        let rule = json!({ "rule": "has(self.url) && self.url.startsWith('oci://')" });
        let (after, found) = repair(&ruled(&rule), "a.yaml", &now);
        assert_eq!(after, None);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let [broken, stays] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(broken.starts_with("`a.yaml:6`: `.spec` does not keep the rule `has(self.url)"));
        assert!(
            stays.contains("it stays as it is\n    help: write"),
            "{stays}"
        );
    }

    #[test]
    fn a_sample_that_kbr_cannot_make_valid_is_told() {
        let spec = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string", "pattern": "^[xyz]{7}$" } } });
        let now = sample::signed(&format!("{HEAD}spec: {{}}\n"));
        let (after, found) = repair(&crds(&spec), "a.yaml", &now);
        assert_eq!(after, None);
        assert_eq!(
            found[0].to_string(),
            "`a.yaml:6`: `.spec` has no `a`, which is required"
        );
    }
}
