//! Random values: what the schema refuses fails before the cluster is reached, and what it accepts, the API server accepts.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::peer::{NAMESPACE, Rendered, render};
use crate::{home, support};

/// A linear congruential generator: the same values in each run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Mostly one of the first.
    fn pick_from<'a, T>(&mut self, all: &'a [T], first: usize) -> &'a T {
        let limit = if self.one_in(12) { all.len() } else { first };
        self.pick(&all[..limit])
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }
}

/// What the schema of a value cannot know: values that Kubernetes understands, where any mapping is accepted.
fn known(path: &str) -> Option<Vec<Value>> {
    let values = match path {
        "manager/affinity" => {
            json!([null, {}, { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
            { "matchExpressions": [{ "key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"] }] }] } } }])
        }
        "manager/strategy" => {
            json!([null, { "type": "Recreate" }, { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "50%" } }])
        }
        "manager/podSecurityContext" => {
            json!([null, {}, { "runAsUser": 1000, "runAsNonRoot": true }, { "fsGroup": 2000 }])
        }
        "manager/securityContext" => {
            json!([null, {}, { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } }])
        }
        "manager/topologySpreadConstraints" => {
            json!([null, [], [{ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule" }]])
        }
        "manager/extraVolumes" => {
            json!([[], [{ "name": "extra", "emptyDir": {} }], [{ "name": "extra", "configMap": { "name": "c" } }]])
        }
        "manager/extraVolumeMounts" => json!([[]]),
        "manager/env" => {
            json!([[], [{ "name": "A", "value": "b" }], [{ "name": "POD_NAME", "value": "x" }], [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } }]])
        }
        "manager/resources" => {
            json!([null, {}, { "limits": { "memory": "1Gi" } }, { "requests": { "cpu": "10m", "example.com/gpu": 1 }, "limits": { "cpu": 2, "example.com/gpu": 1 } }])
        }
        _ => return None,
    };
    Some(values.as_array().unwrap().clone())
}

/// Text of every kind, of which any value accepts the first; the schema decides about the others.
const TEXTS: [&str; 13] = [
    "a",
    "team-a",
    "x1",
    "",
    "registry.example.com/captains",
    "v1.2.3",
    "sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "A_b",
    "-a",
    "é",
    "a b",
    "{{ .Release.Name }}",
    "x0123456789012345678901234567890123456789012345678901234567890123456789",
];

/// Any number accepts the first.
const NUMBERS: [i64; 8] = [1, 2, 30, 9000, 65535, 0, -1, 70_000];

const KEYS: [&str; 7] = ["team", "example.com/team", "a_b", "", "-a", "a/b/c", "x y"];

/// A value that may match a schema.
fn value(random: &mut Random, path: &str, schema: &Value) -> Value {
    if let Some(values) = known(path).filter(|_| !random.one_in(60)) {
        return random.pick(&values).clone();
    }
    if let Some(constants) = schema["enum"].as_array() {
        return random.pick(constants).clone();
    }
    if let Some(forms) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let form = random.pick(forms).clone();
        return value(random, path, &form);
    }
    let kinds = match &schema["type"] {
        Value::Array(several) => several.clone(),
        one => vec![one.clone()],
    };
    let mut kind = random.pick(&kinds).as_str().unwrap_or("string").to_owned();
    if random.one_in(120) {
        (*random.pick(&["string", "integer", "boolean", "array", "object", "null"]))
            .clone_into(&mut kind);
    }
    match kind.as_str() {
        "null" => Value::Null,
        "boolean" => json!(random.one_in(2)),
        "integer" | "number" => json!(*random.pick_from(&NUMBERS, 5)),
        "array" => {
            let count = random.below(3);
            (0..count)
                .map(|_| value(random, path, &schema["items"]))
                .collect()
        }
        "object" => object(random, path, schema),
        _ => json!(*random.pick_from(&TEXTS, 3)),
    }
}

fn object(random: &mut Random, path: &str, schema: &Value) -> Value {
    let mut object = json!({});
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        // Sections are always there, so that values deep in them are as frequent as others.
        let is_section = schema["properties"].is_object() && schema["type"] == "object";
        if is_section || random.one_in(4) {
            let path = format!("{path}/{key}").trim_start_matches('/').to_owned();
            object[key] = value(random, &path, schema);
        }
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().unwrap();
        if object.get(key).is_none() {
            object[key] = value(random, path, &schema["properties"][key]);
        }
    }
    if schema["additionalProperties"].is_object() {
        for _ in 0..random.below(3) {
            let key = *random.pick_from(&KEYS, 3);
            object[key] = value(random, path, &schema["additionalProperties"]);
        }
    }
    if random.one_in(120) {
        object["unknown"] = json!(1);
    }
    object
}

/// Kinds that the chart uses, and a cluster may lack.
const STUBS: [(&str, &str, &str); 4] = [
    ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors"),
    ("monitoring.coreos.com", "PrometheusRule", "prometheusrules"),
    ("cert-manager.io", "Certificate", "certificates"),
    ("cert-manager.io", "Issuer", "issuers"),
];

fn stub((group, kind, plural): (&str, &str, &str)) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "names": { "kind": kind, "plural": plural },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    })
}

const APPLY: &str = r#"
kubectl apply -f stubs.json > log 2>&1
kubectl wait --for condition=Established --timeout 60s crd --all > log 2>&1
kubectl create namespace "$1" > log 2>&1
for file in case-*.json; do
  kubectl apply --server-side --dry-run=server -f "$file" > log 2>&1 || { echo "$file"; grep -v serverside-applied log; }
done
"#;

#[test]
fn what_the_schema_accepts_the_api_server_accepts() {
    let count = std::env::var("KBR_RANDOM_VALUES").map_or(50, |it| it.parse().unwrap());
    let project = home();
    let schema = project.path().join("dist/chart/values.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    let random = |seed| object(&mut Random(seed), "", &schema);
    let all: Vec<Value> = (0..count).map(random).collect();
    let rendered = render(&project.path().join("dist/chart"), &all);
    let folder = tempfile::tempdir().unwrap();
    let list = |objects: &[Value]| {
        json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string()
    };
    let mut accepted = 0;
    for (number, rendered) in rendered.iter().enumerate() {
        match rendered {
            Rendered::Objects(objects) => {
                accepted += 1;
                fs::write(
                    folder.path().join(format!("case-{number:05}.json")),
                    list(objects),
                )
                .unwrap();
            }
            // The schema, or a sentence of the chart: Helm has asked no cluster.
            Rendered::Error(error) => {
                let known = error.contains("values don't meet the specifications of the schema")
                    || error.contains("checks.yaml");
                assert!(known, "{}: {error}", all[number]);
            }
        }
    }
    println!("{accepted} of {count} values files are accepted");
    assert!(
        accepted * 5 >= count && accepted < count,
        "{accepted} of {count}"
    );
    fs::write(folder.path().join("stubs.json"), list(&STUBS.map(stub))).unwrap();
    let output = Command::new(support::KBR)
        .args([
            "envtest", "run", "--", "sh", "-eu", "-c", APPLY, "sh", NAMESPACE,
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        support::stderr(&output, folder.path())
    );
    let refused = support::stdout(&output, folder.path());
    let values = refused.lines().filter_map(|line| {
        let number: usize = line
            .strip_prefix("case-")?
            .strip_suffix(".json")?
            .parse()
            .ok()?;
        Some(format!("{line}: {}", all[number]))
    });
    assert_eq!(refused, "", "{}", values.collect::<Vec<_>>().join("\n"));
}
