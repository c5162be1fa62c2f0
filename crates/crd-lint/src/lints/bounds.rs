//! Bounds of numbers, and numbers that the API server does not store.

use apiserver_rules::width;

use crate::lint::Hit;
use crate::node::Node;

/// From here on, floats leave out whole numbers: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The formats of schemars for Rust's types, with their least and greatest values.
const TYPES: [(&str, &str, f64, f64); 5] = [
    ("int8", "i8", i8::MIN as f64, i8::MAX as f64),
    ("int16", "i16", i16::MIN as f64, i16::MAX as f64),
    ("uint8", "u8", 0.0, u8::MAX as f64),
    ("uint16", "u16", 0.0, u16::MAX as f64),
    ("uint32", "u32", 0.0, u32::MAX as f64),
];

fn bounds(node: &Node) -> impl Iterator<Item = (&'static str, f64)> {
    let keys = ["minimum", "maximum", "multipleOf"];
    let bound = |key| Some((key, node.get(key).as_f64()?));
    keys.into_iter().filter_map(bound)
}

/// Checks that bounds are values of the type.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    const HELP: &str = "remove the bound, change it, or use a larger type, such as `i64`";
    let format = node.text("format");
    let known = TYPES.iter().find(|(known, ..)| *known == format);
    for (key, bound) in bounds(node) {
        let shown = node.get(key);
        let mut error = |text: String| found.push(Hit::new(&node.path, text, HELP));
        if let Some(width) = width(bound, node.schema) {
            error(format!(
                "`{key}` is {shown}, which is not of type {width}: the API server rejects every value"
            ));
        } else if let Some((_, name, least, most)) = known
            && !(*least..=*most).contains(&bound)
        {
            error(format!(
                "`{key}` is {shown}, but a `{name}` is at least {least} and at most {most}: the operator cannot read all values that the API server accepts"
            ));
        } else if key == "minimum" && bound < 0.0 && format.starts_with("uint") {
            error(format!(
                "`{key}` is {shown}, but the type has no negative numbers"
            ));
        }
    }
}

/// Reports bounds that floats do not tell apart from others.
pub fn inexact(node: &Node, found: &mut Vec<Hit>) {
    let is_inexact = |bound: f64| bound.abs() >= EXACT && width(bound, node.schema).is_none();
    for (key, bound) in bounds(node) {
        if node.text("type") == "integer" && is_inexact(bound) {
            let text = format!(
                "`{key}` is about {}: the API server compares numbers as floats, which are not exact beyond {}",
                node.get(key),
                EXACT - 1.0
            );
            found.push(Hit::new(
                &node.path,
                text,
                "use a bound below that, or none",
            ));
        }
    }
}

/// Reports integers of which the API server accepts only some.
pub fn wide(node: &Node, found: &mut Vec<Hit>) {
    let has = |key: &str| node.get(key).is_number();
    let is_open = match node.text("format") {
        "uint" | "uint64" | "uint128" => !has("maximum"),
        "int128" => !(has("minimum") && has("maximum")),
        _ => false,
    };
    if is_open {
        let text = format!(
            "the API server accepts integers only up to {}, so a larger value of this type cannot be written",
            i64::MAX
        );
        let help = format!(
            "use `i64`, a `String` (as for hashes), or `#[schemars(range(max = {}))]`",
            EXACT - 1.0
        );
        found.push(Hit::new(&node.path, text, help));
    }
}
