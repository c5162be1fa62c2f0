//! Checks writes, and stores them.
//!
//! Source: `k8s.io/apiserver/pkg/registry/rest`, `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Call,
    answer::{Answer, ErrorResponse},
    check::{check_change, lacking},
    delete::held,
    kinds::Kind,
    path::Path,
    schema,
    store::{Objects, Stored},
    write::{Pending, complete},
    written::{bumps, fresh, split},
};

/// A write that is valid: what webhooks see that validate, and what is stored.
#[derive(Clone, Debug)]
pub struct Checked {
    kind: Kind,
    /// Of the object.
    path: Path,
    old: Option<Stored>,
    new: Stored,
    /// Whether webhooks have changed the object, perhaps by fields that its definition does not know.
    is_changed: bool,
}

impl Checked {
    /// Whether nothing would change.
    fn is_same(&self) -> bool {
        self.old.as_ref() == Some(&self.new)
    }

    /// Whether an object ends that was only held by its finalizers.
    fn ends(&self) -> bool {
        self.old.is_some() && is_ending(&self.new.object)
    }
}

fn is_ending(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string() && !held(object)
}

impl Objects {
    /// Checks a write, as its webhooks have left it.
    pub fn check(&self, call: &Call, pending: &Pending) -> Result<Checked, ErrorResponse> {
        match &pending.old {
            Some(stored) => Self::check_change(call, pending, stored),
            None => self.check_creation(pending),
        }
    }

    fn check_creation(&self, pending: &Pending) -> Result<Checked, ErrorResponse> {
        let (kind, mut path) = (&pending.kind, pending.path.object());
        if path.name.is_empty() {
            let meta = &pending.object["metadata"];
            let text = |field: &str| meta[field].as_str().filter(|text| !text.is_empty());
            let made =
                text("generateName").map(|prefix| format!("{prefix}{}", suffix(self.version)));
            let name = text("name").map(str::to_owned).or(made);
            path.name = name.ok_or_else(|| {
                let why = "metadata.name: Required value: name or generateName is required";
                ErrorResponse::invalid(&path, &kind.name, why)
            })?;
        }
        let mut object = pending.object.clone();
        if pending.is_changed {
            object = fresh(&object, kind, &path);
        }
        validate(&path, kind, &object, None)?;
        let owners = pending.owners.clone();
        Ok(Checked {
            kind: kind.clone(),
            path,
            old: None,
            new: Stored { object, owners },
            is_changed: pending.is_changed,
        })
    }

    fn check_change(
        call: &Call,
        pending: &Pending,
        stored: &Stored,
    ) -> Result<Checked, ErrorResponse> {
        let (kind, changed, path) = (&pending.kind, &pending.object, call.path.object());
        let (old, new) = (&stored.object["metadata"], &changed["metadata"]);
        if call.method == Method::PATCH && !new["uid"].is_null() && new["uid"] != old["uid"] {
            return Err(ErrorResponse::immutable(&path, &kind.name, "metadata.uid"));
        }
        if new["uid"].is_string() && new["uid"] != old["uid"] {
            let why = format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                new["uid"], old["uid"]
            );
            return Err(ErrorResponse::conflict(&path, &why));
        }
        let version = new["resourceVersion"]
            .as_str()
            .filter(|version| !version.is_empty());
        if version.is_some_and(|version| old["resourceVersion"] != version) {
            return Err(ErrorResponse::stale(&path));
        }
        let mut object = split(&call.path, kind, &stored.object, changed.clone());
        check_change(&path, kind, &stored.object, &object, changed)?;
        validate(&path, kind, &object, Some(&stored.object))?;
        if kind.generation && bumps(kind, &stored.object, &object) {
            let generation = old["generation"].as_i64().unwrap_or_default() + 1;
            object["metadata"]["generation"] = json!(generation);
        }
        let owners = pending.owners.clone();
        Ok(Checked {
            kind: kind.clone(),
            path,
            old: Some(stored.clone()),
            new: Stored { object, owners },
            is_changed: pending.is_changed,
        })
    }

    /// What is stored of a write, as webhooks see it that validate.
    pub(super) fn shown(&self, checked: &Checked) -> Value {
        let Checked { kind, path, .. } = checked;
        if checked.old.is_some() {
            return checked.new.whole();
        }
        let version = self.version + 1;
        let new = self.finished(path, kind, checked.new.clone(), version);
        new.whole()
    }

    /// Stores a write, unless it is a dry run; pruned of what webhooks have set and the definition does not know.
    pub fn commit(&mut self, call: &Call, checked: Checked) -> Answer {
        let status = match checked.old {
            Some(_) => StatusCode::OK,
            None => StatusCode::CREATED,
        };
        let stored_at = self.stored_path(&checked.path);
        if checked.old.is_none() && self.stored.contains_key(&stored_at) {
            return Err(ErrorResponse::already_exists(&checked.path));
        }
        if checked.is_same() {
            return Ok((status, call.shown(checked.new.whole())));
        }
        if call.is_dry() {
            return Ok((status, call.shown(self.shown(&checked))));
        }
        if checked.ends() {
            // This change is in the answer, and no other client sees it.
            self.remove(&stored_at);
            return Ok((status, call.shown(checked.new.whole())));
        }
        let Checked {
            kind,
            path,
            mut new,
            ..
        } = checked;
        if stored_at == path {
            if checked.is_changed {
                complete(&mut new.object, &kind);
            }
            let object = self.store(&path, &kind, new);
            return Ok((status, call.shown(object)));
        }
        new = self.finished(&path, &kind, new, self.version + 1);
        new.object = self.shown_at(&new.object, &stored_at)?;
        let kind = self.kinds.of(&stored_at).unwrap_or(kind);
        let object = self.store(&stored_at, &kind, new);
        // What the server answers is what it has stored.
        Ok((status, call.shown(self.shown_at(&object, &path)?)))
    }
}

/// Rejects an object that does not match its definition, or a new one that lacks what its built-in kind needs. `old` is what it replaces.
fn validate(
    path: &Path,
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ErrorResponse> {
    let problems = match (&kind.schema, old) {
        (Some(schema), _) => schema::rejected(schema, &kind.rules, object, old),
        (None, None) => lacking(path, object),
        (None, Some(_)) => return Ok(()),
    };
    match &problems[..] {
        [] => Ok(()),
        problems => Err(ErrorResponse::invalid_fields(path, &kind.name, problems)),
    }
}

/// A suffix of five characters for a generated name, like those of the API server.
fn suffix(version: u64) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = version.wrapping_mul(2_654_435_761);
    let mut letter = || {
        let count = LETTERS.len() as u64;
        let at = usize::try_from(rest % count).unwrap_or_default();
        rest /= count;
        char::from(LETTERS[at])
    };
    (0..5).map(|_| letter()).collect()
}
