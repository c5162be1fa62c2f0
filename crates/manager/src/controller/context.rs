//! The argument of a reconcile beside its object.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::Context as _;
use k8s_openapi::jiff::Timestamp;
use kube::Client;

use crate::{
    cache::{
        object::{Cached, Object, api, namespaced},
        reader::List,
        stripped::Stripped,
    },
    causes::Causes,
    controller::{outcome::Failure, retry::Retry},
    key::Key,
    simulated::random_bytes,
    writes::{
        child::controller_uid,
        condition::{self, FAILED, PAUSED, PAUSED_BY},
        core::Core,
        draft::{Draft, Wanted},
        gone::found,
    },
};

/// One reconcile: its object, and the methods to act on it. Cheap to clone.
pub struct Context<K> {
    pub(super) core: Arc<Core<K>>,
    pub(super) object: Arc<K>,
    key: Key,
    causes: Causes,
    draft: Arc<Mutex<Draft<K>>>,
}

impl<K> Clone for Context<K> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            object: self.object.clone(),
            key: self.key.clone(),
            causes: self.causes.clone(),
            draft: self.draft.clone(),
        }
    }
}

impl<K> fmt::Debug for Context<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<K: Object> Context<K> {
    pub(crate) fn new(core: Arc<Core<K>>, object: Arc<K>, key: Key, causes: Causes) -> Self {
        Self {
            core,
            object,
            key,
            causes,
            draft: Arc::new(Mutex::new(Draft::new())),
        }
    }

    /// A client of the API server, for requests that have no method here. After leadership is lost, its writes fail.
    #[must_use]
    pub fn client(&self) -> Client {
        self.core.client.clone()
    }

    /// The field manager of the controller, `<manager id>/<controller>`, for requests by [`client`](Self::client).
    #[must_use]
    pub fn field_manager(&self) -> &str {
        &self.core.field_manager
    }

    /// The key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// The namespace of the object; `None` for a cluster-scoped kind.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// The object as it was when this reconcile began.
    #[must_use]
    pub fn object(&self) -> &Arc<K> {
        &self.object
    }

    /// Why this reconcile runs, for the log and for people: `own spec (generation 4 → 5); Deployment nemo: status`. It is
    /// the field `cause` of the reconcile's span, too.
    ///
    /// Never decide by it what to do: causes are merged, and a restart of the operator forgets them. What there is to do
    /// follows from the object and from what is read.
    #[must_use]
    pub fn causes(&self) -> &Causes {
        &self.causes
    }

