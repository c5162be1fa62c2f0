//! Merges an applied configuration into an object.
//!
//! Source: `sigs.k8s.io/structured-merge-diff/v6/typed/merge.go`.

use serde_json::{Map, Value};

use super::{
    fields::{Step, are_alike, step},
    shape::{Merges, Shape},
};

/// `live` with the fields of `applied`.
///
/// # Errors
/// If a list contains an item twice: its key.
pub(super) fn merged(
    live: Option<&Value>,
    applied: Option<&Value>,
    shape: &Shape<'_>,
) -> Result<Option<Value>, String> {
    if let (Some(before), Some(after)) = (live, applied)
        && !are_alike(before, after)
    {
        return Ok(applied.cloned());
    }
    let merges = shape.merges([live, applied]);
    let empty = |value: Option<&Value>| match value {
        Some(Value::Object(object)) => object.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => true,
    };
    if merges == Merges::Whole || empty(live) && empty(applied) {
        return Ok(applied.or(live).cloned());
    }
    if merges == Merges::Fields {
        let live = live.and_then(Value::as_object);
        let applied = applied.and_then(Value::as_object);
        let mut out = Map::new();
        for name in live.into_iter().chain(applied).flat_map(Map::keys) {
            let find =
                |object: Option<&'_ Map<_, _>>| object.and_then(|object| object.get(name)).cloned();
            let (live, applied) = (find(live), find(applied));
            if let Some(value) = merged(live.as_ref(), applied.as_ref(), &shape.field(name))? {
                out.insert(name.clone(), value);
            }
        }
        return Ok(Some(out.into()));
    }
    let items = |list: Option<&Value>| list.and_then(Value::as_array).cloned().unwrap_or_default();
    list(&items(live), &items(applied), shape, &merges).map(Some)
}

/// Merges two lists. The items in both have the order of the applied list. Items that are only in the live list stay
/// before the item that followed them.
fn list(
    live: &[Value],
    applied: &[Value],
    shape: &Shape<'_>,
    merges: &Merges,
) -> Result<Value, String> {
    let steps =
        |items: &[Value]| -> Vec<Step> { items.iter().map(|item| step(item, merges)).collect() };
    let (ours, theirs) = (steps(live), steps(applied));
    if let Some(twice) = theirs
        .iter()
        .enumerate()
        .find(|(at, step)| theirs[..*at].contains(step))
    {
        return Err(format!("duplicate entries for key {:?}", twice.1));
    }
    let find = |items: &[Value], steps: &[Step], step: &Step| {
        let at = steps.iter().position(|other| other == step)?;
        items.get(at).cloned()
    };
    let item = |step: &Step| {
        let (live, applied) = (find(live, &ours, step), find(applied, &theirs, step));
        merged(live.as_ref(), applied.as_ref(), &shape.item())
    };
    let mut shared = theirs.iter().filter(|step| ours.contains(step)).peekable();
    let (mut out, mut l, mut r) = (Vec::new(), 0, 0);
    while l < ours.len() || r < theirs.len() {
        if let (Some(our), Some(their)) = (ours.get(l), theirs.get(r)) {
            if our == their {
                out.extend(item(our)?);
                (l, r) = (l + 1, r + 1);
                shared.next();
                continue;
            }
            if theirs.contains(our) && shared.peek().is_some_and(|next| *next != our) {
                l += 1;
                continue;
            }
        }
        if let Some(our) = ours.get(l) {
            if !theirs.contains(our) {
                out.extend(item(our)?);
                l += 1;
                continue;
            }
            if theirs[..r].contains(our) {
                l += 1;
            }
        }
        if let Some(their) = theirs.get(r) {
            out.extend(item(their)?);
            r += 1;
            if shared.peek() == Some(&their) {
                shared.next();
            }
        }
    }
    Ok(Value::Array(out))
}
