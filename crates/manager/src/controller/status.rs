//! The status that a reconcile sets, which is written when it has ended.

use kube::core::object::HasStatus;

use crate::{
    cache::object::Object,
    controller::context::Context,
    writes::condition::{self, ConditionStatus, READY},
};

impl<K: Object> Context<K> {
    /// Sets the condition `Ready` to `True`, and `observedGeneration`; otherwise like
    /// [`condition`](Self::condition).
    ///
    /// Needs the verb `patch` on the `status` of the kind, and after a conflict `get` on the kind.
    pub fn ready(&self, reason: &str, message: impl AsRef<str>) {
        self.condition(READY, true, reason, message);
    }

    /// Sets the condition `Ready` to `False`; otherwise like [`ready`](Self::ready). An error does this by itself.
    pub fn not_ready(&self, reason: &str, message: impl AsRef<str>) {
        self.condition(READY, false, reason, message);
    }

    /// Sets a condition, and `observedGeneration`, in the status that is written when this reconcile ends.
    ///
    /// `reason` is one word in camel case. The controller must be registered with `.conditions(…)`; otherwise the
    /// reconcile fails.
    ///
    /// Needs the verb `patch` on the `status` of the kind, and after a conflict `get` on the kind.
    pub fn condition(
        &self,
        kind: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: impl AsRef<str>,
    ) {
        let Some(accessor) = &self.core.conditions else {
            self.draft().misuse.get_or_insert_with(|| {
                format!(
                    "controller `{}` sets the condition `{kind}` and was registered without conditions\n\
                     help: add `.conditions(|status| (&mut status.conditions, &mut status.observed_generation))`",
                    self.core.name,
                )
            });
            return;
        };
        let generation = self.object.meta().generation;
        let new = condition::new(kind, status.into(), reason, message.as_ref(), generation);
        self.draft().set(&self.object, accessor, new);
    }

    /// Changes the status that is written when this reconcile ends, whether it succeeds or fails.
    ///
    /// Only the difference from the last known status is sent, in one request. This write triggers no reconcile of this
    /// controller; a change that another writer makes at the same time does.
    ///
    /// Needs the verb `patch` on the `status` of the kind, and after a conflict `get` on the kind.
    pub fn status<T>(&self, change: impl FnOnce(&mut K::Status) -> T) -> T
    where
        K: HasStatus<Status: Default>,
    {
        let change = |object: &mut K| change(object.status_mut().get_or_insert_default());
        self.lend(change, false)
    }

    /// Changes the status like [`status`](Self::status), for kinds of Kubernetes, whose types do not implement kube's
    /// `HasStatus`. `change` gets the whole object, and may change nothing but its status.
    ///
    /// Only the difference is sent, and the conditions are compared by their type. So the controller of
    /// Kubernetes that writes the rest of the status keeps its fields and conditions, those included that are newer
    /// than the types of this operator: the object is read again before a list of conditions is written.
    ///
    /// Needs the verb `patch` on the `status` of the kind, and `get` on the kind.
    ///
    /// ```
    /// # use k8s_openapi::{api::core::v1::{Pod, PodCondition}, apimachinery::pkg::apis::meta::v1::Time};
    /// # use manager::Context;
    /// /// Opens a readiness gate of the Pod.
    /// fn open_gate(cx: &Context<Pod>) {
    ///     let new = PodCondition {
    ///         type_: "example.com/registered".to_owned(),
    ///         status: "True".to_owned(),
    ///         last_transition_time: Some(Time(cx.now())),
    ///         ..PodCondition::default()
    ///     };
    ///     cx.update_status(|pod| {
    ///         let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    ///         match conditions.iter_mut().find(|old| old.type_ == new.type_) {
    ///             Some(old) if old.status == new.status => {}
    ///             Some(old) => *old = new,
    ///             None => conditions.push(new),
    ///         }
    ///     });
    /// }
    /// ```
    ///
    /// The reconcile fails if `change` changes more than the status.
    pub fn update_status<T>(&self, change: impl FnOnce(&mut K) -> T) -> T {
        self.lend(change, true)
    }

    /// Lends the object with the wanted status to `change`, which changes the `whole` object or only its status.
    fn lend<T>(&self, change: impl FnOnce(&mut K) -> T, whole: bool) -> T {
        let mut wanted = self.draft().lend(&self.object, whole);
        let result = change(&mut wanted);
        self.draft().take_back(wanted);
        result
    }
}
