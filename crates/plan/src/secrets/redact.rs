//! `--redact`: fields of other objects that are replaced as the values of Secrets are.

use kbr_host::diagnostic::{Diagnostic, Problems};
use serde_json::Value;

use super::elsewhere::Replacer;
use super::fakes::{Fakes, Treatment};
use super::{public, shape};
use crate::cloned::{Cloned, Kind};

/// A field of all objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// As the user wrote it.
    text: String,
    kind: String,
    /// Any group, if it is `None`.
    group: Option<String>,
    path: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    /// All elements of a list, or all values of a map.
    Each,
}

impl Redaction {
    /// Reads `Captain:.spec.password`, `Captain.crew.example.com:.spec.users[*].password` or `Captain:.data["a.b"]`.
    ///
    /// # Errors
    /// It has another form, or names a field that says which object it is.
    pub fn parse(text: &str) -> Result<Redaction, Diagnostic> {
        let wrong = |what: &str| {
            Diagnostic::new(format_args!("`{text}` {what}")).help(
                "write a kind, a colon and a path: `Captain.crew.example.com:.spec.users[*].password`",
            )
        };
        let (kind, path) = text
            .split_once(':')
            .ok_or_else(|| wrong("has no colon between a kind and a path"))?;
        let (kind, group) = match kind.split_once('.') {
            Some((kind, group)) => (kind, Some(group.to_owned())),
            None => (kind, None),
        };
        if kind.is_empty() || group.as_ref().is_some_and(String::is_empty) {
            return Err(wrong("names no kind"));
        }
        let path = steps(path).ok_or_else(|| wrong("has a path that cannot be read"))?;
        if is_identity(&path) {
            return Err(wrong("is a field that says which object it is"));
        }
        Ok(Redaction {
            text: text.to_owned(),
            kind: kind.to_owned(),
            group,
            path,
        })
    }

    fn is_of(&self, kind: &Kind) -> bool {
        self.kind == kind.kind && self.group.as_ref().is_none_or(|it| *it == kind.group)
    }
}

/// Replaces the strings and numbers at each path by fakes of the same shape, and strings of 8 bytes or more wherever else they occur, as
/// [`super::replace`] does. Returns how many were replaced at the paths.
///
/// # Errors
/// All redactions whose kind is not in the clone, or whose path occurs in no object; nothing was replaced then. The system has no random
/// numbers.
pub fn redact(cloned: &mut Cloned, redactions: &[Redaction]) -> anyhow::Result<usize> {
    check(cloned, redactions)?;
    let mut fakes = Fakes::new(shape::text)?;
    let public = public::strings(cloned);
    let mut count = 0;
    for kind in &mut cloned.kinds {
        let redactions: Vec<_> = redactions.iter().filter(|it| it.is_of(kind)).collect();
        for redaction in redactions {
            for object in &mut kind.objects {
                each(object, &redaction.path, &mut |value| {
                    count += fake(&mut fakes, value);
                });
            }
        }
    }
    let mut replacer = Replacer::new(fakes.into_searched(), public)?;
    let objects = cloned.kinds.iter_mut().flat_map(|kind| &mut kind.objects);
    objects.for_each(|object| replacer.object(object));
    Ok(count)
}

fn check(cloned: &mut Cloned, redactions: &[Redaction]) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    for redaction in redactions {
        let (mut has_kind, mut occurs) = (false, false);
        for kind in cloned.kinds.iter_mut().filter(|it| redaction.is_of(it)) {
            has_kind = true;
            for object in &mut kind.objects {
                each(object, &redaction.path, &mut |_| occurs = true);
            }
        }
        let text = &redaction.text;
        if !has_kind {
            problems.add(
                format_args!("`{text}`: the clone has no kind `{}`", redaction.kind),
                "write the kind as `kind:` in a manifest has it, and its group after a dot",
            );
        } else if !occurs {
            problems.add(
                format_args!("`{text}`: no object has this path"),
                "`kubectl get` with `-o yaml` shows the paths of an object",
            );
        }
    }
    problems.into_result()
}

