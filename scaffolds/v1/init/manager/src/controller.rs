//! Registers controllers.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{api::PartialObjectMeta, core::object::HasStatus};

use crate::{
    action::Action,
    apply::Applied,
    cache::Cache,
    context::{Accessor, Context},
    core::{Core, Function, Source},
    key::Key,
    manager::Manager,
    object::{Cached, Object, namespaced, version},
    queue::Queue,
    writes::{Child, Overlay, Writes},
};

/// The longest field manager that the API server takes, in bytes.
const LONGEST_FIELD_MANAGER: usize = 128;

/// A controller of `K` that is being registered; [`reconcile`](Self::reconcile) ends it.
#[must_use = "a controller without `.reconcile(…)` does nothing"]
pub struct Controller<'a, K> {
    manager: &'a mut Manager,
    name: String,
    queue: Arc<Queue>,
    writes: Arc<Writes>,
    overlay: Arc<Overlay<K>>,
    applied: Arc<Applied>,
    cache: Arc<Cache<K>>,
    conditions: Option<Accessor<K>>,
    finalizer: Option<(String, Function<K>)>,
    concurrency: usize,
    sources: Vec<Source>,
}

impl<K> fmt::Debug for Controller<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<'a, K: Object> Controller<'a, K> {
    pub(crate) fn new(manager: &'a mut Manager, name: &str) -> Self {
        let queue = Arc::new(Queue::new(manager.metrics.queue(name)));
        let cache = manager.caches.of::<K>();
        let mut controller = Self {
            name: name.to_owned(),
            writes: Arc::new(Writes::new(queue.clone())),
            overlay: Arc::new(Overlay::new()),
            applied: Arc::default(),
            conditions: None,
            finalizer: None,
            concurrency: manager.options.max_concurrent_reconciles,
            sources: Vec::new(),
            queue,
            cache: cache.clone(),
            manager,
        };
        let (writes, overlay) = (controller.writes.clone(), controller.overlay.clone());
        cache.on_change(move |change| {
            overlay.seen(change.key, change.new);
            writes.wake::<K>(change.key, change.new.map(version), change.key.clone());
        });
        controller.add_source::<K>(K::kind(&()).into_owned(), cache);
        controller
    }

    /// Reconciles an object also when a `C` that it owns changes. Of these the metadata is cached only.
    pub fn owns<C: Object>(mut self) -> Self {
        let cache = self.manager.caches.of::<PartialObjectMeta<C>>();
        self.wake_owner::<C, _>(cache);
        self
    }

    /// Reconciles an object also when a `C` that it owns changes. These are cached whole, so that reading one costs
    /// no request: for kinds whose status each reconcile looks at.
    pub fn owns_cached<C: Object>(mut self) -> Self {
        let cache = self.manager.caches.of::<C>();
        self.wake_owner::<C, _>(cache);
        self
    }

    /// Says where the conditions and `observedGeneration` lie in the status.
    ///
    /// It is what `cx.ready` and `cx.condition` need, and with it a reconcile that fails sets `Ready` to `False`
    /// with the reason `ReconcileFailed`.
    pub fn conditions<F>(mut self, accessor: F) -> Self
    where
        K: HasStatus<Status: Default>,
        F: Fn(&mut K::Status) -> (&mut Vec<Condition>, &mut Option<i64>) + Send + Sync + 'static,
    {
        self.conditions = Some(Arc::new(move |object: &mut K, change| {
            let (conditions, observed) = accessor(object.status_mut().get_or_insert_default());
            change(conditions, observed);
        }));
        self
    }

    /// Runs `cleanup` before an object is deleted.
    ///
    /// The finalizer `name`, `<full group>/<controller>` by custom, is added before the first reconcile and removed
    /// when the clean-up returns [`Action::await_change`]. It stays when that fails or returns [`Action::requeue`].
    pub fn finalizer<F, R>(mut self, name: &str, cleanup: F) -> Self
    where
        F: Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Action>> + Send + 'static,
    {
        self.finalizer = Some((name.to_owned(), function(cleanup)));
        self
    }

    /// Reconciles at most this many objects at once, instead of `--max-concurrent-reconciles`.
    pub fn max_concurrent_reconciles(mut self, most: usize) -> Self {
        self.concurrency = most;
        self
    }

