//! Triggers reconciles for events outside the cluster.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    cache::{object::Object, store::Cache},
    causes::Causes,
    key::Key,
    queue::{Haste, Priority, Queue},
};

/// Triggers reconciles from any task, for the controllers that it was passed to with
/// [`triggered_by`](crate::Controller::triggered_by). Use it for events that the API server does not see, such as a
/// webhook of another system or the tick of a clock.
///
/// It never waits. It may be used before the manager runs: early keys are reconciled once the caches have synced. In a
/// replica that does not lead it has no effect; all objects are reconciled when the replica becomes the leader. It is
/// controller-runtime's `source.Channel`.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use manager::{Action, Manager, Trigger};
///
/// fn register(manager: &mut Manager) {
///     let hourly = Trigger::named("hourly");
///     manager
///         .controller::<ConfigMap>("configmap")
///         .triggered_by(&hourly)
///         .reconcile(async |_, _| Ok(Action::await_change()));
///     manager.leading("hourly", async move |running| {
///         let mut hours = tokio::time::interval(std::time::Duration::from_secs(3600));
///         loop {
///             tokio::select! {
///                 _ = hours.tick() => hourly.enqueue_all(),
///                 () = running.stopped() => return Ok(()),
///             }
///         }
///     });
/// }
/// ```
#[derive(Clone, Default)]
pub struct Trigger {
    targets: Arc<Mutex<Vec<Target>>>,
    name: Option<Arc<str>>,
}

/// Enqueues a key of one controller, or all its keys.
type Target = Arc<dyn Fn(Option<&Key>) + Send + Sync>;

impl fmt::Debug for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trigger")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Trigger {
    /// A trigger that is not attached to any controller yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A trigger with a name for the log: [`Context::causes`](crate::Context::causes) says `trigger hourly`, for example.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: Some(name.into()),
            ..Self::default()
        }
    }

    /// Enqueues the object with this key, `namespace/name` or `name`. If it does not exist, nothing happens.
    pub fn enqueue(&self, key: impl Into<Key>) {
        let key = key.into();
        self.tell(Some(&key));
    }

    /// Enqueues every object. Objects that change meanwhile go first.
    pub fn enqueue_all(&self) {
        self.tell(None);
    }

    /// Lets the trigger enqueue objects of a controller.
    pub(crate) fn add<K: Object>(&self, queue: Arc<Queue>, cache: Arc<Cache<K>>) {
        let causes = Causes::trigger(self.name.as_ref());
        let target = move |key: Option<&Key>| match key {
            Some(key) => queue.add_with(key.clone(), Priority::Normal, &causes, Haste::Waits),
            // Objects that are not in the cache yet are reconciled when they arrive.
            None => queue.add_all(cache.keys(), &causes),
        };
        self.lock().push(Arc::new(target));
    }

    fn tell(&self, key: Option<&Key>) {
        let targets = self.lock().clone();
        for target in targets {
            target(key);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