    /// The current time, as in Kubernetes' own types, from the crate `jiff` (`k8s_openapi::jiff`).
    ///
    /// In a test, `FakeApi::advance` moves it. [`Action::requeue_at`](crate::Action::requeue_at) requeues an object for
    /// a time of this clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.core.timer.timestamp()
    }

    /// Random bytes that no one can guess, for passwords, keys and tokens. In a simulation, the seed decides them, so that equal
    /// histories are equal.
    ///
    /// A new value in each reconcile would be a change in each reconcile: look first whether there is one.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Secret;
    /// # fn token(cx: &manager::Context<Secret>) -> u128 {
    /// u128::from_le_bytes(cx.random())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the system has no random numbers.
    #[must_use]
    pub fn random<const N: usize>(&self) -> [u8; N] {
        random_bytes()
    }

    /// The cached object with this key; `None` if it does not exist, or [`Manager::cache`](crate::Manager::cache) does not
    /// select it. For a namespaced kind, a key without a namespace
    /// means the namespace of the object being reconciled.
    ///
    /// This sends no request and never waits. It returns the object as the watch last delivered it, or as a reconcile
    /// has written it since: what [`apply`](Self::apply), [`create`](Self::create), [`update`](Self::update) and
    /// [`delete`](Self::delete) did is seen by every read after them, in every controller, webhook and task of this
    /// process.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Secret;
    /// # use kube::ResourceExt;
    /// # async fn reconcile(cx: manager::Context<Secret>, new: Secret) -> anyhow::Result<()> {
    /// let created = cx.create(&new).await?;
    /// assert!(cx.get::<Secret>(&*created.name_any())?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A write is shown until the watch delivers that version of the object or a later one, for four minutes at most.
    /// So a later write of another client always wins. Three writes are not seen before the watch delivers them: those
    /// by [`client`](Self::client); a new object of a kind whose cache selects by fields; in the cache of whole
    /// objects, the update of a `PartialObjectMeta`.
    ///
    /// Needs the verbs `list` and `watch` on the kind.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn get<C: Cached>(&self, key: impl Into<Key>) -> anyhow::Result<Option<Arc<C>>> {
        self.core.reader.get(self.full_key::<C>(&key.into()))
    }

    /// A key without a namespace means the namespace of the object being reconciled.
    fn full_key<C: Cached>(&self, key: &Key) -> Key {
        let here = self.namespace().filter(|_| namespaced::<C>());
        Key::new(key.namespace().or(here), key.name())
    }

    /// The object with this key as the API server has it now, past the cache; `None` if it does not exist. For a
    /// namespaced kind, a key without a namespace means the namespace of the object being reconciled.
    ///
    /// Each call is a request. Use it where a stale answer would do harm, such as before something that cannot be
    /// undone, or for a kind that is read so rarely that a cache of all its objects is not worth its memory. The kind
    /// need not be registered, and changes of the object trigger nothing.
    ///
    /// Needs the verb `get` on the kind.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # async fn reconcile(cx: manager::Context<ConfigMap>) -> anyhow::Result<()> {
    /// let password = cx.get_live::<Secret>("password").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the request fails, or the object cannot be read as a `C`.
    pub async fn get_live<C: Cached>(&self, key: impl Into<Key>) -> anyhow::Result<Option<Arc<C>>> {
        let key = self.full_key::<C>(&key.into());
        let read = api::<C>(self.client(), &key).get(key.name()).await;
        let found = found(read, key.name());
        let found = found.with_context(|| format!("cannot read {} `{key}`", C::kind(&())))?;
        Ok(found.map(|Stripped(object)| Arc::new(object)))
    }

    /// The cached objects of a kind, in all namespaces that the manager watches, with the writes of reconciles like
    /// [`get`](Self::get). Narrow the list down with its methods, and end it with [`all`](List::all) or
    /// [`keys`](List::keys).
    ///
    /// Needs the verbs `list` and `watch` on the kind.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    /// # async fn reconcile(cx: manager::Context<Deployment>) -> anyhow::Result<()> {
    /// # let namespace = "default";
    /// let pods = cx.list::<Pod>().in_namespace(namespace).with_label("app", "web").all()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn list<C: Cached>(&self) -> List<'_, C> {
        self.core.reader.list()
    }

    /// Whether the API server serves the kind `C`, for a kind that may be missing: see
    /// [`Kind::optional`](crate::Kind::optional). It is `true` once all its objects have been listed.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn is_installed<C: Cached>(&self) -> anyhow::Result<bool> {
        self.core.reader.is_installed::<C>()
    }

    /// The cached children of the object, sorted by key: the objects of a kind whose controller owner is this object.
    ///
    /// This needs `.owns(kind::<C>())`; with `.owns(metadata::<C>())`, ask for the `PartialObjectMeta<C>`. Children are found by
    /// an index on the owner's uid, so the children of an earlier object of the same name are not included. A child
    /// that a reconcile has created is included, even if the watch has not delivered it yet.
    ///
    /// Needs the verbs `list` and `watch` on the kind.
    ///
    /// ```
    /// # use k8s_openapi::api::batch::v1::{CronJob, Job};
    /// # async fn reconcile(cx: manager::Context<CronJob>) -> anyhow::Result<()> {
    /// let jobs = cx.children::<Job>()?;
    /// let active = |job: &Job| job.status.as_ref().is_some_and(|status| status.active > Some(0));
    /// let running = jobs.iter().filter(|job| active(job)).count();
    /// # let _ = running;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the controller does not cache this kind; the error names the line to add.
    pub fn children<C: Cached>(&self) -> anyhow::Result<Vec<Arc<C>>> {
        let (reader, kind) = (&self.core.reader, C::kind(&()));
        anyhow::ensure!(
            reader.caches.find::<C>().is_some(),
            "controller `{}` does not cache its children of the kind {kind}\n\
             help: register it with `.owns(kind::<{kind}>())`; `metadata::<{kind}>()` caches \
             `PartialObjectMeta<{kind}>` only",
            self.core.name,
        );
        let uid = self.object.meta().uid.as_deref().unwrap_or_default();
        reader.list().by(controller_uid, uid).all()
    }

    /// The mistakes in the use of this context, if any.
    pub(crate) fn misuse(&self) -> Option<String> {
        self.draft().misuse.take()
    }

    /// Removes what says that the object is paused from the status that this reconcile writes.
    pub(crate) fn resume(&self) {
        if let Some(accessor) = &self.core.conditions {
            self.draft().resume(&self.object, accessor);
        }
    }

    /// The status that says that the object is paused; `None` without conditions.
    pub(crate) fn paused(&self, message: &str) -> Option<Wanted<K>> {
        let accessor = self.core.conditions.as_ref()?;
        let generation = self.object.meta().generation;
        let new = condition::new(PAUSED, true.into(), PAUSED_BY, message, generation);
        let mut draft = self.draft();
        draft.pause(&self.object, accessor, new);
        draft.take()
    }

    /// Notices that the clean-up is not done: it has not succeeded yet, so the failure of an earlier run stays.
    pub(crate) fn goes_on(&self) {
        self.draft().goes_on = true;
    }

    /// Records how the reconcile ended, and takes the wanted status; `None` if the status was not changed.
    pub(crate) fn ended<T>(&self, result: &Result<T, Failure>) -> Option<Wanted<K>> {
        let mut draft = self.draft();
        // A reconcile that panicked or timed out may have set only part of its status.
        if matches!(result, Err(Failure::Panic(_) | Failure::Timeout(_))) {
            draft.discard();
        }
        if let Err(failure) = result
            && failure.retry() == Retry::Never
        {
            self.warning(FAILED, failure.to_string());
        }
        if let Some(accessor) = &self.core.conditions
            && self.core.automatic_ready
        {
            match result {
                Ok(_) => draft.withdraw_failure(&self.object, accessor),
                // The next attempt is about to begin.
                Err(failure)
                    if failure.may_pass()
                        && !self.core.queue.has_failed(&self.key)
                        && draft.keeps_ready(&self.object, accessor) => {}
                Err(failure) => {
                    let reason = failure.waits().unwrap_or(FAILED);
                    draft.fail(&self.object, accessor, reason, &failure.to_string());
                }
            }
        }
        draft.take()
    }

    /// Code that holds the lock leaves the draft consistent at every step, so a poisoned lock is ignored.
    pub(super) fn draft(&self) -> MutexGuard<'_, Draft<K>> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
