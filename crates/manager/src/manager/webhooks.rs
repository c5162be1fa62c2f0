//! Registers webhooks with a manager.

use std::fmt::Display;

use crate::{
    cache::object::Object,
    manager::Manager,
    webhook::{
        AdmissionRequest, Allowed, CONVERT, Defaulter, GroupVersionKind, Registered, Rejection,
        Task, Validator, Webhook, admission, convert, raw,
    },
};

impl Manager {
    /// Serves a defaulter of `K` at `/mutate-<group>-<version>-<kind>`, with `-` for `.`, the path in its marker.
    pub fn defaulter<K: Object>(&mut self, defaulter: impl Defaulter<K>) {
        self.defaulter_at::<K>(&path::<K>("mutate"), defaulter);
    }

    /// Serves a defaulter of `K` at a custom path.
    pub fn defaulter_at<K: Object>(&mut self, path: &str, defaulter: impl Defaulter<K>) {
        let kind = Some(GroupVersionKind::of::<K>());
        self.webhook_at(
            path,
            Task::Default,
            kind,
            admission::defaulting(defaulter, (self.reader(), self.timer.clone())),
        );
    }

    /// Serves a validator of `K` at `/validate-<group>-<version>-<kind>`, with `-` for `.`, the path in its marker.
    pub fn validator<K: Object>(&mut self, validator: impl Validator<K>) {
        self.validator_at::<K>(&path::<K>("validate"), validator);
    }

    /// Serves a validator of `K` at a custom path, so that a kind can have several. Each needs a marker with its path
    /// and a name of its own.
    ///
    /// A `K` may be what a subresource contains: the `Scale` of `k8s_openapi::api::autoscaling::v1` for a marker with
    /// `resources=deployments/scale`.
    pub fn validator_at<K: Object>(&mut self, path: &str, validator: impl Validator<K>) {
        let kind = Some(GroupVersionKind::of::<K>());
        self.webhook_at(
            path,
            Task::Validate,
            kind,
            admission::validating(validator, (self.reader(), self.timer.clone())),
        );
    }

    /// Serves a webhook at this path that gets admission requests as they are: for subresources whose objects have no
    /// Rust type, connections (`pods/exec`, verb `connect`), or several kinds. Its marker decides which requests these
    /// are, and whether the webhook is a mutating one, which may change the object.
    ///
    /// ```
    /// # use manager::Manager;
    /// use manager::webhook::{AdmissionRequest, Allowed, Rejection};
    ///
    /// // +kbr:webhook:path=/review-exec,mutating=false,failurePolicy=Fail,sideEffects=None,groups=core,resources=pods/exec,verbs=connect,versions=v1,name=exec.crew.example.com,admissionReviewVersions=v1
    /// async fn review(request: AdmissionRequest) -> Result<Allowed, Rejection> {
    ///     let shell = request.object()["command"][0] == "sh";
    ///     if shell && !request.user().groups.iter().any(|group| group == "admins") {
    ///         return Err(Rejection::forbidden("only admins may open a shell"));
    ///     }
    ///     Ok(Allowed::default())
    /// }
    ///
    /// fn register(manager: &mut Manager) {
    ///     manager.admission_at("/review-exec", review);
    /// }
    /// ```
    pub fn admission_at<F, R>(&mut self, path: &str, review: F)
    where
        F: Fn(AdmissionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Allowed, Rejection>> + Send + 'static,
    {
        self.webhook_at(path, Task::Review, None, raw::reviewing(review));
    }

    /// Converts between two versions of a kind, the hub and a spoke, at `/convert`. Conversions between two spokes go
    /// through the hub. Any version can be the stored one.
    pub fn spoke<Hub, Spoke>(&mut self)
    where
        Hub: Object + TryFrom<Spoke, Error: Display>,
        Spoke: Object + TryFrom<Hub, Error: Display>,
    {
        if let Err(mistake) = self.conversions.add::<Hub, Spoke>() {
            self.mistakes.push(mistake);
        }
        let registered = Registered {
            task: Task::Convert,
            kind: None,
            webhook: convert::converting(self.conversions.clone()),
        };
        self.register(CONVERT, registered);
    }

    fn webhook_at(
        &mut self,
        path: &str,
        task: Task,
        kind: Option<GroupVersionKind>,
        webhook: Webhook,
    ) {
        let registered = Registered {
            task,
            kind,
            webhook,
        };
        if !path.starts_with('/') {
            let mistake = format!("the path `{path}` of a webhook does not begin with `/`");
            self.mistakes.push(mistake);
        }
        self.register(path, registered);
    }

    fn register(&mut self, path: &str, registered: Registered) {
        let task = registered.task;
        let before = self.webhooks.insert(path.to_owned(), registered);
        // All kinds share one path for conversion.
        if before.is_some_and(|before| (before.task, task) != (Task::Convert, Task::Convert)) {
            let mistake = format!(
                "two webhooks are registered at `{path}`\n\
                 help: give one a path of its own, with `defaulter_at`, `validator_at` or `admission_at`"
            );
            self.mistakes.push(mistake);
        }
    }
}

/// The path of a webhook of `K`, the same as in controller-runtime.
fn path<K: Object>(verb: &str) -> String {
    let (group, version, kind) = (K::group(&()), K::version(&()), K::kind(&()));
    let (group, kind) = (group.replace('.', "-"), kind.to_lowercase());
    format!("/{verb}-{group}-{version}-{kind}")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
    use kbr_testing::FakeApi;

    use super::*;
    use crate::{harness, webhook::Request};

    struct Idle;

    impl Defaulter<Pod> for Idle {
        async fn default(&self, _pod: &mut Pod, _cx: &Request<Pod>) -> Result<(), Rejection> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_webhook_at_the_conversion_path_is_an_error_in_either_order() {
        for first in [true, false] {
            let mut manager = harness::on(&FakeApi::new());
            if first {
                manager.defaulter_at::<Pod>(CONVERT, Idle);
            }
            manager.spoke::<Lease, Lease>();
            if !first {
                manager.defaulter_at::<Pod>(CONVERT, Idle);
            }
            let all = manager.mistakes.join("\n");
            assert!(all.contains("registered at `/convert`"), "{first}: {all}");
        }
    }

    #[tokio::test]
    async fn conversion_can_be_registered_for_several_kinds() {
        let mut manager = harness::on(&FakeApi::new());
        manager.spoke::<Lease, Lease>();
        manager.spoke::<Pod, Pod>();
        let all = manager.mistakes.join("\n");
        assert!(!all.contains("registered at `/convert`"), "{all}");
    }

    #[test]
    fn a_path_has_group_version_and_kind() {
        assert_eq!(
            path::<Lease>("mutate"),
            "/mutate-coordination-k8s-io-v1-lease"
        );
        assert_eq!(path::<Pod>("validate"), "/validate--v1-pod");
    }
}
