//! The webhooks of an operator, as configurations say: in which order they are asked, about what, and what comes of their answers.
//!
//! Source: `k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go`, `errors/statuserror.go` beside them.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{
    configured::{Configured, Task},
    hooks::{Hook, Hooks},
};
use crate::{
    ApiServer,
    review::{Admitted, Question},
    server::{ErrorResponse, Path, Reviewed},
};

/// The body of a rejection, and its code.
pub type Rejection = (StatusCode, Value);

/// Who writes.
pub const OPERATOR: &str = "system:serviceaccount:default:operator";
pub const USER: &str = "somebody";

/// The webhooks of a process, and about what they are asked.
#[derive(Clone)]
pub struct Webhooks {
    hooks: Hooks,
    all: Vec<Webhook>,
}

#[derive(Clone)]
struct Webhook {
    path: String,
    name: String,
    task: Task,
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
    #[must_use]
    pub fn new(hooks: Hooks, configured: &[Configured]) -> (Self, Vec<String>) {
        let (mut all, mut notes, registered) = (Vec::new(), Vec::new(), hooks.all.clone());
        for one in configured {
            let path = &one.path;
            if !registered.iter().any(|hook| hook.path == *path) {
                notes.push(format!(
                    "no webhook is registered at {path}, so it is not asked"
                ));
                continue;
            }
            all.push(Webhook {
                path: path.clone(),
                name: one.name.clone(),
                task: one.task,
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
                    task: if defaults {
                        Task::Default
                    } else {
                        Task::Validate
                    },
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

    /// Lets those that set defaults change a write, and collects their warnings.
    ///
    /// Those that want to be are asked again, once, if one that comes later has changed the object.
    pub async fn set_defaults(
        &self,
        user: &str,
        reviewed: &mut Reviewed,
        api: &ApiServer,
        warnings: &mut Vec<String>,
    ) -> Result<(), Rejection> {
        let (mut asked, mut again) = (Vec::new(), Vec::new());
        let defaulters = || self.all.iter().filter(|one| one.task != Task::Validate);
        for one in defaulters() {
            let changed = self.ask(one, user, reviewed, api, warnings).await?;
            if let Some(object) = changed {
                reviewed.new = Some(object);
                again.append(&mut asked);
            }
            if one.task == Task::DefaultAgain {
                asked.push(&one.name);
            }
        }
        for one in defaulters().filter(|one| again.contains(&&one.name)) {
            let changed = self.ask(one, user, reviewed, api, warnings).await?;
            if let Some(object) = changed {
                reviewed.new = Some(object);
            }
        }
        Ok(())
    }

    /// Asks those that validate about a write, all of them, whatever the others say; collects their warnings.
    pub async fn validate(
        &self,
        user: &str,
        reviewed: &Reviewed,
        api: &ApiServer,
        warnings: &mut Vec<String>,
    ) -> Result<(), Rejection> {
        let mut verdict = Ok(());
        for one in self.all.iter().filter(|one| one.task == Task::Validate) {
            let answer = self.ask(one, user, reviewed, api, warnings).await;
            verdict = verdict.and(answer.map(drop));
        }
        verdict
    }

    /// Asks a webhook about a write, if it is concerned; returns the object if it has changed it.
    async fn ask(
        &self,
        one: &Webhook,
        user: &str,
        reviewed: &Reviewed,
        api: &ApiServer,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Value>, Rejection> {
        let others = api.change_quietly(|objects| objects.other_versions(&reviewed.path));
        let asked_at = match &one.asked {
            Asked::Configured(configured) => {
                let namespace = api.labels_of_namespace(&reviewed.path.namespace);
                configured.is_asked(reviewed, &others, &namespace)
            }
            Asked::Kind(kind) => is_of(reviewed, kind).then_some(&reviewed.path),
        };
        let Some(path) = asked_at else {
            return Ok(None);
        };
        let shown = shown_at(reviewed, path, api)?;
        let review = review(user, &shown, reviewed.path.version());
        if !is_matched(one, reviewed, &review)? {
            return Ok(None);
        }
        let Some(answer) = self.call(one, &review).await? else {
            return Ok(None);
        };
        let mut admitted = Admitted::of(&review);
        let taken = admitted.take(answer.clone());
        warnings.append(&mut admitted.warnings);
        if !admitted.allowed {
            return Err(rejected(one, answer));
        }
        taken.map_err(|why| broken(&format!("admission webhook {:?} {why}", one.name)))?;
        let is_changed = shown.new.is_some_and(|new| new != admitted.object);
        let changed = is_changed.then(|| {
            let object = api.change_quietly(|objects| {
                objects.with_defaults(&mut admitted.object, path);
                objects.reviewed_at(&admitted.object, &reviewed.path)
            });
            object.map_err(|error| error.body())
        });
        changed.transpose()
    }

    /// The response of a webhook; `None` if it may fail and does.
    async fn call(&self, one: &Webhook, review: &Value) -> Result<Option<Value>, Rejection> {
        let answer = (self.hooks.ask)(one.path.clone(), review.clone()).await;
        let (status, body) = answer.unwrap_or_default();
        let answer = serde_json::from_str::<Value>(&body).ok();
        let answer = answer.filter(|_| status == StatusCode::OK);
        let why = match answer.map(|mut answer| answer["response"].take()) {
            Some(response) if one.task != Task::Validate || response.get("patch").is_none() => {
                return Ok(Some(response));
            }
            Some(_) => "received invalid webhook response: validating webhook may not return response.patch".to_owned(),
            None => format!("{status}: {body}"),
        };
        if one.may_fail {
            return Ok(None);
        }
        Err(broken(&format!(
            "failed calling webhook {:?}: {why}",
            one.name
        )))
    }
}

/// Whether the match conditions of a webhook hold.
fn is_matched(one: &Webhook, reviewed: &Reviewed, review: &Value) -> Result<bool, Rejection> {
    let Asked::Configured(configured) = &one.asked else {
        return Ok(true);
    };
    match configured.conditions.hold(review) {
        Ok(hold) => Ok(hold),
        Err(_) if one.may_fail => Ok(false),
        Err(why) => Err(ErrorResponse::forbidden(&reviewed.path, &why).body()),
    }
}

/// A write in the version in which a webhook is asked about it.
fn shown_at(reviewed: &Reviewed, path: &Path, api: &ApiServer) -> Result<Reviewed, Rejection> {
    let shown = |object: &Option<Value>| {
        let object = object.as_ref();
        let shown = object.map(|object| api.change_quietly(|it| it.reviewed_at(object, path)));
        shown.transpose().map_err(|error| error.body())
    };
    Ok(Reviewed {
        operation: reviewed.operation,
        path: path.clone(),
        options: reviewed.options.clone(),
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

/// The review of a write that was requested in this version.
fn review(user: &str, reviewed: &Reviewed, requested: &str) -> Value {
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
        requested,
        options: reviewed.options.clone(),
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
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    let is_error = |code: &StatusCode| *code >= StatusCode::BAD_REQUEST;
    let code = code.filter(is_error).unwrap_or(StatusCode::BAD_REQUEST);
    let text = |field: &str| status[field].as_str().filter(|text| !text.is_empty());
    let denied = format!("admission webhook {:?} denied the request", webhook.name);
    let message = match text("message").or(text("reason")) {
        Some(why) => format!("{denied}: {why}"),
        None => format!("{denied} without explanation"),
    };
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code.as_u16(), "reason": text("reason"), "message": message, "details": status["details"],
    });
    (code, body)
}

/// A webhook has not answered as it should.
fn broken(why: &str) -> Rejection {
    let code = StatusCode::INTERNAL_SERVER_ERROR;
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code.as_u16(), "reason": "InternalError", "message": format!("Internal error occurred: {why}"),
        "details": {"causes": [{"message": why}]},
    });
    (code, body)
}
