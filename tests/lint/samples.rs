//! kbr reports violated rules in samples only if a real API server does.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::Project;
use crate::support::{KBR, write};

/// The table; its first lines describe the format.
const ROWS: &str = include_str!("sample-rules.txt");

fn fields() -> Value {
    let text = |most: u32| json!({ "type": "string", "maxLength": most });
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "x": text(5) } });
    json!({
        "name": text(20), "missing": text(20), "if": text(5),
        "count": { "type": "integer" }, "ratio": { "type": "number" }, "on": { "type": "boolean" },
        "at": { "type": "string", "format": "date-time" },
        "port": { "x-kubernetes-int-or-string": true },
        "tags": { "type": "array", "maxItems": 5, "items": text(5) },
        "set": { "type": "array", "maxItems": 5, "items": text(5), "x-kubernetes-list-type": "set" },
        "labels": { "type": "object", "maxProperties": 5, "additionalProperties": text(5) },
        "items": { "type": "array", "maxItems": 5, "items": { "type": "object", "properties": {
            "name": text(5), "size": { "type": "integer" },
        } } },
        "gone": { "type": "object", "nullable": true, "properties": { "x": text(5) } },
        "open": open, "open2": open,
        "defaulted": { "type": "integer", "default": 7 },
    })
}

fn objects() -> [Value; 3] {
    [
        json!({ "name": "né", "count": 5, "ratio": 2, "on": true, "if": "x", "at": "2026-01-01T00:00:00Z", "port": "80%",
            "tags": ["b", "a"], "set": ["b", "a"], "labels": { "a-b": "x" }, "gone": null, "open": { "x": "1", "y": 1 },
            "open2": { "x": "1", "y": 1 }, "items": [{ "size": 1 }, { "name": "n", "size": 2 }] }),
        json!({ "name": "a", "missing": "x", "count": -3, "ratio": 0.5, "on": false, "port": 80, "tags": [], "set": [],
            "labels": {}, "items": [], "gone": { "x": "x" }, "defaulted": 0 }),
        json!({}),
    ]
}

/// Each row's rule and its negation are rules of separate fields, `r0`, `r1`, …
fn definition(rules: &[String]) -> Value {
    let field = |rule: &String| json!({ "type": "object", "properties": fields(), "x-kubernetes-validations": [{ "rule": rule }] });
    let named = rules.iter().enumerate();
    let named = named.map(|(position, rule)| (format!("r{position}"), field(rule)));
    let named: serde_json::Map<String, Value> = named.collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "ruleds.samples.example.com" },
        "spec": { "group": "samples.example.com", "scope": "Namespaced", "names": { "kind": "Ruled", "plural": "ruleds" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": named } } } } }] },
    })
}

/// The fields that occur in a text as `spec.r<number>` followed by `suffix`.
fn fields_before(text: &str, suffix: &str) -> BTreeSet<usize> {
    let parts = text.split("spec.r").skip(1);
    let number = |part: &str| {
        let end = part.find(|char: char| !char.is_ascii_digit())?;
        let (number, rest) = part.split_at(end);
        rest.starts_with(suffix)
            .then(|| number.parse().expect("a number"))
    };
    parts.filter_map(number).collect()
}

/// For each object, the fields whose rules are violated according to the API server.
fn rejected(crd: &Value, objects: &[Value]) -> Vec<BTreeSet<usize>> {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("crd.json"), crd.to_string().as_bytes());
    for (position, object) in objects.iter().enumerate() {
        write(
            &folder.path().join(format!("{position}.json")),
            object.to_string().as_bytes(),
        );
    }
    let script = format!(
        "set -e
        kubectl apply --server-side -f crd.json >&2
        timeout 120 sh -c 'until kubectl get ruleds; do sleep 0.2; done' >&2
        for object in $(seq 0 {}); do kubectl create --dry-run=server --validate=false -f $object.json 2>&1 >/dev/null | cat > $object.out; done",
        objects.len() - 1
    );
    let output = Command::new(KBR)
        .args(["envtest", "run", "--", "sh", "-c", &script])
        .current_dir(folder.path())
        .output()
        .expect("kbr runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let of = |position| {
        let printed =
            fs::read_to_string(folder.path().join(format!("{position}.out"))).expect("a file");
        assert!(
            printed.is_empty() || printed.contains("is invalid"),
            "{printed}"
        );
        fields_before(&printed, ": Invalid value")
    };
    (0..objects.len()).map(of).collect()
}

