//! Parses label selectors in kubectl's syntax into the API's type.

use serde_json::{Map, Value, json};

/// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k` into a `LabelSelector`; empty text gives `None`.
///
/// The grammar of `k8s.io/apimachinery/pkg/labels`, except its numeric comparisons, which a `LabelSelector` cannot express.
///
/// # Errors
/// Why the selector is invalid.
pub fn parse(text: &str) -> Result<Option<Value>, String> {
    let mut labels = Map::new();
    let mut expressions = Vec::new();
    for requirement in split(text) {
        let requirement = requirement.trim();
        if requirement.is_empty() {
            continue;
        }
        if let Some((key, value)) = equality(requirement) {
            let (key, value) = (key_of(key)?, value_of(value)?);
            if labels.insert(key.to_owned(), value.into()).is_some() {
                return Err(format!("duplicate key `{key}`"));
            }
        } else {
            expressions.push(expression(requirement)?);
        }
    }
    let mut selector = Map::new();
    if !labels.is_empty() {
        selector.insert("matchLabels".to_owned(), labels.into());
    }
    if !expressions.is_empty() {
        selector.insert("matchExpressions".to_owned(), expressions.into());
    }
    Ok((!selector.is_empty()).then_some(Value::Object(selector)))
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn equality(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once("==").or_else(|| text.split_once('='))?;
    (!key.ends_with('!')).then_some((key, value))
}

fn expression(text: &str) -> Result<Value, String> {
    if let Some((key, value)) = text.split_once("!=") {
        return Ok(requirement(key_of(key)?, "NotIn", &[value_of(value)?]));
    }
    if let Some(key) = text.strip_prefix('!') {
        return Ok(json!({ "key": key_of(key)?, "operator": "DoesNotExist" }));
    }
    let Some((key, rest)) = text.split_once(char::is_whitespace) else {
        return Ok(json!({ "key": key_of(text)?, "operator": "Exists" }));
    };
    let rest = rest.trim();
    let (operator, values) = if let Some(values) = rest.strip_prefix("notin") {
        ("NotIn", values)
    } else if let Some(values) = rest.strip_prefix("in") {
        ("In", values)
    } else {
        return Err(format!("expected `in (…)` or `notin (…)` after `{key}`"));
    };
    let values = values
        .trim()
        .strip_prefix('(')
        .and_then(|values| values.strip_suffix(')'))
        .ok_or_else(|| format!("the values of `{key}` must be in parentheses"))?;
    let values = values.split(',').map(value_of);
    Ok(requirement(
        key_of(key)?,
        operator,
        &values.collect::<Result<Vec<_>, _>>()?,
    ))
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({ "key": key, "operator": operator, "values": values })
}

/// A label's key: a name of at most 63 characters, with an optional DNS name and `/` before it.
fn key_of(text: &str) -> Result<&str, String> {
    let key = text.trim();
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let good = prefix.is_none_or(super::names::is_subdomain) && super::is_condition_name(name);
    good.then_some(key)
        .ok_or_else(|| format!("`{key}` is not a label key"))
}

fn value_of(text: &str) -> Result<&str, String> {
    let value = text.trim();
    let good = value.is_empty() || super::is_condition_name(value);
    good.then_some(value)
        .ok_or_else(|| format!("`{value}` is not a label value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectls_syntax_is_supported() {
        for (text, expected) in [
            ("", Value::Null),
            (
                " a = b , example.com/c==d",
                json!({ "matchLabels": { "a": "b", "example.com/c": "d" } }),
            ),
            (
                "a",
                json!({ "matchExpressions": [{ "key": "a", "operator": "Exists" }] }),
            ),
            (
                "!a",
                json!({ "matchExpressions": [{ "key": "a", "operator": "DoesNotExist" }] }),
            ),
            (
                "a!=b",
                json!({ "matchExpressions": [{ "key": "a", "operator": "NotIn", "values": ["b"] }] }),
            ),
            (
                "a in (b, c),x=y",
                json!({
                    "matchLabels": { "x": "y" },
                    "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b", "c"] }],
                }),
            ),
            (
                "a notin (b)",
                json!({ "matchExpressions": [{ "key": "a", "operator": "NotIn", "values": ["b"] }] }),
            ),
        ] {
            let found = parse(text).unwrap().unwrap_or_default();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_invalid_selector_is_rejected() {
        for text in [
            "a b", "a in b", "a in (b", "-a=b", "a=b c", "a/b/c=d", "a=b,a=c", "A_/x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
