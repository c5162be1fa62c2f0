//! Prepares what is created, replaced, patched and applied.
//!
//! Source: `k8s.io/apiserver/pkg/registry/rest`, `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.

use apiserver_rules::merge;
use hyper::Method;
use serde_json::{Value, json};

use super::{
    Call,
    answer::ErrorResponse,
    check::check,
    kinds::Kind,
    owners::{Apply, Failure, Ignored, Manager, Owners},
    patch::{json_patch, tidy},
    path::Path,
    shape::Shape,
    store::{Objects, Stored},
    written::{fresh, nothing, split},
};

/// A write that is prepared: what webhooks see that set defaults, and may change.
#[derive(Clone, Debug)]
pub struct Pending {
    pub(super) kind: Kind,
    /// Of the object, or of its subresource, in the version of the request. The name may be yet to be generated.
    pub(super) path: Path,
    /// What it replaces, in that version.
    pub(super) old: Option<Stored>,
    /// The whole object, with what the request must not write.
    pub(super) object: Value,
    pub(super) owners: Owners,
    /// Whether webhooks have changed the object.
    pub(super) is_changed: bool,
}

impl Pending {
    /// The object as the client has written it, which need not be valid.
    pub(super) fn shown(&self) -> Value {
        let (object, owners) = (self.object.clone(), self.owners.clone());
        let mut object = Stored { object, owners }.whole();
        if !self.path.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(self.path.namespace);
        }
        object
    }

    /// Takes the object as webhooks have left it, once more with defaults. No manager owns what they have set.
    pub fn change(&mut self, mut object: Value) {
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        self.object = tidy(object, &self.kind);
        if let Some(schema) = &self.kind.schema {
            apiserver_rules::set_defaults(&mut self.object, schema);
        }
        self.is_changed = true;
    }
}

impl Call {
    /// Whether it creates, replaces, patches or applies an object.
    pub fn is_write(&self) -> bool {
        let one = !self.path.name.is_empty();
        match self.method {
            Method::POST => !one,
            Method::PUT | Method::PATCH => one,
            _ => false,
        }
    }
}

impl Objects {
    /// Prepares a write.
    pub fn prepare(&self, call: &Call) -> Result<Pending, ErrorResponse> {
        let kind = self.known(call)?;
        let old = self.live(&call.path.object())?;
        match call.method {
            Method::POST => self.creation(call, kind),
            Method::PUT => self.replacement(call, kind, old),
            _ if call.media_type.starts_with("application/apply-patch") => {
                self.application(call, kind, old)
            }
            _ => self.patch(call, kind, old),
        }
    }

    /// The stored object in the version of this path.
    fn live(&self, path: &Path) -> Result<Option<Stored>, ErrorResponse> {
        let stored = self.stored.get(&self.stored_path(path));
        let shown = stored.map(|stored| {
            let object = self.shown_at(&stored.object, path)?;
            let owners = stored.owners.clone();
            Ok(Stored { object, owners })
        });
        shown.transpose()
    }

    fn creation(&self, call: &Call, kind: Kind) -> Result<Pending, ErrorResponse> {
        let path = call.path.clone();
        check(&path, &kind, &call.body)?;
        let version = call.body["metadata"]["resourceVersion"].as_str();
        if version.is_some_and(|version| !version.is_empty()) {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(ErrorResponse::internal(&path, why));
        }
        let mut object = fresh(&call.body, &kind, &path);
        complete(&mut object, &kind);
        let mut owners = Owners::default();
        let before = nothing(&kind, &object);
        let (shape, manager) = (Shape::of(&kind), call.manager(false));
        let ignored = ignored(&kind, "");
        owners.update(&before, &object, &shape, &manager, ignored, &self.now());
        Ok(Pending {
            kind,
            path,
            old: None,
            object,
            owners,
            is_changed: false,
        })
    }

    /// Replaces an object, or its status.
    fn replacement(
        &self,
        call: &Call,
        kind: Kind,
        old: Option<Stored>,
    ) -> Result<Pending, ErrorResponse> {
        check(&call.path, &kind, &call.body)?;
        let path = call.path.object();
        let Some(stored) = old else {
            if kind.creates && call.path.subresource.is_empty() {
                return self.creation(call, kind);
            }
            return Err(ErrorResponse::not_found(&path));
        };
        let version = call.body["metadata"]["resourceVersion"].as_str();
        if kind.versioned && version.is_none_or(str::is_empty) {
            let why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
            return Err(ErrorResponse::invalid(&path, &path.plural, why));
        }
        self.update(call, kind, stored, call.body.clone())
    }

    /// Patches an object, or its status.
    fn patch(
        &self,
        call: &Call,
        kind: Kind,
        old: Option<Stored>,
    ) -> Result<Pending, ErrorResponse> {
        let path = call.path.object();
        if call.query.contains_key("force") {
            let why = "force: Forbidden: may not be specified for non-apply patch";
            return Err(ErrorResponse::invalid_options(&path, "PatchOptions", why));
        }
        let stored = old.ok_or_else(|| ErrorResponse::not_found(&path))?;
        let mut changed = stored.whole();
        match call.media_type.as_str() {
            "application/merge-patch+json" => merge(&mut changed, call.body.clone()),
            "application/json-patch+json" => {
                let done = json_patch(&mut changed, &call.body);
                done.map_err(|why| ErrorResponse::invalid_patch(&path, &why))?;
            }
            "application/strategic-merge-patch+json" if kind.built_in => {
                return Err(ErrorResponse::beyond(
                    &path,
                    "strategic merge patches; use server-side apply or a merge patch",
                ));
            }
            other => return Err(ErrorResponse::media_type(&path, other)),
        }
        check(&call.path, &kind, &changed)?;
        self.update(call, kind, stored, changed)
    }

