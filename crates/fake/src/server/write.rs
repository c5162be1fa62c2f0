//! Creates, replaces, patches and applies.
//!
//! Source: `k8s.io/apiserver/pkg/registry/rest`, `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Call,
    answer::{Answer, ErrorResponse},
    check::{check, check_change},
    delete::held,
    kinds::Kind,
    owners::{Apply, Failure, Ignored, Manager, Owners},
    patch::{json_patch, merge, tidy},
    path::Path,
    schema,
    shape::Shape,
    store::{Objects, Stored},
    written::{bumps, fresh, nothing, split},
};

impl Objects {
    /// Creates an object.
    pub(super) fn create(&mut self, call: &Call, kind: &Kind) -> Answer {
        let mut path = call.path.clone();
        check(&path, kind, &call.body)?;
        let object = call.admission.changed(kind);
        let meta = &object.as_ref().unwrap_or(&call.body)["metadata"];
        if path.name.is_empty() {
            let given = meta["name"].as_str().filter(|name| !name.is_empty());
            let prefix = meta["generateName"]
                .as_str()
                .filter(|name| !name.is_empty());
            let made = prefix.map(|prefix| format!("{prefix}{}", suffix(self.version)));
            let name = given.map(str::to_owned).or(made);
            path.name = name.ok_or_else(|| {
                ErrorResponse::invalid(
                    &path,
                    &kind.name,
                    "metadata.name: Required value: name or generateName is required",
                )
            })?;
        }
        if meta["resourceVersion"]
            .as_str()
            .is_some_and(|version| !version.is_empty())
        {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(ErrorResponse::internal(&path, why));
        }
        if self.stored.contains_key(&path) {
            return Err(ErrorResponse::already_exists(&path));
        }
        let mut object = fresh(&call.body, kind, &path);
        complete(&mut object, kind);
        let mut owners = Owners::default();
        let (manager, now) = (call.manager(false), self.now());
        owners.update(
            &nothing(kind, &object),
            &object,
            &Shape::of(kind),
            &manager,
            ignored(kind, ""),
            &now,
        );
        self.add(call, kind, &path, Stored { object, owners })
    }

    /// Stores a new object as webhooks have left it.
    fn add(&mut self, call: &Call, kind: &Kind, path: &Path, mut new: Stored) -> Answer {
        if call.admission.is_first() {
            return Ok((
                StatusCode::CREATED,
                unreviewed(call, new.object, new.owners),
            ));
        }
        let reviewed = call.admission.changed(kind);
        if let Some(object) = &reviewed {
            new.object = fresh(object, kind, path);
        }
        validate(path, kind, &new.object, None)?;
        if reviewed.is_some() {
            self.prune(call, kind, &mut new.object);
        }
        let object = self.store(path, kind, new);
        Ok((StatusCode::CREATED, call.shown(object)))
    }

    /// Replaces an object, or its status.
    pub(super) fn replace(&mut self, call: &Call, kind: &Kind) -> Answer {
        check(&call.path, kind, &call.body)?;
        let path = call.path.object();
        let Some(stored) = self.stored.get(&path).cloned() else {
            if kind.creates && call.path.subresource.is_empty() {
                return self.create(call, kind);
            }
            return Err(ErrorResponse::not_found(&path));
        };
        let version = call.body["metadata"]["resourceVersion"].as_str();
        if kind.versioned && version.is_none_or(str::is_empty) {
            let why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
            return Err(ErrorResponse::invalid(&path, &path.plural, why));
        }
        self.update(call, kind, &stored, call.body.clone())
    }

    /// Patches an object, or its status.
    pub(super) fn patch(&mut self, call: &Call, kind: &Kind) -> Answer {
        let path = call.path.object();
        if call.media_type.starts_with("application/apply-patch") {
            return self.apply(call, kind);
        }
        if call.query.contains_key("force") {
            let why = "force: Forbidden: may not be specified for non-apply patch";
            return Err(ErrorResponse::invalid_options(&path, "PatchOptions", why));
        }
        let missing = || ErrorResponse::not_found(&path);
        let stored = self.stored.get(&path).cloned().ok_or_else(missing)?;
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
        check(&call.path, kind, &changed)?;
        self.update(call, kind, &stored, changed)
    }

