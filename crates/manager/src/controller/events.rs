//! The events that a reconcile publishes.

use crate::{
    cache::object::{Cached, Object, reference},
    controller::context::Context,
    events::{Event, RECONCILE, Recorder, Severity},
};

/// An event about an object, made by [`Context::event_about`].
#[derive(Debug)]
#[must_use = "end it with `.normal(…)` or `.warning(…)`"]
pub struct EventAbout<'a> {
    recorder: &'a Recorder,
    event: Event,
}

impl<K: Object> Context<K> {
    /// Publishes an event on the object, which `kubectl describe` shows under Events.
    ///
    /// `reason` is one word in camel case. The event is sent in the background. If sending fails, or if there are too
    /// many events, a warning is logged and the reconcile goes on.
    ///
    /// Needs the verbs `create` and `patch` on `events` of `events.k8s.io`.
    pub fn event(&self, reason: &str, note: impl Into<String>) {
        self.event_about(&*self.object).normal(reason, note);
    }

    /// Publishes an event of type `Warning`; otherwise like [`event`](Self::event).
    ///
    /// Needs the verbs `create` and `patch` on `events` of `events.k8s.io`.
    pub fn warning(&self, reason: &str, note: impl Into<String>) {
        self.event_about(&*self.object).warning(reason, note);
    }

    /// Begins an event about any object, as it was read from a cache or otherwise, with an action or a related object
    /// if that is wanted. [`normal`](EventAbout::normal) or [`warning`](EventAbout::warning) publishes it.
    ///
    /// The event is stored in the namespace of `object`, and in `default` if the kind is cluster-scoped. The
    /// permission must cover that namespace, which a `Role` in the namespace of the operator does not.
    ///
    /// Needs the verbs `create` and `patch` on `events` of `events.k8s.io`.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{Node, Pod};
    /// # fn evicted(cx: &manager::Context<Node>, pod: &Pod, node: &Node) {
    /// cx.event_about(pod).action("Evict").related(node).normal("Evicted", "its node is drained");
    /// # }
    /// ```
    pub fn event_about<C: Cached>(&self, object: &C) -> EventAbout<'_> {
        EventAbout {
            recorder: &self.core.recorder,
            event: Event {
                regarding: reference(object),
                related: None,
                severity: Severity::Normal,
                action: RECONCILE.to_owned(),
                reason: String::new(),
                note: String::new(),
                controller: self.core.field_manager.clone(),
            },
        }
    }
}

impl EventAbout<'_> {
    /// Sets what was done or has failed: one word in camel case, such as `Evict`. Without it, it is `Reconcile`.
    pub fn action(mut self, action: &str) -> Self {
        action.clone_into(&mut self.event.action);
        self
    }

    /// Sets the second object that the event involves, such as the Pod that was created for the first.
    pub fn related<C: Cached>(mut self, object: &C) -> Self {
        self.event.related = Some(reference(object));
        self
    }

    /// Publishes it as an event of type `Normal`, like [`Context::event`].
    pub fn normal(self, reason: &str, note: impl Into<String>) {
        self.publish(Severity::Normal, reason, note.into());
    }

    /// Publishes it as an event of type `Warning`, like [`Context::warning`].
    pub fn warning(self, reason: &str, note: impl Into<String>) {
        self.publish(Severity::Warning, reason, note.into());
    }

    fn publish(self, severity: Severity, reason: &str, note: String) {
        self.recorder.publish(Event {
            severity,
            reason: reason.to_owned(),
            note,
            ..self.event
        });
    }
}
