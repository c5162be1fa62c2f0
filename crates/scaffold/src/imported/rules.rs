//! Rules in CEL and merge strategies of an overlay -> `#[x_kube(…)]`, which kube's `KubeSchema` reads.

use serde_json::{Map, Value};

use super::model::{Model, Ty};
use super::normal::RULES;
use super::text::WIDTH;
use crate::quote::rust as literal;

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// The arguments for a struct, whose rules are no longer in `overlay` afterwards.
pub fn of_struct(overlay: &mut Map<String, Value>) -> Vec<String> {
    validations(overlay, 0).unwrap_or_default()
}

/// The arguments for a field of type `ty`. kube adds rules to those of the type, so they stay in `overlay` if the type has others.
pub fn of_field(overlay: &mut Map<String, Value>, ty: &Ty, model: &Model) -> Vec<String> {
    let has = |key: &str| match ty {
        Ty::Own(at) => model.types[*at].schema.contains_key(key),
        _ => false,
    };
    let mut arguments = Vec::new();
    if !has(RULES) {
        arguments.extend(validations(overlay, 4).unwrap_or_default());
    }
    if !has(MAP_TYPE) {
        arguments.extend(merge_strategy(overlay));
    }
    arguments
}

/// Removes the rules, if all of them can be written as arguments.
fn validations(overlay: &mut Map<String, Value>, indent: usize) -> Option<Vec<String>> {
    let rules = overlay.get(RULES)?.as_array()?.iter();
    let rules: Vec<String> = rules
        .map(|rule| validation(rule, indent))
        .collect::<Option<_>>()?;
    overlay.remove(RULES);
    Some(rules)
}

/// The values of `reason`, which are variants of kube's `Reason`.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// `None` if kube has no way to write it, such as a rule with two messages or with a reason that the API does not have.
fn validation(rule: &Value, indent: usize) -> Option<String> {
    let mut left = rule.as_object()?.clone();
    let mut text = |key: &str| match left.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(other) => {
            left.insert(key.to_owned(), other);
            None
        }
        None => None,
    };
    let rule = literal(&text("rule")?);
    let (message, expression) = (text("message"), text("messageExpression"));
    let (reason, path) = (text("reason"), text("fieldPath"));
    let old = match left.remove("optionalOldSelf") {
        Some(old) => Some(old.as_bool()?),
        None => None,
    };
    if !left.is_empty() || message.is_some() && expression.is_some() {
        return None;
    }
    let reason = match &reason {
        Some(reason) => Some(REASONS.iter().find(|known| *known == reason)?),
        None => None,
    };
    let message = message.map(|text| literal(&text));
    if let (None, None, None, None) = (&expression, &reason, &path, &old) {
        return Some(message.map_or_else(
            || format!("validation = {rule}"),
            |message| format!("validation = ({rule}, {message})"),
        ));
    }
    let expression = expression.map(|text| literal(&text));
    let calls = [
        Some(format!("validation = Rule::new({rule})")),
        message.map(|text| format!(".message({text})")),
        expression.map(|text| format!(".message(Message::Expression({text}.into()))")),
        reason.map(|reason| format!(".reason(Reason::{reason})")),
        path.map(|text| format!(".field_path({})", literal(&text))),
        old.map(|old| format!(".optional_old_self({old})")),
    ];
    let calls: Vec<String> = calls.into_iter().flatten().collect();
    let line = calls.concat();
    if indent + 4 + line.len() < WIDTH {
        return Some(line);
    }
    Some(calls.join(&format!("\n{}", " ".repeat(indent + 8))))
}

/// Removes how server-side apply merges a list or a map, if kube has a name for it.
fn merge_strategy(overlay: &mut Map<String, Value>) -> Option<String> {
    let of = |key: &str| overlay.get(key).and_then(Value::as_str);
    let strategy = match (of(LIST_TYPE), of(MAP_TYPE), overlay.get(LIST_KEYS)) {
        (Some("atomic"), None, None) => "ListMerge::Atomic".to_owned(),
        (Some("set"), None, None) => "ListMerge::Set".to_owned(),
        (Some("map"), None, Some(Value::Array(keys))) => {
            let keys: Option<Vec<&str>> = keys.iter().map(Value::as_str).collect();
            let keys = keys?.into_iter().map(|key| literal(key) + ".into()");
            let keys: Vec<String> = keys.collect();
            format!("ListMerge::Map(vec![{}])", keys.join(", "))
        }
        (None, Some("atomic"), None) => "MapMerge::Atomic".to_owned(),
        (None, Some("granular"), None) => "MapMerge::Granular".to_owned(),
        _ => return None,
    };
    for key in [LIST_TYPE, LIST_KEYS, MAP_TYPE] {
        overlay.remove(key);
    }
    Some(format!("merge_strategy = {strategy}"))
}