    /// Server-side apply.
    fn application(
        &self,
        call: &Call,
        kind: Kind,
        old: Option<Stored>,
    ) -> Result<Pending, ErrorResponse> {
        let path = call.path.object();
        let of = |name: &str| call.query.get(name).map_or("", String::as_str);
        if of("fieldManager").is_empty() {
            let why = "fieldManager: Required value: is required for apply patch";
            return Err(ErrorResponse::invalid_options(&path, "PatchOptions", why));
        }
        check(&call.path, &kind, &call.body)?;
        let meta = &call.body["metadata"];
        if !meta["managedFields"].is_null() {
            return Err(ErrorResponse::bad_request(
                &path,
                "metadata.managedFields must be nil",
            ));
        }
        let schema = kind.schema.as_ref();
        if let Some(field) =
            schema.and_then(|schema| apiserver_rules::undeclared(&call.body, schema))
        {
            let why = format!(
                "failed to create typed patch object: {field}: field not declared in schema"
            );
            return Err(ErrorResponse::internal(&path, &why));
        }
        if old.is_none() && !call.path.subresource.is_empty() {
            return Err(ErrorResponse::not_found(&path));
        }
        let (before, mut owners) = match &old {
            Some(live) => (live.object.clone(), live.owners.clone()),
            None => (json!({}), Owners::default()),
        };
        let now = self.now();
        if old.is_some() && owners.is_empty() {
            let before_apply = Manager {
                name: "before-first-apply".to_owned(),
                ..call.manager(false)
            };
            owners.update(
                &json!({}),
                &before,
                &Shape::of(&kind),
                &before_apply,
                &[],
                &now,
            );
        }
        let request = Apply {
            manager: call.manager(true),
            force: of("force") == "true",
            ignored: ignored(&kind, &call.path.subresource),
            time: &now,
        };
        let applied = owners.apply(&before, &call.body, &Shape::of(&kind), &request);
        let mut applied = applied.map_err(|failure| match failure {
            Failure::Conflicts(causes) => ErrorResponse::apply_conflict(&path, &causes),
            Failure::Duplicate(why) => ErrorResponse::internal(&path, &why),
        })?;
        if let Some(schema) = &kind.schema {
            apiserver_rules::complete_applied(&mut applied, schema);
        }
        if old.is_none() {
            if meta["uid"].is_string() {
                let why = "uid mismatch: the provided object specified a uid, and no existing object was found";
                return Err(ErrorResponse::conflict(&path, why));
            }
            applied = fresh(&applied, &kind, &path);
        }
        Ok(Pending {
            kind,
            path: call.path.clone(),
            old,
            object: applied,
            owners,
            is_changed: false,
        })
    }

    /// Changes what is stored, and records the field manager.
    fn update(
        &self,
        call: &Call,
        kind: Kind,
        stored: Stored,
        mut changed: Value,
    ) -> Result<Pending, ErrorResponse> {
        let path = &call.path;
        let given = changed["metadata"]
            .as_object_mut()
            .and_then(|meta| meta.remove("managedFields"));
        // A missing list changes nothing.
        let given = given.as_ref().and_then(Value::as_array);
        let mut owners = match given.filter(|given| !given.is_empty()) {
            Some(given) => Owners::of_entries(given).ok_or_else(|| {
                ErrorResponse::beyond(path, "set `metadata.managedFields` in another format")
            })?,
            None => stored.owners.clone(),
        };
        let mut changed = tidy(changed, &kind);
        complete(&mut changed, &kind);
        let object = split(path, &kind, &stored.object, changed.clone());
        let (manager, now) = (call.manager(false), self.now());
        let ignored = ignored(&kind, &path.subresource);
        // The fields of an object that has no managers are not managed before it is applied.
        if !owners.is_empty() {
            let shape = Shape::of(&kind);
            owners.update(&stored.object, &object, &shape, &manager, ignored, &now);
        }
        Ok(Pending {
            path: path.clone(),
            kind,
            old: Some(stored),
            object: changed,
            owners,
            is_changed: false,
        })
    }
}

/// Prunes the fields that the definition does not know, and sets its defaults.
pub(super) fn complete(object: &mut Value, kind: &Kind) {
    if let Some(schema) = &kind.schema {
        apiserver_rules::complete(object, schema);
    }
}

/// The fields that a request to this subresource does not write, and so does not own.
fn ignored(kind: &Kind, subresource: &str) -> Ignored {
    match subresource {
        "status" if kind.built_in => &[&["spec"], &["metadata", "labels"]],
        "status" => &[&["spec"], &["metadata"]],
        _ if kind.status => &[&["status"]],
        _ => &[],
    }
}

impl Call {
    /// The manager that owns the fields of this request: its field manager, or its user agent.
    fn manager(&self, applies: bool) -> Manager {
        let named = self
            .query
            .get("fieldManager")
            .filter(|name| !name.is_empty());
        let program = self.agent.split('/').next().unwrap_or_default();
        Manager {
            applies,
            name: named.map_or(program, String::as_str).to_owned(),
            api_version: self.path.api_version().to_owned(),
            subresource: self.path.subresource.clone(),
        }
    }
}
