//! The objects that the operator has made.

use serde_json::Value;

use super::{
    environment::Environment,
    history::Child,
    ownership::{self, REPLICAS},
};
use crate::server::{Objects, Path};

/// What runs, and ends.
const RUN: [&str; 2] = ["jobs.batch", "pods"];

/// What has a number of replicas, which an autoscaler may set.
const SCALED: [&str; 3] = ["deployments.apps", "replicasets.apps", "statefulsets.apps"];

impl Environment {
    /// The objects that have an owner, and neither the user has created nor were there `before`.
    pub(super) fn children(&self, before: &[String]) -> Vec<Child> {
        let objects = self.scenario.objects.iter();
        let own: Vec<_> = objects.map(|(path, _)| path.url()).collect();
        let mut urls = self.urls();
        urls.retain(|url| !before.contains(url) && !own.contains(url));
        let child = |url: String| {
            let path = Path::parse(&url)?;
            self.api
                .change_quietly(|objects| child(objects, &path, url))
        };
        urls.into_iter().filter_map(child).collect()
    }
}

fn child(objects: &Objects, path: &Path, url: String) -> Option<Child> {
    let object = objects.get(path)?;
    object["metadata"]["ownerReferences"].as_array()?;
    let kind = path.resource();
    let (owned, is_applied) = objects.owned(path);
    Some(Child {
        url,
        has_ended: RUN.contains(&&*kind) && has_ended(&object["status"]),
        is_applied,
        is_scalable: SCALED.contains(&&*kind) && !owned.iter().any(|it| it == REPLICAS),
        owned: ownership::changeable(&kind, object, &owned),
        kind,
    })
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
