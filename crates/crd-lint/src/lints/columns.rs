//! Printer columns.

use serde_json::Value;

use crate::definition::schema;
use crate::lint::Hit;
use crate::path;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "date",
    "date-time",
    "password",
];

fn columns(version: &Value) -> impl Iterator<Item = &Value> {
    let columns = version["additionalPrinterColumns"].as_array();
    columns.into_iter().flatten()
}

/// Checks that columns have names, and paths of existing fields; otherwise kubectl shows no columns, or empty ones.
pub fn check(version: &Value, found: &mut Vec<Hit>) {
    for column in columns(version) {
        let text = |key: &str| column[key].as_str().unwrap_or_default();
        if text("name").is_empty() {
            found.push(Hit::new(
                "",
                "a printer column has no name",
                "add `name = \"…\"`",
            ));
        }
        let path = text("jsonPath");
        found.extend(path::unknown(
            schema(version),
            path,
            &format!("printer column `{path}`"),
        ));
    }
}

/// Checks that columns have types and formats that the API server knows.
pub fn types(version: &Value, found: &mut Vec<Hit>) {
    for column in columns(version) {
        let text = |key: &str| column[key].as_str().unwrap_or_default();
        let (name, kind, format) = (text("name"), text("type"), text("format"));
        let mut one_of = |what: &str, value: &str, all: &[&str]| {
            let text = format!("printer column `{name}`: `{value}` is not a {what}");
            found.push(Hit::new(
                "",
                text,
                format!("use one of `{}`", all.join("`, `")),
            ));
        };
        if !TYPES.contains(&kind) {
            one_of("type", kind, &TYPES);
        }
        if !format.is_empty() && !FORMATS.contains(&format) {
            one_of("format", format, &FORMATS);
        }
    }
}
