//! What the user writes passes the webhooks of the operator, and the rules in CEL.

use futures_util::FutureExt as _;
use serde_json::Value;

use super::{network::Network, trace::Happened, who::Who};
use crate::server::{Decided, Objects, Path, USER};

impl Network {
    /// What webhooks make of what the user writes, if the definition accepts it.
    pub(super) fn admit_user(&self, path: &Path, object: Option<Value>) -> Decided {
        let object = self.ask_about_user(path, object)?;
        let Some(new) = &object else {
            return Ok(object);
        };
        let rejects = |objects: &mut Objects| objects.rejects(path, new);
        match self.api.change_quietly(rejects) {
            Some(message) => self.reject_user(path, &message),
            None => Ok(object),
        }
    }

    fn ask_about_user(&self, path: &Path, object: Option<Value>) -> Decided {
        let Some(webhooks) = self.api.webhooks(path) else {
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
            let (api, before) = (&self.api, reviewed.new.clone());
            let mut warnings = Vec::new();
            let set_defaults = webhooks.set_defaults(USER, &mut reviewed, api, &mut warnings);
            set_defaults.await?;
            let validate = webhooks.validate(USER, &reviewed, api, &mut warnings);
            validate.await?;
            Ok(if before == reviewed.new {
                given.clone()
            } else {
                reviewed.new
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
        self.record(&mut state, Happened::Action(Who::ApiServer, what));
        Err(())
    }
}
