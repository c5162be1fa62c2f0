//! The `CronJob` of kubebuilder's book in Rust and in Go: a real API server treats objects of both the same way.
//!
//! `cronjob-go.json` is what controller-gen 0.21 (`crd:maxDescLen=0`) prints for the same kind as Go types with
//! k8s.io/api 0.36.3 and the markers of the book, in the group `go.batch.tutorial.kubebuilder.io`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::{Deserializer, Value, json};

use crate::project::Project;
use crate::support::{KBR, repository, write};

/// The table; its first lines describe the format.
const ROWS: &str = include_str!("cronjob-rows.txt");

fn good() -> Value {
    json!({ "kind": "CronJob", "metadata": {}, "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": { "template": { "spec": {
        "restartPolicy": "OnFailure",
        "containers": [{ "name": "hello", "image": "busybox" }],
    } } } } } })
}

/// The object of a row: `<path> <JSON>`, or `-<path>` to remove; the path is a JSON pointer that starts with `spec` or `status`.
fn object(row: &str) -> Value {
    let mut object = good();
    let (path, value) = row.split_once(' ').unwrap_or((row, ""));
    let (path, removed) = path
        .strip_prefix('-')
        .map_or((path, false), |path| (path, true));
    let mut place = &mut object;
    let mut steps = path.split('/').peekable();
    while let Some(step) = steps.next() {
        if removed && steps.peek().is_none() {
            place.as_object_mut().expect("a map").remove(step);
            return object;
        }
        let next = step.parse::<usize>();
        place = match next {
            Ok(position) => &mut place[position],
            Err(_) => &mut place[step],
        };
    }
    *place = serde_json::from_str(value).unwrap_or_else(|error| panic!("`{row}`: {error}"));
    object
}

/// Without status as a subresource, so that `create` validates the status, too.
fn whole(mut crd: Value) -> Value {
    let version = crd["spec"]["versions"][0].as_object_mut();
    version.expect("a version").remove("subresources");
    crd
}

/// The API server's result for an object: the object with its defaults, or the fields for which it is rejected.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Accepted(Value),
    Rejected(Vec<String>),
}

impl Outcome {
    /// The result in the format of the table: the value at the row's path, or `rejected` and the fields.
    fn shown(&self, path: &str) -> String {
        match self {
            Self::Accepted(object) => object
                .pointer(&format!("/{path}"))
                .map_or_else(|| "nothing".to_owned(), Value::to_string),
            Self::Rejected(fields) => format!("rejected {}", fields.join(" ")),
        }
    }
}

/// The fields in `spec.a: Invalid value: …`, or in a list of such errors.
fn fields(errors: &str) -> Vec<String> {
    const REASONS: [&str; 5] = [
        ": Invalid value",
        ": Required value",
        ": Duplicate value",
        ": Unsupported value",
        ": Too many",
    ];
    let ends = REASONS
        .iter()
        .flat_map(|reason| errors.match_indices(reason));
    let fields = ends.filter_map(|(end, _)| errors[..end].rsplit(' ').next());
    let fields = fields.map(|field| field.trim_start_matches('[').to_owned());
    let mut all: BTreeSet<String> = fields.collect();
    // For a number that is too large the error has no field; for other reasons, that depends on the schema.
    if all.len() > 1 {
        all.remove("<nil>");
    }
    all.into_iter().collect()
}