/// The formats that an API server knows, and some that only Rust types have.
const FORMATS: [&str; 30] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "date-time",
    "k8s-short-name",
    "k8s-long-name",
    "ip",
    "partial-date-time",
    "time",
];

#[test]
fn an_api_server_accepts_the_sample_of_a_type_with_a_field_of_each_format() {
    let name = |format: &str| format!("f{}", format.replace('-', ""));
    let fields =
        FORMATS.map(|format| (name(format), json!({ "type": "string", "format": format })));
    let mut fields: serde_json::Map<String, Value> = fields.into_iter().collect();
    // As k8s-openapi has an `IntOrString`, and a `Quantity`.
    fields.insert(
        "quantity".to_owned(),
        json!({ "x-kubernetes-int-or-string": true }),
    );
    let required: Vec<_> = fields.keys().cloned().collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "formatteds.samples.example.com" },
        "spec": { "group": "samples.example.com", "scope": "Namespaced",
            "names": { "kind": "Formatted", "plural": "formatteds" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": {
                    "type": "object", "required": required, "properties": fields } } } } }] },
    });
    let body =
        "apiVersion: samples.example.com/v1\nkind: Formatted\nmetadata:\n  name: a\nspec: {}\n";
    let sample = Project::new().filled(&json!([crd]), body);
    for (format, value) in [
        ("ip", "10.0.0.1"),
        ("time", "00:00:00Z"),
        ("partial-date-time", "2026-01-01T00:00:00"),
    ] {
        let object: Value = serde_yaml_ng::from_str(&sample).expect("YAML");
        assert_eq!(object["spec"][name(format)], value, "{sample}");
    }

    let folder = tempfile::tempdir().expect("a folder");
    write(
        &folder.path().join("crds/crd.json"),
        crd.to_string().as_bytes(),
    );
    write(&folder.path().join("sample.yaml"), sample.as_bytes());
    let create = ["kubectl", "create", "--dry-run=server", "-f", "sample.yaml"];
    let output = Command::new(KBR)
        .args(["envtest", "run", "--crds", "crds", "--"])
        .args(create)
        .current_dir(folder.path())
        .output()
        .expect("kbr runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{sample}");
}

#[test]
fn kbr_reports_the_same_violated_rules_as_the_api_server() {
    let rows = super::rows(ROWS);
    let rules = rows
        .iter()
        .flat_map(|(_, rule)| [(*rule).to_owned(), format!("!({rule})")]);
    let rules: Vec<String> = rules.collect();
    let crd = definition(&rules);
    let whole = |(position, object): (usize, Value)| {
        let all: serde_json::Map<String, Value> = (0..rules.len())
            .map(|rule| (format!("r{rule}"), object.clone()))
            .collect();
        json!({ "apiVersion": "samples.example.com/v1", "kind": "Ruled",
            "metadata": { "name": format!("object-{position}"), "namespace": "default" }, "spec": all })
    };
    let objects: Vec<Value> = objects().into_iter().enumerate().map(whole).collect();
    let theirs = rejected(&crd, &objects);

    let project = Project::new();
    let mut wrong = Vec::new();
    for (position, object) in objects.iter().enumerate() {
        let printed = project.sample(&json!([crd]), &object.to_string());
        let ours = fields_before(&printed, "` violates the rule");
        for (number, rule) in rules.iter().enumerate() {
            let known = rows[number / 2].0 == "known";
            let (ours, theirs) = (ours.contains(&number), theirs[position].contains(&number));
            if ours && !theirs || known && ours != theirs {
                wrong.push(format!(
                    "object {position}, `{rule}`: violated for kbr: {ours}, for the API server: {theirs}"
                ));
            }
        }
    }
    let count = theirs.iter().map(BTreeSet::len).sum::<usize>();
    println!(
        "{} rules, {} objects, {count} violations for the API server",
        rules.len(),
        objects.len()
    );
    assert!(
        count > rows.len(),
        "too few rules are violated to prove much"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