    /// Server-side apply.
    fn apply(&mut self, call: &Call, kind: &Kind) -> Answer {
        let path = call.path.object();
        let of = |name: &str| call.query.get(name).map_or("", String::as_str);
        if of("fieldManager").is_empty() {
            let why = "fieldManager: Required value: is required for apply patch";
            return Err(ErrorResponse::invalid_options(&path, "PatchOptions", why));
        }
        check(&call.path, kind, &call.body)?;
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
        let live = self.stored.get(&path).cloned();
        if live.is_none() && !call.path.subresource.is_empty() {
            return Err(ErrorResponse::not_found(&path));
        }
        let (before, mut owners) = match &live {
            Some(live) => (live.object.clone(), live.owners.clone()),
            None => (json!({}), Owners::default()),
        };
        let now = self.now();
        if live.is_some() && owners.is_empty() {
            let before_apply = Manager {
                name: "before-first-apply".to_owned(),
                ..call.manager(false)
            };
            owners.update(
                &json!({}),
                &before,
                &Shape::of(kind),
                &before_apply,
                &[],
                &now,
            );
        }
        let request = Apply {
            manager: call.manager(true),
            force: of("force") == "true",
            ignored: ignored(kind, &call.path.subresource),
            time: &now,
        };
        let applied = owners.apply(&before, &call.body, &Shape::of(kind), &request);
        let mut applied = applied.map_err(|failure| match failure {
            Failure::Conflicts(causes) => ErrorResponse::apply_conflict(&path, &causes),
            Failure::Duplicate(why) => ErrorResponse::internal(&path, &why),
        })?;
        if let Some(schema) = &kind.schema {
            apiserver_rules::complete_applied(&mut applied, schema);
        }
        match live {
            Some(live) => self.change(call, kind, &live, &applied, owners),
            None if meta["uid"].is_string() => Err(ErrorResponse::conflict(
                &path,
                "uid mismatch: the provided object specified a uid, and no existing object was found",
            )),
            None => {
                let object = fresh(&applied, kind, &path);
                self.add(call, kind, &path, Stored { object, owners })
            }
        }
    }

    /// Stores `changed` in place of `stored`, and records the field manager.
    fn update(&mut self, call: &Call, kind: &Kind, stored: &Stored, mut changed: Value) -> Answer {
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
        let mut changed = tidy(changed, kind);
        complete(&mut changed, kind);
        let object = split(path, kind, &stored.object, changed.clone());
        let (manager, now) = (call.manager(false), self.now());
        let ignored = ignored(kind, &path.subresource);
        // The fields of an object that has no managers are not managed before it is applied.
        if !owners.is_empty() {
            let shape = Shape::of(kind);
            owners.update(&stored.object, &object, &shape, &manager, ignored, &now);
        }
        self.change(call, kind, stored, &changed, owners)
    }

    /// Stores the result of a request, if it differs from the stored object.
    fn change(
        &mut self,
        call: &Call,
        kind: &Kind,
        stored: &Stored,
        changed: &Value,
        owners: Owners,
    ) -> Answer {
        let path = call.path.object();
        if call.admission.is_first() {
            return Ok((StatusCode::OK, unreviewed(call, changed.clone(), owners)));
        }
        let reviewed = call.admission.changed(kind);
        let changed = reviewed.as_ref().unwrap_or(changed);
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
        let mut new = Stored { object, owners };
        if new == *stored {
            return Ok((StatusCode::OK, call.shown(stored.whole())));
        }
        if new.object["metadata"]["deletionTimestamp"].is_string() && !held(&new.object) {
            // This change is in the answer, and no other client sees it.
            self.remove(&path);
            return Ok((StatusCode::OK, call.shown(new.whole())));
        }
        if reviewed.is_some() {
            self.prune(call, kind, &mut new.object);
        }
        let object = self.store(&path, kind, new);
        Ok((StatusCode::OK, call.shown(object)))
    }
}

impl Objects {
    /// Prunes what webhooks have added that the definition does not know, once they all have seen it. What is stored in another
    /// version is pruned there.
    fn prune(&self, call: &Call, kind: &Kind, object: &mut Value) {
        if call.admission.is_done() && self.converted_path(&call.path).is_none() {
            complete(object, kind);
        }
    }
}

/// Prunes the fields that the definition does not know, and sets its defaults.
fn complete(object: &mut Value, kind: &Kind) {
    if let Some(schema) = &kind.schema {
        apiserver_rules::complete(object, schema);
    }
}

/// What webhooks see that set defaults: what the client has written.
fn unreviewed(call: &Call, object: Value, owners: Owners) -> Value {
    let mut object = Stored { object, owners }.whole();
    if !call.path.namespace.is_empty() {
        object["metadata"]["namespace"] = json!(call.path.namespace);
    }
    object
}

/// Rejects an object that does not match its definition. `old` is what it replaces.
fn validate(
    path: &Path,
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ErrorResponse> {
    let Some(schema) = &kind.schema else {
        return Ok(());
    };
    match &schema::rejected(schema, &kind.rules, object, old)[..] {
        [] => Ok(()),
        problems => Err(ErrorResponse::invalid_fields(path, &kind.name, problems)),
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
