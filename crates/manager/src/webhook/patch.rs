//! Finds the changes of a defaulter, as a JSON patch.
//!
//! Three texts are compared: the object as it was sent, and the object as its type serializes it before and after the
//! change. A difference between the latter two is a change. Fields that the type does not know are in neither, and
//! stay. Nothing is parsed, so a large object takes little more memory than its text.

use std::collections::HashMap;

use super::text::{Fields, Writer, fields, items};
use crate::parse::{Error, WRITTEN, too_long};

/// The fields that identify an element in most lists of Kubernetes.
const NAMES: [&str; 5] = ["name", "type", "key", "mountPath", "ip"];

/// The most elements of a list that is compared element by element: their places take several times their text.
const ELEMENTS: usize = 200_000;

/// The text of an object before and after a change.
#[derive(Clone, Copy)]
struct Texts<'a> {
    raw: &'a str,
    before: &'a str,
    after: &'a str,
}

/// The steps of a JSON patch (RFC 6902) that apply the change from `before` to `after` to `raw`, with commas between them.
///
/// # Errors
/// If they take too much memory.
pub(super) fn changes(raw: &str, before: &str, after: &str) -> Result<String, Error> {
    let mut steps = Steps::default();
    find(Texts { raw, before, after }, "", &mut steps)?;
    Ok(steps.0)
}

/// The steps that were found.
#[derive(Default)]
struct Steps(String);

