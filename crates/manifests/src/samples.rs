//! Validates `config/samples` against the types, and repairs samples that were not edited.

pub mod fill;
mod lines;

use std::path::Path;

use apiserver_rules::{Rules, normalise, set_defaults};
use crd_lint::nearest;
use serde_json::{Map, Value, json};

use super::crd::Crd;
use super::files::{self, Body};
use super::problem::Problem;
use kbr_scaffold::edited;
use kbr_scaffold::yaml;
use lines::Document;

/// The folder of the samples.
const FOLDER: &str = "config/samples";

/// The fields that each object has independent of its schema.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The samples to repair. Adds what is wrong with the others to `warnings`.
///
/// # Errors
/// The folder cannot be read.
pub fn check(root: &Path, crds: &[Crd], warnings: &mut Vec<Problem>) -> anyhow::Result<Vec<Body>> {
    let mut repaired = Vec::new();
    for name in files::list(&root.join(FOLDER))? {
        let path = format!("{FOLDER}/{name}");
        let Some(before) = files::read(&root.join(&path))? else {
            continue;
        };
        let Ok(text) = str::from_utf8(&before) else {
            warnings.push(Problem::new("is not UTF-8 text").at(&path));
            continue;
        };
        if !edited::is_untouched(text) {
            warnings.extend(validate(crds, &path, text));
            continue;
        }
        let (body, found) = repair(crds, &path, text);
        warnings.extend(found);
        repaired.extend(body.map(|text| Body::new(path, text)));
    }
    Ok(repaired)
}

/// The problems of each object of a file.
fn validate(crds: &[Crd], path: &str, text: &str) -> Vec<Problem> {
    let documents = match Document::all(text) {
        Ok(documents) => documents,
        Err(error) => {
            return vec![Problem::new(format!("is not YAML: {error}")).at(path)];
        }
    };
    documents
        .iter()
        .flat_map(|document| problems(crds, path, document))
        .collect()
}

/// The repaired text, without the checksum, of a sample that was not edited; `None` if it is valid, or not of a type of the project. With a
/// warning about what is still wrong with it.
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
        let object = filled(&schema(version), &document.value);
        Some(comment(text) + &yaml::render(&[object]).ok()?)
    };
    let Some(body) = repaired() else {
        return (None, found);
    };
    let left = validate(crds, path, &edited::checksummed(&body));
    let texts: Vec<_> = left.iter().map(Problem::text).collect();
    let texts = texts.join("\n");
    let text = "kbr found no values that make this unedited sample valid";
    let help =
        "write valid values, or give the fields examples: `#[schemars(extend(\"example\" = …))]`";
    let problem = Problem::new(text).at(path).below(&texts).help(help);
    (
        Some(body),
        (!left.is_empty()).then_some(problem).into_iter().collect(),
    )
}

/// The comment below the first line, which has the checksum.
fn comment(text: &str) -> String {
    let lines = text.lines().skip(1);
    let lines = lines.take_while(|line| line.starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The object with all fields that its schema requires.
fn filled(schema: &Value, object: &Value) -> Value {
    let mut filled = fill::fill(schema, Some(&bare(object)));
    for name in OF_EVERY_OBJECT {
        if let Some(value) = object.get(name) {
            filled[name] = value.clone();
        }
    }
    filled
}

/// The object without the fields of every object.
fn bare(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let own = fields.filter(|(name, _)| !OF_EVERY_OBJECT.contains(&name.as_str()));
    let own = own.map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(own.collect::<Map<_, _>>())
}

/// The schema of a version, for the fields that not every object has.
fn schema(version: &Value) -> Value {
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    let required = schema.get_mut("required").and_then(Value::as_array_mut);
    if let Some(required) = required {
        required.retain(|name| !OF_EVERY_OBJECT.iter().any(|it| name == it));
    }
    schema
}

/// The version of an object; `None` for a kind of an external group.
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
        None => Err(format!("no type defines `{kind}` of `{api_version}`")),
    }
}

fn problems(crds: &[Crd], file: &str, document: &Document) -> Vec<Problem> {
    let at = |path: &str| format!("{file}:{}", document.line(path));
    let version = match version(crds, &document.value) {
        Ok(Some(version)) => version,
        Ok(None) => return Vec::new(),
        Err(reason) => return vec![Problem::new(reason).at(&at(".kind"))],
    };
    let schema = &schema(version);
    let object = bare(&document.value);
    let mut whole = object.clone();
    normalise(&mut whole);
    set_defaults(&mut whole, schema);
    let mut found = apiserver_rules::problems(&whole, schema);
    if found.is_empty() {
        found = rules(version, &document.value, whole);
    }
    let mut found: Vec<_> = found.into_iter().map(|it| (it.path, it.plain)).collect();
    unknown(schema, &object, "", &mut found);
    let problem = |(path, plain): (String, String)| {
        let text = match path.as_str() {
            "" => format!("the object {plain}"),
            path => format!("`{path}` {plain}"),
        };
        Problem::new(text).at(&at(&path))
    };
    found.into_iter().map(problem).collect()
}

/// The rules that an object violates. The API server evaluates them only if the object matches the schema, and drops the
/// status when an object is created if status is a subresource.
fn rules(version: &Value, object: &Value, mut whole: Value) -> Vec<apiserver_rules::Problem> {
    for name in OF_EVERY_OBJECT {
        whole[name] = object[name].clone();
    }
    let fields = whole.as_object_mut();
    if let (Some(fields), true) = (fields, version["subresources"]["status"].is_object()) {
        fields.remove("status");
    }
    let schema = &schema(version);
    let rules = Rules::of(schema, true);
    let judgement = rules.map(|rules| rules.judge(schema, &whole, None));
    judgement.unwrap_or_default().problems
}

/// Fields that the schema does not have: the API server drops them, and kubectl rejects the object.
fn unknown(schema: &Value, value: &Value, path: &str, found: &mut Vec<(String, String)>) {
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
                    let reason = format!("is an unknown field{}", near.unwrap_or_default());
                    found.push((path, reason));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