    /// Reconciles each object with this function, and ends the registration.
    ///
    /// It is called when an object or one that it owns has changed, at start for every object, after a failure and
    /// when it asked to be; never for one object twice at a time, and never for an object that is being deleted.
    pub fn reconcile<F, R>(self, reconcile: F)
    where
        F: Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Action>> + Send + 'static,
    {
        let manager = self.manager;
        let field_manager = format!("{}/{}", manager.id, self.name);
        if let Err(error) = check(manager, &self.name, &field_manager, self.concurrency) {
            manager.mistakes.push(error);
        }
        let core = Core {
            metrics: manager.metrics.controller(&self.name, self.concurrency),
            client: manager.clients.leading.clone(),
            fence: manager.fence.clone(),
            caches: manager.caches.clone(),
            recorder: manager.recorder.clone(),
            health: manager.health.clone(),
            timeout: manager.options.reconcile_timeout,
            name: self.name,
            field_manager,
            cache: self.cache,
            queue: self.queue,
            writes: self.writes,
            overlay: self.overlay,
            applied: self.applied,
            conditions: self.conditions,
            finalizer: self.finalizer,
            reconcile: function(reconcile),
            concurrency: self.concurrency,
            sources: self.sources,
        };
        manager.controllers.push(Arc::new(core));
    }

    /// Wakes the owner of what changes in `cache`, which holds objects of `C` or their metadata.
    fn wake_owner<C: Object, M: Cached>(&mut self, cache: Arc<Cache<M>>) {
        let (writes, applied) = (self.writes.clone(), self.applied.clone());
        cache.on_change(move |change| {
            let before = change.old.and_then(|old| owner::<K>(old.meta()));
            let after = change.new.and_then(|new| owner::<K>(new.meta()));
            if change.new.is_none() {
                applied.forget::<C>(change.key);
            }
            // A child that was given away wakes the owner that lost it, too.
            if let Some(before) = before.filter(|before| Some(before) != after.as_ref()) {
                writes.wake::<Child<C>>(change.key, None, before);
            }
            if let Some(after) = after {
                writes.wake::<Child<C>>(change.key, change.new.map(version), after);
            }
        });
        self.add_source(C::kind(&()).into_owned(), cache);
    }

    fn add_source<M: Cached>(&mut self, kind: String, cache: Arc<Cache<M>>) {
        let synced = move || {
            let cache = cache.clone();
            Box::pin(async move { cache.synced().await }) as _
        };
        self.sources.push(Source {
            kind,
            synced: Box::new(synced),
        });
    }
}

/// The key of the `K` that controls the object with this metadata.
fn owner<K: Object>(meta: &ObjectMeta) -> Option<Key> {
    let owners = meta.owner_references.as_deref()?;
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    // The version may be another one of the same kind.
    let group = owner
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    let ours = owner.kind == K::kind(&()) && group == K::group(&());
    let namespace = meta.namespace.as_deref().filter(|_| namespaced::<K>());
    ours.then(|| Key::new(namespace, &owner.name))
}

fn function<K, F, R>(function: F) -> Function<K>
where
    F: Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<Action>> + Send + 'static,
{
    Arc::new(move |object, cx| Box::pin(function(object, cx)))
}

fn check(
    manager: &Manager,
    name: &str,
    field_manager: &str,
    concurrency: usize,
) -> Result<(), String> {
    if name.is_empty() || manager.controllers.iter().any(|other| other.name() == name) {
        return Err(format!(
            "there are two controllers `{name}`, or one without a name\n\
             help: each needs a name of its own, as metrics and field managers carry it"
        ));
    }
    if field_manager.len() > LONGEST_FIELD_MANAGER {
        return Err(format!(
            "`{field_manager}` is too long for a field manager: {} bytes, {LONGEST_FIELD_MANAGER} at most\n\
             help: give controller `{name}` a shorter name",
            field_manager.len()
        ));
    }
    if concurrency == 0 {
        return Err(format!(
            "controller `{name}` may reconcile nothing: `max_concurrent_reconciles` is 0\n\
             help: let it be 1 or more"
        ));
    }
    Ok(())
}