impl Steps {
    /// Adds a step with this value, or without one.
    fn add(&mut self, operation: &str, path: &str, value: Option<&str>) -> Result<(), Error> {
        let value = value.map_or(String::new(), |value| format!(r#","value":{value}"#));
        if self.0.len() + path.len() + value.len() > WRITTEN {
            return Err(too_long());
        }
        let comma = if self.0.is_empty() { "" } else { "," };
        let path = serde_json::Value::from(path);
        let step = format!(r#"{comma}{{"op":"{operation}","path":{path}{value}}}"#);
        self.0.push_str(&step);
        Ok(())
    }
}

impl<'a> Texts<'a> {
    fn all(self) -> [&'a str; 3] {
        [self.raw, self.before, self.after]
    }

    fn are(self, bracket: char) -> bool {
        self.all().iter().all(|text| text.starts_with(bracket))
    }
}

fn find(texts: Texts<'_>, path: &str, steps: &mut Steps) -> Result<(), Error> {
    if texts.before == texts.after {
        return Ok(());
    }
    if texts.are('{') {
        let [raw, before, after] = texts.all().map(fields);
        return in_fields(&raw, &before, &after, path, steps);
    }
    if let Some(list) = List::of(texts)?
        && list.is_in_place()
    {
        for (at, (after, raw)) in list.after.iter().zip(&list.raw).enumerate() {
            let (raw, before) = (*raw, list.before[at]);
            find(Texts { raw, before, after }, &format!("{path}/{at}"), steps)?;
        }
        return Ok(());
    }
    let mut value = String::new();
    merge(texts, &mut value)?;
    if texts.raw != value {
        steps.add("replace", path, Some(&value))?;
    }
    Ok(())
}

fn in_fields(
    raw: &Fields<'_>,
    before: &Fields<'_>,
    after: &Fields<'_>,
    path: &str,
    steps: &mut Steps,
) -> Result<(), Error> {
    for (name, field) in after {
        let before = before.get(name).map(|field| field.value);
        if before == Some(field.value) {
            continue;
        }
        let (before, after) = (before.unwrap_or("null"), field.value);
        let path = format!("{path}/{}", escaped(name));
        match raw.get(name).map(|field| field.value) {
            Some(raw) => find(Texts { raw, before, after }, &path, steps)?,
            None => steps.add("add", &path, Some(after))?,
        }
    }
    for name in before.keys() {
        if !after.contains_key(name) && raw.contains_key(name) {
            steps.add("remove", &format!("{path}/{}", escaped(name)), None)?;
        }
    }
    Ok(())
}

/// Writes `raw` with the change from `before` to `after`.
fn merge(texts: Texts<'_>, text: &mut String) -> Result<(), Error> {
    if texts.before == texts.after {
        text.push_str(texts.raw);
    } else if texts.are('{') {
        let [raw, before, after] = texts.all().map(fields);
        merge_fields(&raw, &before, &after, text)?;
    } else if let Some(list) = List::of(texts)? {
        text.push('[');
        for (at, (after, source)) in list.after.iter().zip(&list.sources).enumerate() {
            if at > 0 {
                text.push(',');
            }
            match source {
                Some(from) => {
                    let (raw, before) = (list.raw[*from], list.before[*from]);
                    merge(Texts { raw, before, after }, text)?;
                }
                None => text.push_str(after),
            }
        }
        text.push(']');
    } else {
        text.push_str(texts.after);
    }
    Ok(())
}

fn merge_fields(
    raw: &Fields<'_>,
    before: &Fields<'_>,
    after: &Fields<'_>,
    text: &mut String,
) -> Result<(), Error> {
    let mut object = Writer::new(text);
    for (name, field) in raw {
        let raw = field.value;
        match (before.get(name), after.get(name)) {
            (Some(_), None) => {}
            (None, None) => object.field(field.name, raw),
            (before, Some(after)) => {
                let (before, after) = (before.map_or("null", |field| field.value), after.value);
                merge(Texts { raw, before, after }, object.name(field.name))?;
            }
        }
    }
    for (name, field) in after.iter().filter(|(name, _)| !raw.contains_key(*name)) {
        let before = before.get(name).map(|field| field.value);
        if before != Some(field.value) {
            object.field(field.name, field.value);
        }
    }
    object.end();
    Ok(())
}

/// A list of objects or lists whose elements may have moved.
struct List<'a> {
    raw: Vec<&'a str>,
    before: Vec<&'a str>,
    after: Vec<&'a str>,
    /// For each element after the change, the index before it.
    sources: Vec<Option<usize>>,
}

impl<'a> List<'a> {
    /// The list, if all texts are one, and what was sent in it is known: its elements have as many places before.
    fn of(texts: Texts<'a>) -> Result<Option<Self>, Error> {
        if !texts.are('[') || !items(texts.raw).any(|item| item.starts_with(['{', '['])) {
            return Ok(None);
        }
        if texts
            .all()
            .iter()
            .any(|list| items(list).count() > ELEMENTS)
        {
            return Err(Error::TooLarge(format!(
                "a list of more than {ELEMENTS} elements was changed"
            )));
        }
        let [raw, before, after] = texts.all().map(|list| items(list).collect::<Vec<_>>());
        if raw.len() != before.len() {
            return Ok(None);
        }
        let sources = sources(&before, &after);
        Ok(Some(Self {
            raw,
            before,
            after,
            sources,
        }))
    }

    /// Whether each element is still at its index, so that a step for each change of one is enough.
    fn is_in_place(&self) -> bool {
        let mut sources = self.sources.iter().enumerate();
        self.before.len() == self.after.len() && sources.all(|(at, from)| *from == Some(at))
    }
}

/// For each element of `after`, the index in `before` that it comes from: an equal element, or else one with the same
/// name, or else, in a list without names, the one at the same index. Each index is used once.
pub(crate) fn sources<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Option<usize>> {
    let equal = |(before, after)| before == after;
    // Of two equal elements, neither moves.
    let mut taken: Vec<bool> = before.iter().zip(after).map(equal).collect();
    taken.resize(before.len(), false);
    let mut sources = vec![None; after.len()];
    for (at, _) in taken.iter().enumerate().filter(|(_, taken)| **taken) {
        sources[at] = Some(at);
    }
    // Look elements up by their text, because the sender of an object decides how long its lists are.
    let mut take = |key: &dyn Fn(&'a str) -> Option<(&'static str, &'a str)>| {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (from, text) in before.iter().enumerate().rev() {
            if let Some(key) = (!taken[from]).then(|| key(text)).flatten() {
                places.entry(key).or_default().push(from);
            }
        }
        for (at, text) in after.iter().enumerate() {
            let place = || places.get_mut(&key(text)?)?.pop();
            if let Some(from) = sources[at].is_none().then(place).flatten() {
                sources[at] = Some(from);
                taken[from] = true;
            }
        }
    };
    take(&|text| Some(("", text)));
    take(&name);
    if before.len() == after.len() {
        let is_nameless = |text: &'a str| text.starts_with('{') && name(text).is_none();
        for at in 0..before.len() {
            let is_free = !taken[at] && sources[at].is_none();
            if is_free && is_nameless(before[at]) && is_nameless(after[at]) {
                sources[at] = Some(at);
            }
        }
    }
    sources
}

/// The field that identifies an element in most lists of Kubernetes.
fn name(element: &str) -> Option<(&'static str, &str)> {
    let fields = fields(element);
    NAMES
        .into_iter()
        .find_map(|key| Some((key, fields.get(key)?.value)))
}

/// Escapes a name for use in a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
