//! The objects that the operator has made.

use serde_json::Value;

use super::environment::Environment;
use crate::server::{Objects, Path};

/// What runs, and ends.
const RUN: [&str; 2] = ["jobs.batch", "pods"];

impl Environment {
    /// Which of these objects are Jobs or Pods that have ended.
    pub(super) fn ended(&self, urls: &[String]) -> Vec<String> {
        let is_ended = |url: &&String| {
            let path = Path::parse(url).filter(|it| RUN.contains(&&*it.resource()));
            let found = path.and_then(|path| self.api.stored(&path));
            found.is_some_and(|it| has_ended(&it["status"]))
        };
        urls.iter().filter(is_ended).cloned().collect()
    }

    /// The URLs of the objects that have an owner, and neither the user has created nor were there `before`.
    pub(super) fn children(&self, before: &[String]) -> Vec<String> {
        let objects = self.scenario.objects.iter();
        let own: Vec<_> = objects.map(|(path, _)| path.url()).collect();
        let is_owned = |url: &String| {
            let path = Path::parse(url)?;
            let owners = |objects: &mut Objects| {
                let object = objects.get(&path)?;
                object["metadata"]["ownerReferences"].as_array().cloned()
            };
            self.api.change_quietly(owners)
        };
        let mut urls = self.urls();
        urls.retain(|url| !before.contains(url) && !own.contains(url) && is_owned(url).is_some());
        urls
    }
}

/// Whether a Job or a Pod with this status has ended.
fn has_ended(status: &Value) -> bool {
    let is_true = |it: &Value| it["status"] == "True";
    let is_end = |it: &Value| it["type"] == "Complete" || it["type"] == "Failed";
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    status["phase"] == "Succeeded"
        || status["phase"] == "Failed"
        || conditions.any(|it| is_end(it) && is_true(it))
}
