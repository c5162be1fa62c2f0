//! An overlay -> attributes: the validations that schemars has, and `extend` for all others.

use serde_json::{Map, Value};

use super::model::Ty;
use super::text::{self, WIDTH, depth, laid_out};
use crate::quote::{self, rust as literal};

/// More may exceed the recursion limit of the compiler, 128.
const DEEPEST: usize = 70;

/// The arguments of `#[schemars(…)]` for an overlay of `ty`, after those that are known already.
pub fn arguments(
    known: Vec<String>,
    overlay: &Map<String, Value>,
    ty: Option<&Ty>,
    indent: usize,
) -> Vec<String> {
    let mut left = overlay.clone();
    let mut arguments = known;
    if let Some(ty) = ty {
        arguments.extend(length(&mut left, ty));
        arguments.extend(range(&mut left, ty));
        arguments.extend(pattern(&mut left, ty, indent));
    }
    // The only argument opens and closes with the attribute.
    let indent = if arguments.is_empty() {
        indent
    } else {
        indent + 4
    };
    let extended: Vec<String> = left
        .iter()
        .map(|(key, value)| extended(key, value, indent + 4))
        .collect();
    if extended.is_empty() {
        return arguments;
    }
    let line = format!("extend({})", extended.join(", "));
    let fits = !line.contains('\n') && indent + line.len() + "#[schemars()]".len() <= WIDTH;
    let pad = " ".repeat(indent + 4);
    arguments.push(if fits {
        line
    } else {
        let extended = extended.join(&format!(",\n{pad}"));
        format!("extend(\n{pad}{extended}\n{})", " ".repeat(indent))
    });
    arguments
}

fn extended(key: &str, value: &Value, indent: usize) -> String {
    let key = format!("{} = ", literal(key));
    let value = value_text(value, indent, key.len() + 1);
    key + &value
}

/// A value of JSON as an argument of `json!`, laid out after `before` letters of its line.
pub fn value_text(value: &Value, indent: usize, before: usize) -> String {
    if depth(value) > DEEPEST {
        return format!("json({})", quote::rust_json(value));
    }
    laid_out(value, indent, before)
}

fn bounds(left: &mut Map<String, Value>, least: &str, most: &str) -> Option<String> {
    let mut take = |key: &str, name: &str| {
        left.remove(key)
            .map(|value| format!("{name} = {}", text::number(&value)))
    };
    let bounds: Vec<String> = [take(least, "min"), take(most, "max")]
        .into_iter()
        .flatten()
        .collect();
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

fn length(left: &mut Map<String, Value>, ty: &Ty) -> Option<String> {
    let (least, most) = match ty {
        Ty::Text => ("minLength", "maxLength"),
        Ty::List(_) => ("minItems", "maxItems"),
        _ => return None,
    };
    let is_plain = |value: Option<&Value>| {
        value.is_none_or(|value| {
            value
                .as_u64()
                .is_some_and(|value| u32::try_from(value).is_ok())
        })
    };
    if !is_plain(left.get(least)) || !is_plain(left.get(most)) {
        return None;
    }
    bounds(left, least, most).map(|bounds| format!("length({bounds})"))
}

fn range(left: &mut Map<String, Value>, ty: &Ty) -> Option<String> {
    let is_plain = |value: Option<&Value>| value.is_none_or(Value::is_i64);
    if !matches!(ty, Ty::I32 | Ty::I64)
        || !is_plain(left.get("minimum"))
        || !is_plain(left.get("maximum"))
    {
        return None;
    }
    bounds(left, "minimum", "maximum").map(|bounds| format!("range({bounds})"))
}

fn pattern(left: &mut Map<String, Value>, ty: &Ty, indent: usize) -> Option<String> {
    let pattern = left.get("pattern")?.as_str()?;
    let argument = format!("regex(pattern = {})", literal(pattern));
    if *ty != Ty::Text || indent + argument.len() > 70 {
        return None;
    }
    left.remove("pattern");
    Some(argument)
}

/// An attribute with these arguments, on one line if it fits.
pub fn attribute(name: &str, arguments: &[String], indent: usize) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let pad = " ".repeat(indent);
    let line = arguments.join(", ");
    let is_read_by_rustfmt = arguments.iter().all(|argument| is_literal(argument));
    let most = if is_read_by_rustfmt && arguments.len() > 1 {
        70
    } else {
        WIDTH
    };
    let one = format!("{pad}#[{name}({line})]\n");
    let is_short = line.len() <= most && one.len() <= WIDTH + 1 && !line.contains('\n');
    if is_short {
        return one;
    }
    if let [only] = arguments
        && only.contains('\n')
        && only.starts_with("extend(")
    {
        return format!("{pad}#[{name}({only})]\n");
    }
    format!(
        "{pad}#[{name}(\n{pad}    {}\n{pad})]\n",
        arguments.join(&format!(",\n{pad}    "))
    )
}

/// Whether rustfmt understands an argument. It leaves attributes with others as they are.
fn is_literal(argument: &str) -> bool {
    let value = argument.split_once(" = ").map_or("", |(_, value)| value);
    !argument.starts_with("extend(")
        && !argument.starts_with('!')
        && !value.starts_with(|first: char| first == '(' || first.is_ascii_uppercase())
}
