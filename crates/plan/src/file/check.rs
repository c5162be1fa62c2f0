//! Whether a clone is one that a cluster can have. Names become keys of etcd and parts of URLs, and are printed.

use std::collections::HashSet;

use kbr_host::diagnostic::{Diagnostic, Problem};
use kbr_host::lines::one_line;
use serde_json::{Map, Value};

use crate::cloned::{Cloned, Kind};

/// The most kinds. Clusters with a thousand CRDs exist.
const KINDS: usize = 4096;
/// The most objects. Clusters have up to 150 000 Pods (kubernetes.io/docs/setup/best-practices/cluster-large).
const OBJECTS: usize = 1 << 20;
/// The most sentences about what was not read.
const UNREAD: usize = 4096;
/// The most problems that are printed.
const SHOWN: usize = 10;
/// How much of a text from the file is printed.
const TEXT: usize = 80;

/// Checks the names and versions of all kinds and objects, and that each is there once.
///
/// # Errors
/// The first ten problems, each with its place: `kinds[2].objects[0]`.
pub fn check(cloned: &Cloned) -> Result<(), Diagnostic> {
    let mut problems = Vec::new();
    let objects = cloned.count();
    for (what, count, most) in [
        ("kinds", cloned.kinds.len(), KINDS),
        ("objects", objects, OBJECTS),
        ("unread sentences", cloned.unread.len(), UNREAD),
    ] {
        if count > most {
            problems.push(Problem::new(format_args!(
                "it has {count} {what}, of which kbr reads {most}"
            )));
        }
    }
    if !is_version(&cloned.kubernetes) {
        let version = shown(&cloned.kubernetes);
        problems.push(Problem::new(format_args!("{version} is not a version")).at("kubernetes"));
    }
    let mut seen = HashSet::new();
    for (at, kind) in cloned.kinds.iter().enumerate() {
        let place = format!("kinds[{at}]");
        let mut add = |place: &str, text: String| {
            if problems.len() <= SHOWN {
                problems.push(Problem::new(text).at(place));
            }
        };
        if let Some(text) = of_kind(kind) {
            add(&place, text);
        }
        if !seen.insert((&kind.group, &kind.plural)) {
            add(&place, format!("{} is there twice", shown(&kind.plural)));
        }
        of_objects(kind, &place, &mut add);
    }
    if problems.is_empty() {
        return Ok(());
    }
    if problems.len() > SHOWN {
        problems.truncate(SHOWN);
        problems.push(Problem::new("there are more problems"));
    }
    Err(Diagnostic::findings("the clone is damaged", problems))
}

fn of_objects(kind: &Kind, place: &str, add: &mut impl FnMut(&str, String)) {
    let mut seen = HashSet::new();
    for (at, object) in kind.objects.iter().enumerate() {
        let place = || format!("{place}.objects[{at}]");
        match of_object(kind, object) {
            Err(text) => add(&place(), text),
            Ok(name) if !seen.insert(name) => {
                add(&place(), format!("{} is there twice", shown(name.1)));
            }
            Ok(_) => {}
        }
    }
}

fn of_kind(kind: &Kind) -> Option<String> {
    let is_group = kind.group.is_empty() || is_subdomain(&kind.group);
    for (what, text, is_right) in [
        ("group", &kind.group, is_group),
        ("version", &kind.version, is_label(&kind.version)),
        ("plural", &kind.plural, is_label(&kind.plural)),
        ("kind", &kind.kind, is_kind(&kind.kind)),
    ] {
        if !is_right {
            return Some(format!("{} is not a {what}", shown(text)));
        }
    }
    None
}

/// The namespace and the name of an object.
fn of_object<'a>(kind: &Kind, object: &'a Value) -> Result<(&'a str, &'a str), String> {
    let object = object.as_object().ok_or("it is not an object")?;
    let version = match kind.group.as_str() {
        "" => kind.version.clone(),
        group => format!("{group}/{}", kind.version),
    };
    for (field, expected) in [("apiVersion", &version), ("kind", &kind.kind)] {
        let found = field_text(object, field)?;
        if found != expected {
            let (found, expected) = (shown(found), shown(expected));
            return Err(format!("its `{field}` is {found} instead of {expected}"));
        }
    }
    let metadata = object.get("metadata").and_then(Value::as_object);
    let metadata = metadata.ok_or("it has no `metadata`")?;
    let name = field_text(metadata, "name")?;
    if !is_path_segment(name) {
        return Err(format!("{} is not a name", shown(name)));
    }
    let namespace = match metadata.get("namespace") {
        Some(_) => field_text(metadata, "namespace")?,
        None => "",
    };
    match (kind.namespaced, namespace) {
        (true, "") => Err("it has no namespace".to_owned()),
        (false, other) if !other.is_empty() => Err("its kind has no namespaces".to_owned()),
        (true, other) if !is_label(other) => Err(format!("{} is not a namespace", shown(other))),
        _ => Ok((namespace, name)),
    }
}

fn field_text<'a>(map: &'a Map<String, Value>, field: &str) -> Result<&'a str, String> {
    let text = map.get(field).and_then(Value::as_str);
    text.ok_or_else(|| format!("it has no text `{field}`"))
}

/// A text of the file, short and without control characters.
pub fn shown(text: &str) -> String {
    let mut start: String = text.chars().take(TEXT).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    format!("`{}`", one_line(&start))
}

/// Source: `IsValidPathSegmentName` in `k8s.io/apimachinery/pkg/api/validation/path`. The names of each kind have narrower rules.
fn is_path_segment(name: &str) -> bool {
    let is_visible = || one_line(name) == name && !name.contains('\t');
    (1..=253).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.contains(['/', '%'])
        && is_visible()
}

/// RFC 1123.
fn is_label(text: &str) -> bool {
    let is_inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_kind(text: &str) -> bool {
    is_label(&text.to_ascii_lowercase()) && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_version(text: &str) -> bool {
    let is_inner = |c: u8| c.is_ascii_alphanumeric() || b".+-".contains(&c);
    let number = text.strip_prefix('v').unwrap_or_default();
    text.len() <= 64
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(is_inner)
}