/// The outcome for each object, by name.
fn outcomes(crds: &Value, objects: &[Value]) -> BTreeMap<String, Outcome> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, items) in [("crds.json", crds), ("objects.json", &json!(objects))] {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        write(&folder.path().join(name), list.to_string().as_bytes());
    }
    let script = "kubectl apply --server-side -f crds.json >&2
        for group in batch.tutorial.kubebuilder.io go.batch.tutorial.kubebuilder.io; do
            timeout 120 sh -c \"until kubectl get cronjobs.v1.$group; do sleep 0.2; done\" >&2
        done
        kubectl create --dry-run=server --validate=false --output=json -f objects.json || true";
    let output = Command::new(KBR)
        .args(["envtest", "run", "--", "sh", "-c", script])
        .current_dir(folder.path())
        .output()
        .expect("kbr runs");
    let errors = String::from_utf8(output.stderr).expect("UTF-8");
    let printed = Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let mut outcomes = BTreeMap::new();
    for document in printed {
        let document = document.unwrap_or_else(|error| panic!("{error}: {errors}"));
        let items = document["items"].as_array().cloned();
        for mut object in items.unwrap_or_else(|| vec![document]) {
            let name = object["metadata"]["name"]
                .as_str()
                .expect("text")
                .to_owned();
            for server in ["apiVersion", "metadata"] {
                object.as_object_mut().expect("a map").remove(server);
            }
            outcomes.insert(name, Outcome::Accepted(object));
        }
    }
    for line in errors.lines() {
        let Some((start, reasons)) = line.split_once("\" is invalid: ") else {
            continue;
        };
        let name = start.rsplit('"').next().expect("a name").to_owned();
        outcomes.insert(name, Outcome::Rejected(fields(reasons)));
    }
    outcomes
}

/// A row and, if it differs, the outcome for the object of each kind.
struct Row<'a> {
    text: &'a str,
    differs: Vec<&'a str>,
}

fn rows() -> Vec<Row<'static>> {
    let mut rows: Vec<Row> = Vec::new();
    for line in ROWS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.strip_prefix("    ") {
            Some(outcome) => rows.last_mut().expect("a row before").differs.push(outcome),
            None => rows.push(Row {
                text: line,
                differs: Vec::new(),
            }),
        }
    }
    rows
}

#[test]
fn the_cron_job_in_rust_accepts_and_defaults_the_same_objects_as_the_one_in_go() {
    let rust = Project::new().written(&json!([lint_fixtures::cronjob::definition()]));
    let go = fs::read_to_string(repository().join("tests/lint/cronjob-go.json")).expect("a file");
    let go: Value = serde_json::from_str(&go).expect("JSON");
    let rows = rows();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let groups = [
        ("rust", "batch.tutorial.kubebuilder.io/v1"),
        ("go", "go.batch.tutorial.kubebuilder.io/v1"),
    ];
    let mut objects = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        for (language, group) in groups {
            let mut object = object(row.text.split_once(' ').map_or(row.text, |(_, row)| row));
            object["apiVersion"] = json!(group);
            object["metadata"]["name"] = json!(format!("{language}-{position}"));
            object["metadata"]["namespace"] = json!("default");
            objects.push(object);
        }
    }
    let outcomes = outcomes(&json!([whole(rust), whole(go)]), &objects);
    let mut wrong = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let outcome = |language: &str| {
            let name = format!("{language}-{position}");
            outcomes
                .get(&name)
                .unwrap_or_else(|| panic!("no outcome for {name}"))
        };
        let (rust, go) = (outcome("rust"), outcome("go"));
        let (expected, change) = row.text.split_once(' ').expect("two words");
        let path = change.split(' ').next().expect("a path");
        let as_expected = match (expected, rust, go) {
            ("ok", Outcome::Accepted(rust), Outcome::Accepted(go)) => rust == go,
            ("no", Outcome::Rejected(rust), Outcome::Rejected(go)) => {
                rust == go && !rust.is_empty()
            }
            ("differs", rust, go) => {
                let shown = [("rust", rust), ("go", go)];
                let shown =
                    shown.map(|(language, outcome)| format!("{language}: {}", outcome.shown(path)));
                rust != go && row.differs == shown
            }
            _ => false,
        };
        if !as_expected {
            let (rust, go) = (rust.shown(path), go.shown(path));
            wrong.push(format!("{}\n    rust: {rust}\n    go: {go}", row.text));
        }
    }
    println!("{} rows, {} outcomes", rows.len(), outcomes.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
