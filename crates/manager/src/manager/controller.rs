//! Registers controllers.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::object::HasStatus;
use serde::Serialize;

use crate::{
    cache::{
        object::{Cached, Object},
        reader::Reader,
    },
    controller::{
        action::{Action, Cleanup},
        context::Context,
        kind::Kind,
        predicate::Filter,
        reconcile::{Errors, Function, Held, Reconciler},
        source,
        trigger::Trigger,
    },
    controls::Controls,
    guard::Guard,
    key::Key,
    manager::{Manager, parts::Parts},
    metrics::objects::ObjectGauge,
    queue::{Queue, appointments::Appointments},
    writes::{condition::Accessor, core::Core, own::OwnWrites},
};

/// The longest field manager that the API server accepts, in bytes.
const LONGEST_FIELD_MANAGER: usize = 128;

impl Manager {
    /// Registers a controller of `K` under a unique name. End it with `.reconcile(…)`.
    ///
    /// Needs the verbs `list` and `watch` on `K`.
    pub fn controller<K: Object>(&mut self, name: &str) -> Controller<'_, K> {
        Controller::new(self, name)
    }
}

/// A controller of `K` that is being registered; [`reconcile`](Self::reconcile) ends it.
#[must_use = "a controller without `.reconcile(…)` does nothing"]
pub struct Controller<'a, K> {
    pub(super) parts: Parts<'a, K>,
}

impl<K> fmt::Debug for Controller<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.parts.name)
            .finish_non_exhaustive()
    }
}

impl<'a, K: Object> Controller<'a, K> {
    fn new(manager: &'a mut Manager, name: &str) -> Self {
        let queue = Arc::new(Queue::new(
            manager.metrics.queue(name),
            manager.timer.clone(),
        ));
        let cache = manager.caches.of::<K>();
        let (kind, timer) = (K::kind(&()), manager.timer.clone());
        let guard = Arc::new(Guard::new(manager.guard, kind, queue.clone(), timer));
        let writes = Arc::new(OwnWrites::new(guard.clone()));
        let mut parts = Parts {
            name: name.to_owned(),
            writes,
            guard,
            applied: Arc::default(),
            reader: Reader::new(name),
            own: Filter::default(),
            controls: Controls::of(&manager.id),
            is_optional: false,
            hooks: Vec::new(),
            conditions: None,
            automatic_ready: true,
            finalizers: Vec::new(),
            concurrency: manager.options.max_concurrent_reconciles,
            timeout: manager.options.reconcile_timeout,
            resync: None,
            sources: Vec::new(),
            queue,
            cache: cache.clone(),
            manager,
        };
        parts.need(&cache);
        Self { parts }
    }

    /// Reconciles on an update of an object only if `predicate` returns true. It is called with the object before and
    /// after the update; see [`predicate`](crate::predicate). If there are several, all must return true.
    ///
    /// It is not called when an object is first seen, is deleted or gets a deletion timestamp: these always trigger a
    /// reconcile. For updates of other kinds see [`Kind::when`].
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use manager::{Action, Manager, kind, predicate};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<ConfigMap>("configmap")
    ///     .when(predicate::labels_changed)
    ///     .owns(kind::<Deployment>().when(|old, new| old.status != new.status))
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    pub fn when<P>(mut self, predicate: P) -> Self
    where
        P: Fn(&K, &K) -> bool + Send + Sync + 'static,
    {
        self.parts.own.add(predicate);
        self
    }

    /// Also pauses the objects for which `paused` is true, as the annotation `<manager id>/paused` does: they are not
    /// reconciled, and still cleaned up. It must not block.
    ///
    /// Every operator has that annotation. Use this for one that an earlier operator had, or for a field of the spec:
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube::ResourceExt;
    /// # use manager::{Action, Manager};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<ConfigMap>("configmap")
    ///     .paused_when(|map| map.annotations().contains_key("crew.example.com/suspended"))
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    pub fn paused_when<F>(mut self, paused: F) -> Self
    where
        F: Fn(&K) -> bool + Send + Sync + 'static,
    {
        self.parts.controls.add(paused);
        self
    }

