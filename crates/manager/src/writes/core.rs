//! The state of a running controller, which its reconciles share.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use kube::Client;

use crate::{
    cache::{
        caches::Caches,
        object::{Cached, Object, reference},
        reader::Reader,
        store::Cache,
    },
    events::{Event, RECONCILE, Recorder, Severity},
    guard::{Guard, Loop, Rival, fields::manager_of},
    key::Key,
    leader::fence::Fence,
    metrics::ControllerMetrics,
    queue::{Queue, appointments::Appointments},
    servers::probes::Health,
    timer::Timer,
    writes::{
        applied::Applied, condition::Accessor, gone::stored, kind::KindData, own::OwnWrites,
        takeover::Predecessors,
    },
};

/// The reason of the event about a storm.
const LOOP: &str = "ReconcileLoop";

/// A controller of `K`.
pub(crate) struct Core<K> {
    pub(crate) name: String,
    pub(crate) field_manager: String,
    pub(crate) client: Client,
    pub(crate) fence: Fence,
    pub(crate) cache: Arc<Cache<K>>,
    pub(crate) reader: Reader,
    /// All caches of this process.
    pub(crate) caches: Caches,
    /// The namespaces that the caches watch; empty for all.
    pub(crate) namespaces: Vec<String>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) appointments: Appointments,
    pub(crate) writes: Arc<OwnWrites>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) applied: Arc<Applied>,
    pub(crate) predecessors: Predecessors,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) health: Health,
    pub(crate) timer: Timer,
    pub(crate) conditions: Option<Accessor<K>>,
    /// Whether a failure sets `Ready` to `False`.
    pub(crate) automatic_ready: bool,
    /// How many objects are reconciled at once, and the time limit of each.
    pub(crate) concurrency: usize,
    pub(crate) timeout: Duration,
    /// The longest time between two reconciles of an object; `None` if only events and errors trigger reconciles.
    pub(crate) resync: Option<Duration>,
    /// The kinds that it needs; its own kind is the first.
    pub(crate) sources: Vec<Source>,
}

impl<K> Core<K> {
    /// Adds keys whose time has come to the queue.
    pub(crate) fn enqueue(&self, due: Vec<Key>) {
        for key in due {
            self.queue.add_after(key, Duration::ZERO);
        }
    }
}

impl<K: Object> Core<K> {
    /// The current object, as far as this controller knows.
    pub(crate) fn current(&self, key: &Key) -> Option<Arc<K>> {
        self.cache.get(key)
    }

    /// Shows the result of a write of this controller to all who read the caches of this process: controllers, webhooks
    /// and tasks.
    pub(crate) fn wrote<C: Cached>(&self, key: &Key, object: &Arc<C>) {
        self.caches.wrote(&self.namespaces, key, object);
    }

    /// Counts a write of a storm, and reports it if it is new.
    pub(crate) fn looped(&self, key: &Key, found: &Loop) {
        let writer = match &found.rival {
            Rival::None => "",
            Rival::Unknown => "unknown",
            Rival::Known(manager) => manager,
        };
        self.metrics.looped(&found.kind, &found.field, writer);
        let Some(object) = self.current(key).filter(|_| found.is_new) else {
            return;
        };
        let note = format!("{found}; reconciles of this object are slowed down");
        tracing::warn!(field = %found, "slowing down an object that is written again and again");
        self.recorder.publish(Event {
            regarding: reference(&*object),
            related: None,
            severity: Severity::Warning,
            action: RECONCILE.to_owned(),
            reason: LOOP.to_owned(),
            note,
            controller: self.field_manager.clone(),
        });
    }

    /// Asks the API server for the other field manager, if the object `target` is one in a fight and that is not known.
    pub(crate) async fn look_for_writer(&self, key: &Key, kind: &KindData, target: &Key) {
        let guard = &self.guard;
        let Some(field) = guard.asks_for_writer(key, kind.name(), target) else {
            return;
        };
        if let Ok(object) = stored(&self.client, kind, target).await {
            let writer = manager_of(&object, &field, &self.field_manager);
            if let Some(writer) = writer {
                guard.found_writer(key, kind.name(), target, &writer);
            }
        }
    }

    /// Hides an object that this controller has deleted from them.
    pub(crate) fn deleted<C: Cached>(&self, key: &Key, uid: &str) {
        self.caches.deleted::<C>(key, uid);
    }

    /// Waits until the caches of all kinds that it needs have synced.
    pub(crate) async fn synced(&self) {
        for source in &self.sources {
            (source.synced)().await;
        }
    }
}

/// A kind that a controller needs, to trigger reconciles or only to read.
pub(crate) struct Source {
    pub(crate) kind: String,
    /// Waits until its cache has synced.
    pub(crate) synced: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Source {
    pub(crate) fn new<M: Cached>(cache: Arc<Cache<M>>) -> Self {
        let synced = move || {
            let cache = cache.clone();
            Box::pin(async move { cache.synced().await }) as _
        };
        Self {
            kind: M::kind(&()).into_owned(),
            synced: Box::new(synced),
        }
    }
}
