//! The `CronJob` of kubebuilder's book in Rust and in Go: a real API server treats objects of both alike.
//!
//! `cronjob-go.json` is what controller-gen 0.21 (`crd:maxDescLen=0`) prints for the same kind as Go types with
//! k8s.io/api 0.36.3 and the markers of the book, in the group `go.batch.tutorial.kubebuilder.io`.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Deserializer, Value, json};

use crate::project::Project;
use crate::support::{KBR, repository, write};

/// The table; its first lines say how it is read.
const ROWS: &str = include_str!("cronjob-rows.txt");

fn good() -> Value {
    json!({ "kind": "CronJob", "metadata": {}, "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": { "template": { "spec": {
        "restartPolicy": "OnFailure",
        "containers": [{ "name": "hello", "image": "busybox" }],
    } } } } } })
}

/// The object of a row: `<path> <JSON>`, or `-<path>` to remove; the path is as in JSON pointers, from `spec` or `status` on.
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

/// Without status as a subresource, so that `create` judges status as well.
fn whole(mut crd: Value) -> Value {
    let version = crd["spec"]["versions"][0].as_object_mut();
    version.expect("a version").remove("subresources");
    crd
}

/// The objects that an API server takes, by group and name.
fn taken(crds: &Value, objects: &[Value]) -> BTreeMap<(String, String), Value> {
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
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let printed = Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let mut taken = BTreeMap::new();
    for document in printed {
        let document = document.unwrap_or_else(|error| panic!("{error}: {said}"));
        let items = document["items"].as_array().cloned();
        for mut object in items.unwrap_or_else(|| vec![document]) {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let key = (
                text(&object["apiVersion"]),
                text(&object["metadata"]["name"]),
            );
            for server in ["apiVersion", "metadata"] {
                object.as_object_mut().expect("a map").remove(server);
            }
            taken.insert(key, object);
        }
    }
    taken
}

#[test]
fn the_cron_job_in_rust_takes_and_defaults_the_same_objects_as_the_one_in_go() {
    let rust = Project::new().written(&json!([traps::cronjob::definition()]));
    let go = fs::read_to_string(repository().join("tests/traps/cronjob-go.json")).expect("a file");
    let go: Value = serde_json::from_str(&go).expect("JSON");
    let rows: Vec<&str> = ROWS
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
        .collect();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let groups = [
        "batch.tutorial.kubebuilder.io/v1",
        "go.batch.tutorial.kubebuilder.io/v1",
    ];
    let mut objects = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        for group in groups {
            let mut object = object(row.split_once(' ').map_or(row, |(_, row)| row));
            object["apiVersion"] = json!(group);
            object["metadata"]["name"] = json!(format!("row-{position}"));
            object["metadata"]["namespace"] = json!("default");
            objects.push(object);
        }
    }
    let taken = taken(&json!([whole(rust), whole(go)]), &objects);
    let mut wrong = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let [rust, go] =
            groups.map(|group| taken.get(&(group.to_owned(), format!("row-{position}"))));
        let as_expected = match row.split_once(' ') {
            Some(("ok", _)) => rust == go && go.is_some(),
            Some(("no", _)) => rust.is_none() && go.is_none(),
            _ => rust != go,
        };
        if !as_expected {
            wrong.push(format!(
                "{row}\n  row-{position}, Rust: {rust:?}\n  Go: {go:?}"
            ));
        }
    }
    println!("{} rows, {} objects taken", rows.len(), taken.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