    /// Adds a gauge to `/metrics` with a value for each object, which goes with its object: `value` is called for each one at
    /// each scrape. An object without a value is left out. The labels are `namespace` and `name`.
    ///
    /// Only the leader has values. For everything else there is [`Manager::metric`](crate::Manager::metric).
    ///
    /// ```
    /// # use k8s_openapi::api::apps::v1::Deployment;
    /// # use manager::{Action, Manager};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<Deployment>("deployment")
    ///     .gauge("captains_missing_sailors", "Sailors who are not on board", |deployment| {
    ///         Some(f64::from(deployment.status.as_ref()?.unavailable_replicas?))
    ///     })
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`run`](crate::Manager::run) fails if the name is one that `Manager::metric` rejects.
    pub fn gauge<F>(self, name: &str, help: &str, value: F) -> Self
    where
        F: Fn(&K) -> Option<f64> + Send + Sync + 'static,
    {
        let gauge = ObjectGauge {
            cache: self.parts.cache.clone(),
            fence: self.parts.manager.fence.clone(),
            value,
        };
        self.parts.manager.metric(name, help, gauge);
        self
    }

    /// Also reconciles an object when a `C` that it owns changes.
    ///
    /// The `C` objects are cached whole, so reading one costs no request: `.owns(kind::<Deployment>())`. If no reconcile
    /// reads them, [`metadata`](crate::metadata) instead of [`kind`](crate::kind) takes less memory.
    ///
    /// Needs the verbs `list` and `watch` on `C`.
    pub fn owns<C: Object>(mut self, kind: Kind<C, impl Cached>) -> Self {
        self.parts.children(kind);
        self
    }

    /// Also reconciles objects when a `C` changes that they do not own: those whose keys `map` returns.
    ///
    /// `map` is called with the object before the change and with the object after it, so the objects that it referred
    /// to before and those that it refers to now are both reconciled. Its second argument reads the caches of the
    /// controller, after the change: a deleted object is no longer in them. It must not block. If it fails or panics,
    /// the error is logged, and no object is enqueued.
    ///
    /// This is controller-runtime's `EnqueueRequestsFromMapFunc`.
    ///
    /// Needs the verbs `list` and `watch` on `C`.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use manager::{Action, Key, Manager, kind};
    /// # fn register(manager: &mut Manager) {
    /// // Each Deployment that names a ConfigMap in its annotation is reconciled when that changes.
    /// manager
    ///     .controller::<Deployment>("deployment")
    ///     .watches(kind::<ConfigMap>(), |map, cached| {
    ///         cached.list::<Deployment>().by(config_map, Key::of(map)).keys()
    ///     })
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    ///
    /// fn config_map(deployment: &Deployment) -> Vec<String> {
    ///     let meta = &deployment.metadata;
    ///     let name = meta.annotations.iter().flatten().find(|(name, _)| *name == "example.com/config");
    ///     let key = name.map(|(_, name)| Key::new(meta.namespace.as_deref(), name).to_string());
    ///     key.into_iter().collect()
    /// }
    /// ```
    pub fn watches<C: Cached, M: Cached>(
        mut self,
        kind: Kind<C, M>,
        map: impl Fn(&M, &Reader) -> anyhow::Result<Vec<Key>> + Send + Sync + 'static,
    ) -> Self {
        self.parts.mapped(kind, map);
        self
    }

    /// Caches the objects of `C` for [`Context::get`] and [`Context::list`]. Their changes trigger no reconcile. Those
    /// are all objects of the kind, unless [`Manager::cache`] selects some.
    ///
    /// Needs the verbs `list` and `watch` on `C`.
    pub fn reads<C: Cached, M: Cached>(mut self, kind: Kind<C, M>) -> Self {
        let (is_optional, mistake) = kind.read_only();
        self.parts.manager.mistakes.extend(mistake);
        let cache = self.parts.manager.caches.of::<M>();
        self.parts.read(&cache, is_optional);
        self
    }

    /// Lets `trigger` enqueue objects of this controller.
    pub fn triggered_by(self, trigger: &Trigger) -> Self {
        let (queue, cache) = (self.parts.queue.clone(), self.parts.cache.clone());
        trigger.add(queue, cache);
        self
    }

    /// Sets where the conditions and `observedGeneration` are in the status.
    ///
    /// `cx.ready` and `cx.condition` need this. With it, a reconcile that fails sets `Ready` to `False` with the reason
    /// `ReconcileFailed` and the error as its message, so that `kubectl wait` and `kubectl describe` show it. If the
    /// reconcile has set `Ready` to `False` before it fails, its reason stays, and the error follows its message. The next
    /// reconcile that succeeds replaces that with the `Ready` that it sets. If it sets none, a `ReconcileFailed` is removed:
    /// a controller that does not set `Ready` must not leave one behind. In both cases, `observedGeneration` is the
    /// generation of the object. An error of the API server that may pass, such as a 500 while etcd changes its leader,
    /// leaves a ready object ready unless the next attempt fails, too. See
    /// [`without_automatic_ready`](Self::without_automatic_ready).
    ///
    /// The conditions may be of a type of yours that converts from and into Kubernetes': a time that it lacks is
    /// `Timestamp::UNIX_EPOCH`, and a condition that does not change keeps all its fields. If it cannot keep `Ready` with its
    /// status and its reason, `without_automatic_ready` is needed.
    pub fn conditions<C, F>(mut self, accessor: F) -> Self
    where
        K: HasStatus<Status: Default + Serialize>,
        C: Clone + From<Condition> + Into<Condition> + 'static,
        F: Fn(&mut K::Status) -> (&mut Vec<C>, &mut Option<i64>) + Send + Sync + 'static,
    {
        self.parts
            .set_conditions(Accessor::new(move |status: &mut K::Status| {
                let (conditions, observed) = accessor(status);
                (conditions, Some(observed))
            }));
        self
    }

    /// Sets where the conditions are in a status without `observedGeneration`, as in
    /// `.conditions_only(|status| &mut status.conditions)`; otherwise like [`conditions`](Self::conditions).
    ///
    /// Each condition still has its own `observedGeneration`.
    pub fn conditions_only<C, F>(mut self, accessor: F) -> Self
    where
        K: HasStatus<Status: Default + Serialize>,
        C: Clone + From<Condition> + Into<Condition> + 'static,
        F: Fn(&mut K::Status) -> &mut Vec<C> + Send + Sync + 'static,
    {
        self.parts
            .set_conditions(Accessor::new(move |status: &mut K::Status| {
                (accessor(status), None)
            }));
        self
    }

    /// Leaves the condition `Ready` to the reconcile: a failure does not set it, and a success does not remove it.
    ///
    /// Failures are still logged, counted in the metrics and retried.
    pub fn without_automatic_ready(mut self) -> Self {
        self.parts.automatic_ready = false;
        self
    }

    /// Runs `cleanup` before an object is deleted.
    ///
    /// The finalizer `name`, by convention `<full group>/<controller>`, is added before the first reconcile. It is
    /// removed when the clean-up returns [`Cleanup::Done`], and stays if the clean-up fails or returns
    /// [`Cleanup::Again`]. The clean-up sets status and conditions as a reconcile does; the `Ready` of a failure stays
    /// until it is done.
    ///
    /// If there are several, their clean-ups run in the order of their registration, each when the one before is done.
    ///
    /// Needs the verbs `get`, `patch` and `update` on `K`.
    pub fn finalizer<F, R>(mut self, name: &str, cleanup: F) -> Self
    where
        F: Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Cleanup>> + Send + 'static,
    {
        if self.parts.finalizers.iter().any(|(known, _)| known == name) {
            let controller = &self.parts.name;
            self.parts.manager.mistakes.push(format!(
                "controller `{controller}` has the finalizer `{name}` twice\n\
                 help: do both clean-ups in one, or give the second one a name of its own"
            ));
        }
        let cleanup = function(move |object, cx| {
            let ended = cleanup(object, cx);
            async { ended.await.map(Action::from) }
        });
        self.parts.finalizers.push((name.to_owned(), cleanup));
        self
    }

    /// Reconciles each object with this function, and ends the registration.
    ///
    /// Users control it by annotations, whose domain is the id of the manager. While an object has `<id>/paused`, it is
    /// not reconciled, and only cleaned up; with the value `all`, it is not cleaned up either. The condition `Paused` says
    /// so, or an event if the controller has no conditions. When the value of `<id>/reconcile-at` changes, the object is
    /// reconciled at once; after a success, `<id>/reconciled-at` has the same value, which needs the verb `patch` on `K`.
    ///
    /// It is called for every object at start, and then when the object or one that it owns has changed, after a
    /// failure, and when an earlier reconcile requested it. It never runs twice at a time for one object, and never for
    /// an object that is being deleted.
    ///
    /// [`with`](crate::with) gives the function state of your own, such as a client of another service. The current
    /// time is [`cx.now()`](Context::now).
    pub fn reconcile<F, R>(self, reconcile: F)
    where
        F: Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Action>> + Send + 'static,
    {
        let parts = self.parts;
        let controls = Arc::new(parts.controls);
        let own = source::own(parts.cache.clone(), controls.clone(), parts.writes.clone());
        own.attach(parts.own);
        for attach in parts.hooks {
            attach();
        }
        let manager = parts.manager;
        let field_manager = format!("{}/{}", manager.id, parts.name);
        if let Err(error) = check(manager, &parts.name, &field_manager, parts.concurrency) {
            manager.mistakes.push(error);
        }
        let keeps_failures = |it: &Accessor<K>| it.keeps_failures();
        if parts.automatic_ready && !parts.conditions.as_ref().is_none_or(keeps_failures) {
            manager.mistakes.push(format!(
                "the conditions of controller `{}` lose `Ready`, its status or its reason, so a failure would stay\n\
                 help: convert all three from and into `Condition`, or add `.without_automatic_ready()`",
                parts.name
            ));
        }
        parts.queue.set_workers(parts.concurrency);
        let core = Core {
            metrics: manager.metrics.controller(&parts.name, parts.concurrency),
            client: manager.clients.leading.clone(),
            fence: manager.fence.clone(),
            recorder: manager.recorder.clone(),
            health: manager.health.clone(),
            timer: manager.timer.clone(),
            namespaces: manager.options.namespaces(),
            name: parts.name,
            field_manager,
            cache: parts.cache,
            reader: parts.reader,
            caches: manager.caches.clone(),
            queue: parts.queue,
            appointments: Appointments::default(),
            writes: parts.writes,
            guard: parts.guard,
            applied: parts.applied,
            predecessors: manager.predecessors.clone(),
            conditions: parts.conditions,
            automatic_ready: parts.automatic_ready,
            concurrency: parts.concurrency,
            timeout: parts.timeout,
            resync: parts.resync,
            sources: parts.sources,
        };
        manager.controllers.push(Arc::new(Reconciler {
            core: Arc::new(core),
            controls,
            reconcile: function(reconcile),
            finalizers: parts.finalizers,
            errors: Errors::default(),
            held: Held::default(),
        }));
    }
}

fn function<K, F, R>(function: F) -> Function<K>
where
    F: Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<Action>> + Send + 'static,
{
    Arc::new(move |object, cx| Box::pin(function(object, cx)))
}

/// Reports mistakes in the registration of a controller.
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
