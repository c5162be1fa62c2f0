//! Which values, lengths and sizes are allowed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pair::{Kind, Pair, kind};
use super::rule::Break;
use apiserver_rules::formats::is_known;

/// Numbers, and the lengths of texts.
pub fn values(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() || pair.keeps_every_value() {
        return;
    }
    if let Some(text) = range(pair, "minimum", "exclusiveMinimum", |old, new| new > old)
        .or_else(|| range(pair, "maximum", "exclusiveMaximum", |old, new| new < old))
    {
        found.push(Break::stricter(
            pair,
            text,
            "keep the range, or restrict it in a new version",
        ));
    }
    if let Some(text) = lower(pair, "minLength").or_else(|| upper(pair, "maxLength")) {
        found.push(Break::stricter(
            pair,
            text,
            "keep the length, or restrict it in a new version",
        ));
    }
    let (old, new) = pair.both("multipleOf");
    if let Some(now) = new
        .as_f64()
        .filter(|now| old.as_f64().is_none_or(|old| old % now != 0.0))
    {
        let text = format!("values must now be a multiple of {now}");
        found.push(Break::stricter(pair, text, "keep accepting others"));
    }
}

/// The values of an enum.
pub fn allowed(pair: &Pair, found: &mut Vec<Break>) {
    let (old, new) = pair.both("enum");
    let Some(new) = new.as_array().filter(|_| pair.is_same_kind()) else {
        return;
    };
    let text = match old.as_array() {
        None => format!("now only {} are allowed", listed(new.iter())),
        Some(old) => {
            let new: BTreeSet<String> = new.iter().map(Value::to_string).collect();
            let mut gone = old
                .iter()
                .filter(|value| !new.contains(&value.to_string()))
                .peekable();
            if gone.peek().is_none() {
                return;
            }
            format!("now forbidden: {}", listed(gone))
        }
    };
    let help = "objects with other values are rejected, and programs cannot read those that exist: keep the values, or remove them in a new version with conversion";
    found.push(Break::new(pair.path(), text, help));
}

fn listed<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let shown = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
    let all: Vec<String> = values.map(|it| format!("`{}`", shown(it))).collect();
    all.join(", ")
}

/// Patterns and formats.
pub fn text(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() || pair.keeps_every_value() {
        return;
    }
    for key in ["pattern", "format"] {
        let (old, new) = pair.both(key);
        let Some(now) = new.as_str().filter(|_| old != new) else {
            continue;
        };
        let text = match old.as_str() {
            Some(before) => format!("the {key} changed from `{before}` to `{now}`"),
            None => format!("the {key} `{now}` is new"),
        };
        if key == "format" && matches!(kind(pair.old), Kind::Integer | Kind::Number) {
            found.extend(narrower(pair, old.as_str(), now, &text));
        } else if key == "pattern" || is_known(now) {
            let help = "if every old value is still valid, allow this finding; else keep the old one, or accept both";
            found.push(Break::stricter(pair, text, help));
        }
    }
}

/// A number that programs read into a smaller type. The API server does not check it.
fn narrower(pair: &Pair, old: Option<&str>, new: &str, text: &str) -> Option<Break> {
    /// Each format with the smaller ones that it can hold.
    const HOLDS: [(&str, &[&str]); 8] = [
        ("int16", &["int8", "uint8"]),
        ("int32", &["int8", "int16", "uint8", "uint16"]),
        (
            "int64",
            &["int8", "int16", "int32", "uint8", "uint16", "uint32"],
        ),
        ("uint16", &["uint8"]),
        ("uint32", &["uint8", "uint16"]),
        ("uint64", &["uint8", "uint16", "uint32"]),
        ("uint", &["uint8", "uint16", "uint32", "uint64"]),
        ("double", &["float"]),
    ];
    let holds = |(format, smaller): &(&str, &[&str])| {
        *format == new && old.is_some_and(|old| smaller.contains(&old))
    };
    if HOLDS.iter().any(holds) {
        return None;
    }
    let text = format!("{text}: programs cannot read old values that do not fit");
    let help = "keep the type, or change it in a new version with conversion";
    Some(Break::new(pair.path(), text, help).tolerated_if(true))
}

/// The sizes of lists and maps.
pub fn size(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() {
        return;
    }
    let texts = [
        lower(pair, "minItems"),
        upper(pair, "maxItems"),
        lower(pair, "minProperties"),
        upper(pair, "maxProperties"),
    ];
    for text in texts.into_iter().flatten() {
        found.push(Break::stricter(
            pair,
            text,
            "keep the size, or restrict it in a new version",
        ));
    }
}

/// A new or higher lower bound. Zero restricts nothing.
fn lower(pair: &Pair, key: &str) -> Option<String> {
    let (old, new) = pair.both(key);
    let now = new.as_u64().unwrap_or(0);
    (now > old.as_u64().unwrap_or(0)).then(|| changed(key, old, new))
}

/// A new or lower upper bound.
fn upper(pair: &Pair, key: &str) -> Option<String> {
    let (old, new) = pair.both(key);
    let now = new.as_u64()?;
    old.as_u64()
        .is_none_or(|old| now < old)
        .then(|| changed(key, old, new))
}

/// A bound that is new, stricter, or exclusive now.
fn range(
    pair: &Pair,
    key: &str,
    exclusive: &str,
    is_stricter: fn(f64, f64) -> bool,
) -> Option<String> {
    let (old, new) = pair.both(key);
    let now = new.as_f64()?;
    let (was_exclusive, is_exclusive) = pair.both(exclusive);
    let stricter = match old.as_f64() {
        None => true,
        Some(before) if is_stricter(before, now) => true,
        Some(before) => {
            !is_stricter(now, before) && *is_exclusive == true && *was_exclusive != true
        }
    };
    stricter.then(|| {
        if *is_exclusive == true && old == new {
            format!("{key} {new} is now exclusive")
        } else {
            changed(key, old, new)
        }
    })
}

fn changed(key: &str, old: &Value, new: &Value) -> String {
    if old.is_null() {
        format!("{key} {new} is new")
    } else {
        format!("{key} changed from {old} to {new}")
    }
}
