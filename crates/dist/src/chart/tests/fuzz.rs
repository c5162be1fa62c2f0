//! Objects of strangers in a chart, with text that would end a literal or an action: Helm reads none of it.

use std::path::Path;

use serde_json::{Value, json};

use super::super::*;
use crate::fuzz;
use crate::planted::{WORD, data, is_yaml, plant, yaml};
use kbr_host::lines::one_line;
use kbr_manifests::files::Body;

/// What `config` renders.
fn objects() -> Value {
    let container = json!({
        "name": "manager", "image": "tides:v1", "args": ["--leader-elect", "--a=b"],
        "env": [{ "name": "A", "value": "b" }, { "name": "C", "value": "tides-metrics.tides-system.svc" }],
        "ports": [{ "name": "metrics", "containerPort": 8443 }],
        "resources": { "limits": { "memory": "1Gi" } },
    });
    let meta = |name: &str| json!({ "name": name, "namespace": "tides-system", "labels": { "a": "b" }, "annotations": { "c": "d" } });
    json!([
        { "apiVersion": "apps/v1", "kind": "Deployment",
          "metadata": { "name": "tides-controller-manager", "namespace": "tides-system", "labels": { "control-plane": "controller-manager", "x": "y" } },
          "spec": { "selector": { "matchLabels": { "e": "f" } }, "template": { "metadata": { "labels": { "e": "f" } }, "spec": { "nodeSelector": { "g": "h" }, "containers": [container] } } } },
        { "apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("tides-config"), "data": { "k": "v {tides-config} w", "l": "one\n\n  two\n" } },
        { "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "tides-role", "namespace": "team" },
          "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["tides-x"] }] },
        { "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta("tides-leader-election-role"),
          "rules": [{ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"], "resourceNames": ["3f7a.example.com"] }] },
        { "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "tides.sea.example.com", "annotations": { "a": "b" } },
          "spec": { "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": { "description": "A tide.", "properties": { "a": { "description": "b" } } } } }] } },
    ])
}

/// Without these, a file has no name or the chart has no Deployment.
fn is_name(path: &str) -> bool {
    ["apiVersion", "kind", "control-plane", "containers", "spec", "metadata", "template", "labels"]
        .iter()
        .any(|it| path.ends_with(&format!("/{it}")))
        || path.matches('/').count() == 3 && !path.contains("/data/")
        || path.contains("/ports")
        || path.contains("/rules/-/resources/")
        // It is cut into a repository and a tag.
        || path.ends_with("/image")
}

fn files(objects: Vec<Value>) -> anyhow::Result<Vec<Body>> {
    let tides = kbr_scaffold::project::Head {
        name: "tides".to_owned(),
        domain: "example.com".to_owned(),
        ..Default::default()
    };
    let names = Names::new(&tides, "tides-system", objects.iter());
    let mut marks = Marks::new(names, Ports::new(objects.iter()));
    let mut objects = objects;
    for object in &mut objects {
        marks.mark(object);
    }
    let chart = Chart {
        own: Own::default(),
        root: Path::new("/nonexistent"),
        about: About {
            name: "tides",
            version: "1.0.0",
        },
        switches: &Switches::read(Path::new("/nonexistent"), &[])?,
        marks: &marks,
        all: [0].into(),
    };
    chart.files(&[(0, objects.into_iter().map(Rc::new).collect())].into())
}

/// The text that Helm makes of a template whose values are those of the chart, nearly; what is planted must not be in an action.
fn rendered(template: &str) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        text += before;
        let (end, code) = action(after).ok_or("an action has no end")?;
        let (action, behind) = (&after[..end], &after[end + 2..]);
        if code.contains('á') {
            return Err(format!("planted text in the action `{action}`"));
        }
        match action.trim() {
            word if word.starts_with('"') => {
                text += &serde_json::from_str::<String>(word).map_err(|it| it.to_string())?;
            }
            word if word.starts_with('-') => {}
            _ => text += "x",
        }
        rest = behind;
    }
    Ok(text + rest)
}

/// Where an action ends, and what it says beside its strings.
fn action(text: &str) -> Option<(usize, String)> {
    let (mut is_string, mut is_escaped) = (false, false);
    let mut code = String::new();
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            _ if is_string => {}
            '}' if text[at..].starts_with("}}") => return Some((at, code)),
            letter => code.push(letter),
        }
    }
    None
}

/// Checks what Helm prints on a terminal: nothing that a terminal reads as a command, and no planted line.
fn shown(text: &str) -> Result<(), String> {
    match text.lines().find(|line| one_line(line) != *line) {
        Some(line) => Err(format!("{line:?} is not what is visible")),
        None if text.lines().any(|line| line.starts_with(WORD)) => Err("it is a line".to_owned()),
        None => Ok(()),
    }
}

fn check(files: &[Body]) -> Result<(), String> {
    for Body { path, text } in files {
        let found = if path.contains("/templates/") {
            let text = rendered(text).map_err(|what| format!("{path}: {what}\n{text}"))?;
            match path.rsplit_once('/') {
                Some((_, "NOTES.txt")) => shown(&text),
                _ if is_yaml(path) => yaml(&text),
                _ => Ok(()),
            }
        } else if is_yaml(path) {
            yaml(text)
        } else if path.ends_with("/values.schema.json") {
            let schema = serde_json::from_str(text).map_err(|error| error.to_string());
            schema.and_then(|schema| data(&schema))
        } else {
            Ok(())
        };
        found.map_err(|what| format!("{path}: {what}\n{text}"))?;
    }
    Ok(())
}

#[test]
fn nothing_of_an_object_becomes_an_action() {
    let of = |objects: Value| files(objects.as_array().cloned().unwrap_or_default());
    check(&of(objects()).unwrap()).unwrap();
    fuzz::made(60, |random| {
        let mut planted = objects();
        plant(random, 3, &is_name, &mut planted);
        of(planted).map_or(Ok(()), |files| check(&files))
    });
}

#[test]
fn the_notes_name_each_crd_within_a_line() {
    let mut planted = objects();
    planted[4]["metadata"]["name"] = json!(format!("tides\n{WORD}\u{1b}[2J"));
    let files = files(planted.as_array().cloned().unwrap_or_default()).unwrap();
    check(&files).unwrap();
    let notes = files.iter().find(|it| it.path.ends_with("/NOTES.txt"));
    assert!(
        notes
            .unwrap()
            .text
            .contains(&format!("manages: tides\\n{WORD}"))
    );
}