/// `.spec.users[*]["a.b"]`. `None` if it is empty, or has another form.
fn steps(path: &str) -> Option<Vec<Step>> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[*]") {
            steps.push(Step::Each);
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix("[\"") {
            let (key, after) = quoted.split_once("\"]")?;
            steps.push(Step::Field(key.to_owned()));
            rest = after;
        } else {
            let field = rest.strip_prefix('.')?;
            let (field, after) = field.split_at(field.find(['.', '[']).unwrap_or(field.len()));
            if field.is_empty() {
                return None;
            }
            steps.push(Step::Field(field.to_owned()));
            rest = after;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

fn is_identity(path: &[Step]) -> bool {
    let is = |at: usize, name: &str| matches!(path.get(at), Some(Step::Field(it)) if it == name);
    let is_metadata = is(0, "metadata") && !(is(1, "annotations") && path.len() > 2);
    is_metadata || public::IDENTITY.iter().any(|name| is(0, name)) || path[0] == Step::Each
}

/// Calls `found` with each value at the path.
fn each(value: &mut Value, path: &[Step], found: &mut impl FnMut(&mut Value)) {
    match (path, value) {
        ([], value) => found(value),
        ([Step::Field(name), rest @ ..], Value::Object(map)) => {
            if let Some(value) = map.get_mut(name) {
                each(value, rest, found);
            }
        }
        ([Step::Each, rest @ ..], Value::Object(map)) => {
            for it in map.values_mut() {
                each(it, rest, found);
            }
        }
        ([Step::Each, rest @ ..], Value::Array(list)) => {
            for it in list {
                each(it, rest, found);
            }
        }
        _ => {}
    }
}

/// Replaces all strings and numbers inside a value, and returns how many.
fn fake(fakes: &mut Fakes, value: &mut Value) -> usize {
    match value {
        Value::String(text) => *text = shape::text(fakes, text, Treatment::VALUE),
        Value::Number(number) => {
            let text = shape::text(fakes, &number.to_string(), Treatment::VALUE);
            // A number with an exponent may become one that is too large.
            *number = text.parse().unwrap_or_else(|_| 0.into());
        }
        Value::Array(list) => return list.iter_mut().map(|it| fake(fakes, it)).sum(),
        Value::Object(map) => return map.values_mut().map(|it| fake(fakes, it)).sum(),
        Value::Bool(_) | Value::Null => return 0,
    }
    1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn clone() -> Cloned {
        let object = json!({
            "apiVersion": "crew.example.com/v1", "kind": "Captain",
            "metadata": {"name": "a", "annotations": {"last": "{\"p\":\"hunter2hunter2\"}"}},
            "spec": {"password": "hunter2hunter2", "a.b": "x", "users": [{"pin": 1234}, {"pin": 5678}]},
        });
        Cloned {
            kinds: vec![Kind {
                group: "crew.example.com".to_owned(),
                version: "v1".to_owned(),
                plural: "captains".to_owned(),
                kind: "Captain".to_owned(),
                namespaced: false,
                objects: vec![object],
            }],
            ..Cloned::default()
        }
    }

    fn redacted(all: &[&str]) -> Result<(usize, Value), String> {
        let mut cloned = clone();
        let all = all.iter().map(|it| Redaction::parse(it));
        let all = all
            .collect::<Result<Vec<_>, _>>()
            .map_err(|it| it.to_string())?;
        let count = redact(&mut cloned, &all).map_err(|it| it.to_string())?;
        Ok((count, cloned.kinds.remove(0).objects.remove(0)))
    }

    #[test]
    fn a_field_is_replaced_there_and_elsewhere() {
        let paths = [
            "Captain:.spec.password",
            "Captain.crew.example.com:.spec.users[*].pin",
        ];
        let (count, object) = redacted(&paths).unwrap();
        assert_eq!(count, 3);
        let text = object.to_string();
        assert!(!text.contains("hunter") && !text.contains("1234") && !text.contains("5678"));
        let password = object["spec"]["password"].as_str().unwrap();
        assert_eq!(password.len(), 14);
        assert!(object["spec"]["users"][0]["pin"].is_number());
        let annotation = object["metadata"]["annotations"]["last"].as_str().unwrap();
        assert_eq!(annotation, json!({ "p": password }).to_string());
        assert_eq!(redacted(&["Captain:.spec[\"a.b\"]"]).unwrap().0, 1);
        assert_eq!(redacted(&["Captain:.spec"]).unwrap().0, 4);
        assert_eq!(
            redacted(&["Captain:.metadata.annotations.last"]).unwrap().0,
            1
        );
    }

    #[test]
    fn an_unknown_kind_or_path_is_named() {
        let error = redacted(&["Crew:.spec", "Captain.other.io:.spec", "Captain:.spec.x"]);
        let error = error.unwrap_err();
        for part in [
            "3 problems",
            "`Crew:.spec`: the clone has no kind `Crew`",
            "`Captain.other.io:.spec`: the clone has no kind `Captain`",
            "`Captain:.spec.x`: no object has this path",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_redaction_with_another_form_is_explained() {
        for (text, expected) in [
            ("Captain", "has no colon"),
            (":.spec", "names no kind"),
            ("Captain.:.spec", "names no kind"),
            ("Captain:spec", "cannot be read"),
            ("Captain:", "cannot be read"),
            ("Captain:.a..b", "cannot be read"),
            ("Captain:.a[0]", "cannot be read"),
            ("Captain:.metadata.name", "which object it is"),
            ("Captain:.metadata.annotations", "which object it is"),
            ("Captain:.kind", "which object it is"),
            ("Captain:[*]", "which object it is"),
        ] {
            let error = Redaction::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
