//! The webhooks of the operator, which the API server asks before it stores an object: within this process, and without TLS.
//!
//! They answer also while the operator restarts: those of the process that started last.

use hyper::StatusCode;
use manager::harness::{Hook, Hooks};
use serde_json::{Value, json};

use super::configured::{Configured, labels_of};
use crate::{
    FakeApi,
    admission::{Admitted, Question},
    server::{Path, Reviewed},
};

/// The body of a rejection, and its code.
pub(super) type Rejection = (StatusCode, Value);

/// Who writes.
pub(super) const OPERATOR: &str = "system:serviceaccount:default:operator";
pub(super) const USER: &str = "somebody";

/// The webhooks of a process, and about what they are asked.
#[derive(Clone)]
pub(super) struct Webhooks {
    hooks: Hooks,
    all: Vec<Webhook>,
}

#[derive(Clone)]
struct Webhook {
    path: String,
    name: String,
    defaults: bool,
    may_fail: bool,
    asked: Asked,
}

/// About what a webhook is asked.
#[derive(Clone)]
enum Asked {
    Configured(Box<Configured>),
    /// Without a configuration: about new and changed objects of this group, version and kind.
    Kind([String; 3]),
}

impl Webhooks {
    /// Those that a manager has registered, with their configurations; and what the author should know of them.
    pub(super) fn new(hooks: Hooks, configured: &[Configured]) -> (Self, Vec<String>) {
        let (mut all, mut notes, registered) = (Vec::new(), Vec::new(), hooks.all());
        for one in configured {
            let path = &one.path;
            if !registered.iter().any(|hook| hook.path == *path) {
                notes.push(format!(
                    "no webhook is registered at {path}, so it is not asked"
                ));
                continue;
            }
            if one.has_conditions {
                notes.push(format!("the match conditions of the webhook at {path} are not evaluated: it is asked in any case"));
            }
            all.push(Webhook {
                path: path.clone(),
                name: one.name.clone(),
                defaults: one.defaults,
                may_fail: one.may_fail,
                asked: Asked::Configured(Box::new(one.clone())),
            });
        }
        for Hook {
            path,
            defaults,
            kind,
        } in registered
        {
            if configured.iter().any(|one| one.path == path) {
                continue;
            }
            match defaults.zip(kind) {
                Some((defaults, kind)) => all.push(Webhook {
                    name: path.clone(),
                    path,
                    defaults,
                    may_fail: false,
                    asked: Asked::Kind(kind),
                }),
                None => notes.push(format!(
                    "the webhook at {path} is not asked: it has no configuration"
                )),
            }
        }
        (Self { hooks, all }, notes)
    }

    /// Whether any is asked about writes at this path, which is one of these in other versions.
    pub(super) fn concern(&self, path: &Path, others: &[Path]) -> bool {
        self.all.iter().any(|one| match &one.asked {
            Asked::Configured(configured) => configured.concerns(path, others),
            Asked::Kind([group, version, _]) => {
                path.subresource.is_empty() && path.group() == group && path.version() == version
            }
        })
    }

    /// What the webhooks that set defaults, or those that validate, make of a write.
    pub(super) async fn ask(
        &self,
        defaults: bool,
        user: &str,
        reviewed: &Reviewed,
        api: &FakeApi,
    ) -> Result<Option<Value>, Rejection> {
        let mut reviewed = reviewed.clone();
        let namespace = labels_of(&reviewed.path.namespace);
        let others = api.change_quietly(|objects| objects.other_versions(&reviewed.path));
        for one in self.all.iter().filter(|one| one.defaults == defaults) {
            let asked_at = match &one.asked {
                Asked::Configured(configured) => {
                    configured.is_asked(&reviewed, &others, &namespace)
                }
                Asked::Kind(kind) => is_of(&reviewed, kind).then_some(&reviewed.path),
            };
            let Some(path) = asked_at.cloned() else {
                continue;
            };
            let shown = shown_at(&reviewed, &path, api)?;
            let review = review(user, &shown);
            let (status, body) = self
                .hooks
                .answer(&one.path, &review)
                .await
                .unwrap_or_default();
            let answer = serde_json::from_str::<Value>(&body)
                .ok()
                .filter(|_| status == StatusCode::OK);
            let Some(mut answer) = answer else {
                if one.may_fail {
                    continue;
                }
                return Err(failed(one, &format!("{status}: {body}")));
            };
            let mut admitted = Admitted::of(&review);
            let answer = answer["response"].take();
            admitted.take(answer.clone());
            if !admitted.allowed {
                return Err(rejected(one, answer));
            }
            if shown.new.as_ref() != Some(&admitted.object) && shown.new.is_some() {
                let object = api.change_quietly(|it| it.shown_at(&admitted.object, &reviewed.path));
                reviewed.new = Some(object.map_err(|error| error.body())?);
            }
        }
        Ok(reviewed.new)
    }
}

/// A write in the version in which a webhook is asked about it.
fn shown_at(reviewed: &Reviewed, path: &Path, api: &FakeApi) -> Result<Reviewed, Rejection> {
    let shown = |object: &Option<Value>| {
        let object = object.as_ref();
        let shown = object.map(|object| api.change_quietly(|it| it.shown_at(object, path)));
        shown.transpose().map_err(|error| error.body())
    };
    Ok(Reviewed {
        operation: reviewed.operation,
        path: path.clone(),
        old: shown(&reviewed.old)?,
        new: shown(&reviewed.new)?,
    })
}

/// Whether an object is created or changed, and is of this group, version and kind.
fn is_of(reviewed: &Reviewed, [group, version, kind]: &[String; 3]) -> bool {
    let path = &reviewed.path;
    let is_kind = reviewed
        .new
        .as_ref()
        .is_some_and(|new| new["kind"] == **kind);
    is_kind && path.subresource.is_empty() && path.group() == group && path.version() == version
}

fn review(user: &str, reviewed: &Reviewed) -> Value {
    let path = &reviewed.path;
    let object = |value: &Option<Value>| value.clone().unwrap_or_default();
    let (new, old) = (object(&reviewed.new), object(&reviewed.old));
    let kind = new["kind"]
        .as_str()
        .or(old["kind"].as_str())
        .unwrap_or_default()
        .to_owned();
    let question = Question {
        operation: reviewed.operation,
        kind: [path.group(), path.version(), &kind],
        plural: &path.plural,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name: &path.name,
        user,
        object: new,
        old_object: old,
    };
    question.review()
}

/// A webhook has rejected a write.
fn rejected(webhook: &Webhook, mut answer: Value) -> Rejection {
    let status = &mut answer["status"];
    let code = status["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok());
    let code = code
        .and_then(|code| StatusCode::from_u16(code).ok())
        .unwrap_or(StatusCode::FORBIDDEN);
    let why = status["message"].as_str().unwrap_or("without explanation");
    let message = format!(
        "admission webhook {:?} denied the request: {why}",
        webhook.name
    );
    let reason = status["reason"].as_str().unwrap_or("Forbidden");
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code.as_u16(), "reason": reason, "message": message, "details": status["details"],
    });
    (code, body)
}

/// A webhook has not answered as it should.
fn failed(webhook: &Webhook, why: &str) -> Rejection {
    let code = StatusCode::INTERNAL_SERVER_ERROR;
    let message = format!("failed calling webhook {:?}: {why}", webhook.name);
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code.as_u16(), "reason": "InternalError", "message": message,
    });
    (code, body)
}
