//! YAML -> the one CRD in it, or what to do instead.

use kbr_host::diagnostic::Diagnostic;
use kbr_host::yaml::Budget;
use serde_json::{Value, json};

use super::definition::Definition;
use crate::quote::is_plain;

/// The definition in `text`, which is YAML or JSON. If it contains several, `kind` selects one.
///
/// # Errors
/// The text is neither, contains no CRD of `apiextensions.k8s.io/v1`, or several of them.
pub fn read(text: &str, kind: Option<&str>) -> anyhow::Result<Definition> {
    let (mut found, others) = split(text, &mut Budget::default())?;
    if let Some(kind) = kind {
        let is_wanted = |crd: &Value| crd["spec"]["names"]["kind"] == json!(kind);
        if !found.is_empty() && !found.iter().any(is_wanted) {
            return Err(not_among(kind, &found).into());
        }
        found.retain(is_wanted);
    }
    match &found[..] {
        [crd] => checked(crd),
        [] => Err(none(&others).into()),
        several => Err(too_many(several).into()),
    }
}

/// All definitions in one of several texts that share a budget. It may have none.
///
/// # Errors
/// The text is not YAML, the budget is spent, or one of them is not a CRD of `apiextensions.k8s.io/v1`.
pub fn read_all(text: &str, budget: &mut Budget) -> anyhow::Result<Vec<Definition>> {
    split(text, budget)?.0.iter().map(checked).collect()
}

/// The definitions in a text, and the kinds of its other objects.
fn split(text: &str, budget: &mut Budget) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
    let mut found: Vec<Value> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for document in documents(text, budget)? {
        match (&document["kind"], document["items"].as_array()) {
            (Value::String(kind), _) if kind == CRD => found.push(document),
            (Value::String(kind), Some(items)) if kind.ends_with("List") => {
                found.extend(
                    items
                        .iter()
                        .filter(|item| item["kind"] == json!(CRD))
                        .cloned(),
                );
            }
            (Value::String(kind), _) => others.push(kind.clone()),
            (_, _) if document.is_null() => {}
            (_, _) => others.push(String::new()),
        }
    }
    Ok((found, others))
}

const CRD: &str = "CustomResourceDefinition";

/// How to get a CRD, for errors.
const CURE: &str = "get one from a cluster: `kubectl get crd captains.crew.example.com -o yaml`";

fn documents(text: &str, budget: &mut Budget) -> anyhow::Result<Vec<Value>> {
    if let Ok(value) = serde_json::from_str(text) {
        budget.spend(nodes(&value), text.len());
        return Ok(vec![value]);
    }
    let values = budget.documents(text);
    Ok(values.map_err(|error| template(text).unwrap_or_else(|| broken(&error.to_string())))?)
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(|it| 1 + nodes(it)).sum::<usize>(),
        _ => 1,
    }
}

/// What the parser says, without its advice to programs that use it.
fn broken(error: &str) -> Diagnostic {
    let first = error.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let first = first.split(", set DuplicateKeyPolicy").next();
    let first = first.unwrap_or_default();
    Diagnostic::new(format!("the CRD is not valid YAML: {first}")).help(CURE)
}

/// The error for a file of a chart that Helm has not rendered, if `text` is one.
fn template(text: &str) -> Option<Diagnostic> {
    let is_action = |line: &str| {
        let value = line.split_once(": ").map_or(line, |(_, value)| value);
        value.trim_start_matches([' ', '-']).starts_with("{{")
    };
    let (at, line) = text.lines().enumerate().find(|(_, line)| is_action(line))?;
    let (at, line) = (at + 1, line.trim());
    let text = format!("the file is a template of Helm, not a manifest: line {at} is `{line}`");
    let help = "render its chart: `helm template NAME CHART --include-crds | kbr create api --from-crd - --kind KIND`";
    Some(Diagnostic::new(text).help(help))
}

fn none(others: &[String]) -> Diagnostic {
    let text = match others {
        [] => "the file is empty".to_owned(),
        [only] if only.is_empty() => format!("found text without `kind`, not a `{CRD}`"),
        [only] => format!("found `{}`, not a `{CRD}`", only.escape_debug()),
        several => format!("found no `{CRD}` among {} documents", several.len()),
    };
    Diagnostic::new(text).help(CURE)
}

fn too_many(several: &[Value]) -> Diagnostic {
    let text = format!(
        "the file contains {} definitions: {}",
        several.len(),
        kinds(several)
    );
    Diagnostic::new(text).help("select one with `--kind`, and run the command for each")
}

