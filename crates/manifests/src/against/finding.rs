//! Incompatible changes at the line of Rust.

use crd_lint::{Finding as Change, Severity};
use serde_json::{Value, json};

use crate::allow::{Allow, KIND_REMOVED, is_allowable};
use crate::lint;
use crate::problem::{self, Problem};
use crate::source_map::{Located, SourceMap};

/// An incompatible change of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What crd-lint found.
    change: Change,
    /// `crew.example.com`.
    group: String,
    /// `Captain`.
    kind: String,
    /// File and line, if the sources define it.
    place: Option<String>,
}

/// A finding and where it is in the sources.
pub struct Placed<'a> {
    pub finding: Finding,
    located: Located<'a>,
    map: &'a SourceMap,
}

impl Placed<'_> {
    /// Whether a comment along its path or PROJECT allows it.
    pub fn is_allowed(&self, allow: &Allow) -> bool {
        let id = self.finding.change.id;
        is_allowable(id) && (allow.has(id) || self.map.allows(&self.located, id))
    }
}

/// Finds the line of Rust. That of a field that was removed is its struct's.
pub fn locate<'a>(now: &Value, change: Change, map: &'a SourceMap) -> Placed<'a> {
    let (group, kind) = names(now);
    let version = change
        .version
        .as_deref()
        .unwrap_or_else(|| lint::stored(now));
    let located = map.locate(&kind, version, &change.path);
    Placed {
        finding: Finding {
            place: located.shown(),
            change,
            group,
            kind,
        },
        located,
        map,
    }
}

/// A kind that the project does not have any more.
pub fn removed(old: &Value) -> Finding {
    let (group, kind) = names(old);
    let change = Change {
        id: KIND_REMOVED,
        severity: Severity::Error,
        version: None,
        path: String::new(),
        message: "the type was removed: deleting its CRD deletes all of its objects".to_owned(),
        helps: vec![format!(
            "keep the type, or allow the removal: add `{KIND_REMOVED}` to `allow` under `[manifests]` in PROJECT"
        )],
    };
    Finding {
        change,
        group,
        kind,
        place: None,
    }
}

fn names(crd: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&crd["spec"]["group"]),
        text(&crd["spec"]["names"]["kind"]),
    )
}

impl Finding {
    /// Whether the change breaks objects or clients.
    pub fn is_error(&self) -> bool {
        self.change.severity == Severity::Error
    }

    /// As people read it.
    pub fn problem(&self) -> Problem {
        let text = lint::text(&self.group, &self.kind, &self.change);
        let mut problem = Problem::new(format!("{text} [{}]", self.change.id));
        for help in &self.change.helps {
            problem = problem.help(help);
        }
        if self.place.is_some() && is_allowable(self.change.id) {
            problem = problem::or_intended(problem, self.change.id);
        }
        match &self.place {
            Some(place) => problem.at(place),
            None => problem,
        }
    }

    /// As programs read it.
    pub fn json(&self) -> Value {
        let place = self.place.as_deref().and_then(|it| it.rsplit_once(':'));
        json!({
            "rule": self.change.id,
            "severity": self.change.severity.to_string(),
            "group": self.group,
            "kind": self.kind,
            "version": self.change.version,
            "path": self.change.path,
            "file": place.map(|(file, _)| file),
            "line": place.and_then(|(_, line)| line.parse::<u32>().ok()),
            "message": self.change.message,
            "help": self.change.helps,
        })
    }
}
