//! Any text in any value of a chart arrives as that text, or the schema refuses it: no text becomes a number, another key or an object.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::home;
use crate::peer::{Rendered, render};
use crate::random::Random;

/// Texts that YAML or a template takes for something else, unless they are quoted.
const TEXTS: [&str; 48] = [
    "true",
    "null",
    "~",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "1",
    "123",
    "1e3",
    "0x10",
    "0o7",
    ".5",
    "2020-01-01",
    "1:30",
    "- a",
    "a: b",
    "a #b",
    "#a",
    "\"",
    "'",
    "`",
    "{a}",
    "[a]",
    "*a",
    "&a",
    "!a",
    "|",
    "> a",
    "%",
    "@",
    "a\nb",
    "a\n---\nkind: Secret",
    "\t",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "😀",
    "{{ .Release.Name }}",
    "{{",
    " a",
    "a ",
    "",
    "\\",
    "a\nkind: Secret\n",
];

/// Texts to begin with, of which each schema accepts one; the last one only those that accept any text.
const PLAIN: [&str; 4] = ["kbrplain", "777777", "7777777Mi", "a: b"];

/// Stands for the text in values.
const HERE: &str = "\u{0}";

/// The places below a schema that take a text: the path of each, and values with [`HERE`] in it. `put` adds what is around the schema.
fn places(
    path: &str,
    schema: &Value,
    put: &dyn Fn(Value) -> Value,
    found: &mut Vec<(String, Value)>,
) {
    let below = |path: String, schema: &Value, around: &dyn Fn(Value) -> Value, found: &mut _| {
        places(&path, schema, &|value| put(around(value)), found);
    };
    let kinds = match &schema["type"] {
        Value::Array(several) => several.clone(),
        one => vec![one.clone()],
    };
    let is = |kind: &str| kinds.contains(&json!(kind));
    if is("string") {
        found.push((path.to_owned(), put(json!(HERE))));
    }
    for form in schema["anyOf"].as_array().into_iter().flatten() {
        below(path.to_owned(), form, &|value| value, found);
    }
    if is("array") && schema["items"].is_object() {
        below(
            format!("{path}[]"),
            &schema["items"],
            &|value| json!([value]),
            found,
        );
    }
    let properties = schema["properties"].as_object();
    if is("object") && properties.is_none() && !schema["additionalProperties"].is_object() {
        found.push((format!("{path}.*"), put(json!({ "text": HERE }))));
    }
    let form = schema["oneOf"].as_array().and_then(|forms| forms.last());
    let required = [Some(schema), form].into_iter().flatten();
    let required = required
        .filter_map(|it| it["required"].as_array())
        .flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    for (key, schema) in properties.into_iter().flatten() {
        let around = |value: Value| {
            let mut object = json!({});
            for name in &required {
                object[*name] = json!("kbrother");
            }
            object[key] = value;
            object
        };
        below(format!("{path}/{key}"), schema, &around, found);
    }
    if schema["additionalProperties"].is_object() {
        let key = if path.contains("resources") {
            "cpu"
        } else {
            "team"
        };
        let around = |value: Value| json!({ key: value });
        below(
            format!("{path}/{key}"),
            &schema["additionalProperties"],
            &around,
            found,
        );
    }
}

/// The value with each text replaced, also within others.
fn replaced(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) => json!(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| replaced(item, from, to)).collect(),
        Value::Object(parts) => {
            let parts = parts
                .iter()
                .map(|(key, part)| (key.clone(), replaced(part, from, to)));
            Value::Object(parts.collect())
        }
        other => other.clone(),
    }
}

/// Texts that mean something to the chart itself, as its documentation says.
fn has_meaning(path: &str, text: &str) -> bool {
    match path {
        // Flags may have actions.
        "/manager/args[]" => text.contains("{{"),
        // A digest is joined with `@`, and no tag follows another one.
        "/manager/image/tag" => text.contains(':') || text.is_empty(),
        "/manager/image/repository" => text.contains('@'),
        "/fullnameOverride" | "/nameOverride" => text.is_empty(),
        _ => false,
    }
}

#[test]
fn any_text_in_any_value_arrives_as_that_text_or_is_refused() {
    let project = home();
    let chart = project.path().join("dist/chart");
    let schema = fs::read(chart.join("values.schema.json")).unwrap();
    let mut found = Vec::new();
    places(
        "",
        &serde_json::from_slice(&schema).unwrap(),
        &|value| value,
        &mut found,
    );
    let paths: BTreeSet<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    for path in [
        "/manager/image/repository",
        "/manager/image/tag",
        "/fullnameOverride",
        "/manager/env[]/name",
        "/webhook/namespaces[]",
    ] {
        assert!(paths.contains(path), "{paths:?}");
    }
    let mut random = Random(7);
    let letters: Vec<char> = "a1-_./:@ \"'\\{}[]#&*!|>%`,?\n\té\u{1f600}"
        .chars()
        .collect();
    let more = (0..12).map(|_| (0..6).map(|_| *random.pick(&letters)).collect::<String>());
    let texts: Vec<String> = TEXTS
        .iter()
        .map(|it| (*it).to_owned())
        .chain(more)
        .collect();

    let with = |values: &Value, text: &str| replaced(values, HERE, text);
    let plain: Vec<Value> = found
        .iter()
        .flat_map(|(_, values)| PLAIN.map(|text| with(values, text)))
        .collect();
    let plain = render(&chart, &plain);
    let mut cases = Vec::new();
    for (place, ((path, values), rendered)) in
        found.iter().zip(plain.chunks(PLAIN.len())).enumerate()
    {
        let accepted = rendered
            .iter()
            .zip(PLAIN)
            .find_map(|(rendered, text)| match rendered {
                Rendered::Objects(objects) => Some((objects, text)),
                Rendered::Error(_) => None,
            });
        let (objects, plain) = accepted.unwrap_or_else(|| panic!("{path}: {:?}", rendered[0]));
        // Where any text is accepted, each is tried in some of many places: all of them are written alike.
        let is_any = matches!(rendered.last(), Some(Rendered::Objects(_)));
        let step = if is_any { 6 } else { 1 };
        let texts = texts.iter().skip(place % step).step_by(step);
        let texts = texts.filter(|text| !has_meaning(path, text));
        cases.extend(texts.map(|text| (path, with(values, text), objects, plain, text)));
    }
    let all: Vec<Value> = cases.iter().map(|(_, values, ..)| values.clone()).collect();
    let (mut arrived, mut refused) = (0, 0);
    for (rendered, (path, _, objects, plain, text)) in render(&chart, &all).iter().zip(&cases) {
        match rendered {
            Rendered::Objects(rendered) => {
                let expected: Vec<Value> =
                    objects.iter().map(|it| replaced(it, plain, text)).collect();
                assert!(
                    *rendered == expected,
                    "{path}: {text:?}\n{rendered:#?}\n{expected:#?}"
                );
                arrived += 1;
            }
            Rendered::Error(error) => {
                let is_schema =
                    error.contains("values don't meet the specifications of the schema");
                let is_unreadable = error.contains("have a character that YAML cannot keep");
                assert!(is_schema || is_unreadable, "{path}: {text:?}: {error}");
                refused += 1;
            }
        }
    }
    println!("{arrived} arrived, {refused} were refused");
    assert!(arrived > 200 && refused > 200, "{arrived} {refused}");
}
