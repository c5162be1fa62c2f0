//! Cleans a version up for the file: removes what the API server drops or warns about.

use serde_json::{Value, json};

/// Drops empty lists, which the API server drops too, and integer formats unknown to it. Writes whole limits without a
/// fraction, as Go does.
pub fn tidy(version: &mut Value) {
    if let Some(version) = version.as_object_mut() {
        version.retain(|_, value| value != &json!([]));
    }
    if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
        limits(schema);
    }
}

fn limits(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    // kube-apiserver warns about each: `unrecognized format`. The bounds that schemars adds for all but `u32` are equivalent.
    let sized = |format: &str| {
        matches!(
            format,
            "int8" | "int16" | "uint" | "uint8" | "uint16" | "uint32" | "uint64"
        )
    };
    if object.get("type") == Some(&json!("integer"))
        && object
            .get("format")
            .and_then(Value::as_str)
            .is_some_and(sized)
        && object.remove("format") == Some(json!("uint32"))
    {
        object.entry("maximum").or_insert(json!(u32::MAX));
    }
    for (key, value) in object {
        match (key.as_str(), &mut *value) {
            ("minimum" | "maximum" | "multipleOf", Value::Number(number)) => {
                if let Some(whole) = number.as_f64().and_then(whole) {
                    *value = json!(whole);
                }
            }
            ("properties" | "patternProperties" | "definitions", Value::Object(children)) => {
                children.values_mut().for_each(limits);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(children)) => {
                children.iter_mut().for_each(limits);
            }
            ("items" | "additionalProperties" | "not", child) => limits(child),
            // `default`, `enum`, `example` are data, so they are unchanged.
            _ => {}
        }
    }
}

/// `number` as an integer, if it is whole and a float represents it exactly.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "checked to be a whole number in range"
    )]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}
