//! Cleans a version up for the file: removes what the API server drops or warns about.

use serde_json::{Map, Value, json};

/// Drops empty lists, which the API server drops too. Writes whole limits without a fraction, as Go does.
pub fn tidy(version: &mut Value) {
    if let Some(version) = version.as_object_mut() {
        version.retain(|_, value| value != &json!([]));
    }
    each(&mut version["schema"]["openAPIV3Schema"], &mut |schema| {
        for key in ["minimum", "maximum", "multipleOf"] {
            let whole = schema.get(key).and_then(Value::as_f64).and_then(whole);
            if let Some(whole) = whole {
                schema[key] = json!(whole);
            }
        }
    });
}

/// Drops integer formats that the API server does not know: it warns about each. The bounds that schemars adds for all but `u32` are
/// equivalent. Before that, they tell which values the type in Rust has.
pub fn drop_formats(version: &mut Value) {
    const FORMATS: [&str; 10] = [
        "int", "int8", "int16", "int128", "uint", "uint8", "uint16", "uint32", "uint64", "uint128",
    ];
    each(&mut version["schema"]["openAPIV3Schema"], &mut |schema| {
        let format = schema.get("format").and_then(Value::as_str);
        let is_dropped = format.is_some_and(|format| FORMATS.contains(&format));
        if is_dropped
            && schema.get("type") == Some(&json!("integer"))
            && schema.remove("format") == Some(json!("uint32"))
        {
            schema.entry("maximum").or_insert(json!(u32::MAX));
        }
    });
}

/// Edits a schema and all in it. `default`, `enum` and `example` are data, so they are unchanged.
pub fn each(schema: &mut Value, edit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    edit(object);
    for (key, value) in object {
        match (key.as_str(), value) {
            ("properties" | "patternProperties" | "definitions", Value::Object(children)) => {
                for child in children.values_mut() {
                    each(child, edit);
                }
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(children)) => {
                for child in children {
                    each(child, edit);
                }
            }
            ("items" | "additionalProperties" | "not", child) => each(child, edit),
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
