//! Where the webhooks of the operator are asked: at what it writes, and at what the user writes. What rules in CEL reject, the user
//! cannot write either.

use futures_util::FutureExt as _;
use hyper::{Method, Response};
use serde_json::Value;

use super::{
    trace::Happened,
    webhooks::{OPERATOR, Rejection, USER, Webhooks},
    wire::Wire,
};
use crate::{
    content::{Content, response},
    gate::Decided,
    server::{Call, Objects, Path},
};

impl Wire {
    /// The webhooks of the process that started last, if they are asked about writes at this path.
    fn webhooks(&self, path: &Path) -> Option<Webhooks> {
        let webhooks = self.lock().webhooks.clone()?;
        let others = |objects: &mut Objects| objects.other_versions(path);
        let others = self.0.api.change_quietly(others);
        webhooks.concern(path, &others).then_some(webhooks)
    }

    /// The answer to a write of the operator.
    pub(super) async fn answer(&self, call: &Call) -> Response<Content> {
        let is_write = call.method != Method::GET;
        let one = call.method != Method::DELETE || !call.path.name.is_empty();
        let Some(webhooks) = self.webhooks(&call.path).filter(|_| is_write && one) else {
            return self.0.api.answer(call);
        };
        match self.admitted(call, &webhooks).await {
            Ok(call) => self.0.api.answer(&call),
            Err(rejection) => response(rejection),
        }
    }

    /// A request as webhooks have left it.
    async fn admitted(&self, call: &Call, webhooks: &Webhooks) -> Result<Call, Rejection> {
        let api = &self.0.api;
        let review = |call: &Call| {
            let reviewed = api.change_quietly(|objects| objects.review(call));
            reviewed.map_err(|error| error.body())
        };
        loop {
            let first = review(&call.unasked())?;
            let object = webhooks.ask(true, OPERATOR, &first, api).await?;
            let changed = object.filter(|object| Some(object) != first.new.as_ref());
            let call = call.with_object(changed);
            let second = review(&call)?;
            webhooks.ask(false, OPERATOR, &second, api).await?;
            // Meanwhile, someone may have written: the API server begins again.
            let now = api.change_quietly(|objects| objects.whole(&first.path));
            if now == first.old {
                return Ok(call);
            }
        }
    }

    /// What webhooks make of what the user writes, if the definition accepts it.
    pub(super) fn admit_user(&self, path: &Path, object: Option<Value>) -> Decided {
        let object = self.ask_about_user(path, object)?;
        let Some(new) = &object else {
            return Ok(object);
        };
        let rejects = |objects: &mut Objects| objects.rejects(path, new);
        match self.0.api.change_quietly(rejects) {
            Some(message) => self.reject_user(path, &message),
            None => Ok(object),
        }
    }

    fn ask_about_user(&self, path: &Path, object: Option<Value>) -> Decided {
        let Some(webhooks) = self.webhooks(path) else {
            return Ok(object);
        };
        let given = object.clone();
        let reviewed = self
            .0
            .api
            .change_quietly(|objects| objects.review_put(path, object));
        let Some(mut reviewed) = reviewed else {
            return Ok(given);
        };
        let asked = async {
            let new = webhooks.ask(true, USER, &reviewed, &self.0.api).await?;
            let is_changed = new != reviewed.new;
            reviewed.new = new;
            webhooks.ask(false, USER, &reviewed, &self.0.api).await?;
            Ok(if is_changed {
                reviewed.new.clone()
            } else {
                given.clone()
            })
        };
        match asked.now_or_never() {
            Some(Ok(object)) => Ok(object),
            Some(Err((_, body))) => {
                let message = body["message"].as_str().unwrap_or_default();
                self.reject_user(path, message)
            }
            None => {
                let what = format!(
                    "a webhook for {path} waits for something, and so is not asked about what the user writes"
                );
                self.lock().notes.insert(what);
                Ok(given)
            }
        }
    }

    fn reject_user(&self, path: &Path, message: &str) -> Decided {
        let what = format!("what the user writes is rejected: {path}: {message}");
        let mut state = self.lock();
        state.rejected.push(what.clone());
        self.record(&mut state, Happened::Action(what));
        Err(())
    }
}