fn not_among(kind: &str, found: &[Value]) -> Diagnostic {
    Diagnostic::new(format!("the file does not define the kind `{kind}`"))
        .help(format!("select one of its kinds: {}", kinds(found)))
}

fn kinds(found: &[Value]) -> String {
    let kinds = found
        .iter()
        .filter_map(|crd| crd["spec"]["names"]["kind"].as_str());
    let kinds: Vec<String> = kinds
        .map(|kind| format!("`{}`", kind.escape_debug()))
        .collect();
    kinds.join(", ")
}

/// Checks what later steps rely on.
fn checked(crd: &Value) -> anyhow::Result<Definition> {
    let version = crd["apiVersion"].as_str().unwrap_or_default();
    if version != "apiextensions.k8s.io/v1" {
        let version = version.escape_debug();
        let text = format!("the CRD is of `{version}`, not of `apiextensions.k8s.io/v1`");
        let help = "apply it to an old cluster, and get it from there as v1: `kubectl get crd NAME -o yaml`; or look for a newer release of its operator";
        return Err(Diagnostic::new(text).help(help).into());
    }
    let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
    let required = [
        ("spec.group", &spec["group"]),
        ("spec.scope", &spec["scope"]),
        ("spec.names.kind", &names["kind"]),
        ("spec.names.plural", &names["plural"]),
    ];
    let missing = required
        .iter()
        .find(|(_, value)| value.as_str().is_none_or(str::is_empty));
    if let Some((path, _)) = missing {
        return Err(Diagnostic::new(format!("the CRD has no `{path}`"))
            .help(CURE)
            .into());
    }
    for (path, value) in required {
        check_name(path, value.as_str().unwrap_or_default())?;
    }
    check_versions(&spec["versions"])?;
    check_size(crd)?;
    if let Some(name) = odd_name(crd) {
        let text = format!(
            "the CRD has a name with a character that no one sees: `{}`",
            name.escape_debug()
        );
        let help =
            "rename that field or annotation: no one can type it, and it may look like another";
        return Err(Diagnostic::new(text).help(help).into());
    }
    Ok(Definition::read(crd))
}

/// The largest request that an API server reads: no cluster has a larger CRD.
const LARGEST: usize = 3 << 20;

/// More versions would each become a file.
const MOST_VERSIONS: usize = 100;

fn check_size(crd: &Value) -> anyhow::Result<()> {
    let size = crd.to_string().len();
    if size > LARGEST {
        let text = format!(
            "the CRD has {} KiB as JSON, but an API server reads at most {}",
            size >> 10,
            LARGEST >> 10
        );
        let help = "shorten it, for example by its descriptions: `controller-gen crd:maxDescLen=0`";
        return Err(Diagnostic::new(text).help(help).into());
    }
    Ok(())
}

/// Names become code before anything else is known about them.
fn check_name(path: &str, name: &str) -> anyhow::Result<()> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    if name.chars().all(is_name) {
        return Ok(());
    }
    let name = name.escape_debug();
    Err(Diagnostic::new(format!("`{path}` is not a name: `{name}`"))
        .help(CURE)
        .into())
}

/// The first name of a field, at any depth, that is not visible text.
fn odd_name(value: &Value) -> Option<&str> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let is_odd = !name.chars().all(is_plain);
            is_odd.then_some(name.as_str()).or_else(|| odd_name(value))
        }),
        Value::Array(items) => items.iter().find_map(odd_name),
        _ => None,
    }
}

fn check_versions(versions: &Value) -> anyhow::Result<()> {
    let versions = versions.as_array().filter(|versions| !versions.is_empty());
    let Some(versions) = versions else {
        return Err(Diagnostic::new("the CRD has no `spec.versions`")
            .help(CURE)
            .into());
    };
    if versions.len() > MOST_VERSIONS {
        let text = format!(
            "the CRD has {} versions, but kbr takes at most {MOST_VERSIONS}",
            versions.len()
        );
        let help = "remove those that are not served from a copy of the file";
        return Err(Diagnostic::new(text).help(help).into());
    }
    for (at, version) in versions.iter().enumerate() {
        let name = version["name"].as_str().filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(
                Diagnostic::new(format!("`spec.versions[{at}]` has no name"))
                    .help(CURE)
                    .into(),
            );
        };
        check_name(&format!("spec.versions[{at}].name"), name)?;
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let text = format!("version `{name}` has no schema, so its fields are unknown");
            return Err(Diagnostic::new(text)
                .help("without a schema, use `kube::core::DynamicObject`")
                .into());
        }
    }
    Ok(())
}
