//! A table of values, judged as a real API server has judged them: `tests/real` of kbr-manager compares it with one.

mod agree;

use std::collections::BTreeSet;

use apiserver_rules::{complete, normalise, problems};
use serde_json::{Value, json};

use agree::agree;

/// What an object with the value in `spec.x` becomes.
fn verdict(schema: &Value, value: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"x": schema}},
    }});
    let mut object = json!({"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": {"x": value}});
    complete(&mut object, &schema);
    let found = problems(&object, &schema);
    if !found.is_empty() {
        let causes = found.iter().map(|it| it.to_string().replace("spec.x", "x"));
        return json!({"causes": causes.collect::<BTreeSet<_>>()});
    }
    normalise(&mut object);
    match object["spec"].get("x") {
        Some(stored) => json!({"stored": stored}),
        None => json!({}),
    }
}

#[test]
fn every_value_is_judged_as_by_a_real_api_server() {
    let table: Vec<Value> = serde_json::from_str(include_str!("verdicts.json")).expect("JSON");
    let mut differ = Vec::new();
    for row in &table {
        let schema = &row["schema"];
        for case in row["cases"].as_array().expect("cases") {
            let (real, value) = (&case["verdict"], &case["value"]);
            let ours = verdict(schema, value);
            if !agree(schema, real, &ours) {
                differ.push(format!("{schema} {value}:\n  real {real}\n  ours {ours}"));
            }
        }
    }
    assert!(
        table.len() > 40 && differ.is_empty(),
        "{}",
        differ.join("\n")
    );
}
