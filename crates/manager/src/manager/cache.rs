//! The caches of a manager: their configuration, and the kinds that every replica caches, for code outside of controllers.

use std::{fmt, sync::Arc};

use kube::core::{Expression, Selector};

use crate::{
    cache::{
        caches::first_end,
        object::{Cached, namespaced},
        reader::Reader,
        shape::Shape,
        store::Cache,
    },
    controller::kind::Kind,
    manager::{Manager, run::incomplete},
};

impl Manager {
    /// Configures the cache of `C`, which all controllers share: which objects it holds, and what of them. Without
    /// this, it holds every object of the kind whole, which costs memory: of Secrets, `ConfigMap`s, Pods and Events, a
    /// cluster has thousands that an operator never reads.
    ///
    /// Call it once for each kind, before or after the controllers are registered. What `.owns(metadata::<C>())` caches is a kind
    /// of its own: configure `PartialObjectMeta<C>`.
    ///
    /// To all controllers, an object outside the selection does not exist: [`Context::get`](crate::Context::get)
    /// returns `None`, [`Context::list`](crate::Context::list) leaves it out, and its changes trigger nothing. One that
    /// leaves the selection, because it loses the label, looks like a deleted one, and no clean-up runs for it. Reads
    /// through [`Context::client`](crate::Context::client) see all objects.
    ///
    /// It is controller-runtime's `cache.Options.ByObject`.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::{Pod, Secret}};
    /// # use manager::{Action, Manager, kind, metadata};
    /// // +kbr:rbac:groups=core,resources=secrets;pods,verbs=list;watch
    /// fn register(manager: &mut Manager) {
    ///     manager.cache::<Secret>().with_label("app.kubernetes.io/part-of", "captains");
    ///     manager
    ///         .cache::<Pod>()
    ///         .fields("status.phase!=Succeeded,status.phase!=Failed")
    ///         .transform(|pod| {
    ///             pod.metadata.annotations = None;
    ///             pod.spec = None;
    ///         });
    ///     manager
    ///         .controller::<Deployment>("deployment")
    ///         .reads(kind::<Secret>())
    ///         .reads(kind::<Pod>())
    ///         .reconcile(async |_, _| Ok(Action::await_change()));
    /// }
    /// ```
    ///
    /// # Errors
    /// [`run`](Self::run) fails if a cache is configured twice, or if nothing uses it.
    pub fn cache<C: Cached>(&mut self) -> CacheConfig<'_, C> {
        let cache = self.caches.of::<C>();
        let name = Shape::<C>::written();
        if cache.shape().configured {
            self.mistakes.push(format!(
                "`manager.cache::<{name}>()` is called twice, and all controllers share one cache\n\
                 help: configure it once, with all that they need"
            ));
        }
        cache.configure(|shape| shape.configured = true);
        CacheConfig {
            manager: self,
            cache,
        }
    }

    /// Caches the objects of `C` in every replica, for code outside of controllers: webhooks read them with
    /// [`cx.cached()`](crate::webhook::Request::cached), tasks with [`Running::cached`](crate::Running::cached), and
    /// everything else with [`reader`](Self::reader). Those are all objects of the kind, unless [`cache`](Self::cache)
    /// selects some.
    ///
    /// Controllers read them as well once they are declared with [`Controller::reads`](crate::Controller::reads), or as
    /// a kind that triggers reconciles; there is one cache for all. A kind that only controllers read needs no
    /// `manager.reads`: the leader alone caches it.
    ///
    /// Needs the verbs `list` and `watch` on `C`. A replica that cannot list the objects within `--cache-sync-timeout`
    /// ends with an error, also if the kind is not installed: only kinds of controllers can be
    /// [optional](crate::Kind::optional).
    pub fn reads<C: Cached, M: Cached>(&mut self, kind: Kind<C, M>) {
        let (is_optional, mistake) = kind.read_only();
        self.mistakes.extend(mistake);
        if is_optional {
            let name = C::kind(&());
            self.mistakes.push(format!(
                "`manager.reads(kind::<{name}>().optional())` cannot start without the kind\n\
                 help: leave `.optional()` out, or read it in a controller"
            ));
        }
        let cache = self.caches.of::<M>();
        cache.presence.set_used();
        self.reader.caches.add(cache);
    }

    /// Reads the kinds that were declared with [`reads`](Self::reads), before or after this call. A read fails until
    /// all objects of its kind have been listed; [`Reader::synced`] waits for that.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Fills these caches for as long as the returned future exists. It returns why one of them failed.
    pub(crate) fn cache_everywhere(&self) -> impl Future<Output = anyhow::Error> + use<> {
        let (caches, client) = (self.reader.caches.clone(), &self.clients.always);
        let mut watches = caches.start(client, &self.options.namespaces(), &self.reporter());
        let limit = self.options.cache_sync_timeout;
        let incomplete = incomplete(caches, self.health.clone(), limit);
        async move {
            tokio::select! {
                biased;
                error = first_end(&mut watches) => error,
                error = incomplete => error,
            }
        }
    }
}

/// The configuration of a cache, made by [`Manager::cache`].
pub struct CacheConfig<'a, C> {
    manager: &'a mut Manager,
    cache: Arc<Cache<C>>,
}

impl<C> fmt::Debug for CacheConfig<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheConfig").finish_non_exhaustive()
    }
}

impl<C: Cached> CacheConfig<'_, C> {
    /// Caches only the objects with this label. Called again, only those that have all the labels.
    ///
    /// Children need the label, too: [`Context::apply`](crate::Context::apply) and
    /// [`Context::create`](crate::Context::create) fail for a child without it, because its changes would be missed.
    pub fn with_label(&mut self, label: &str, value: &str) -> &mut Self {
        self.matching(Expression::Equal(label.to_owned(), value.to_owned()))
    }

    /// Caches only the objects whose labels match: kube's [`Selector`], which can be made from a `LabelSelector`, or an
    /// [`Expression`]. Otherwise it is like [`with_label`](Self::with_label).
    pub fn matching(&mut self, labels: impl Into<Selector>) -> &mut Self {
        let labels = labels.into();
        self.shape(|shape| {
            shape.labels.extend(labels);
        })
    }

    /// Caches only the objects that this field selector selects, such as `status.phase!=Succeeded` for Pods or
    /// `type=kubernetes.io/tls` for Secrets.
    ///
    /// The API server supports `metadata.name` and `metadata.namespace` for every kind, a few more for some of its own,
    /// and `selectableFields` for a CRD. If it does not support a field, the cache does not sync: `cannot watch` is
    /// logged with its answer, and the leader ends after `--cache-sync-timeout`. Whether a child is selected, the
    /// manager cannot know: one that is not is applied again in each reconcile.
    pub fn fields(&mut self, selector: &str) -> &mut Self {
        self.shape(|shape| {
            if !shape.fields.is_empty() {
                shape.fields.push(',');
            }
            shape.fields.push_str(selector);
        })
    }

    /// Caches the objects of these namespaces, instead of those of `--watch-namespace`, or of all. The operator needs
    /// the permissions for the kind in each of them.
    ///
    /// # Errors
    /// [`Manager::run`] fails if there are none, or if the kind is cluster-scoped.
    pub fn in_namespaces<N: Into<String>>(
        &mut self,
        namespaces: impl IntoIterator<Item = N>,
    ) -> &mut Self {
        let mut namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
        namespaces.sort();
        namespaces.dedup();
        let name = Shape::<C>::written();
        if !namespaced::<C>() {
            self.mistake(format!(
                "`manager.cache::<{name}>()` has namespaces, and the kind is cluster-scoped\n\
                 help: remove `in_namespaces`"
            ));
        } else if namespaces.iter().all(String::is_empty) {
            self.mistake(format!(
                "`manager.cache::<{name}>().in_namespaces(…)` names no namespace\n\
                 help: name one, or remove it for those of `--watch-namespace`"
            ));
        }
        self.shape(|shape| shape.namespaces = Some(namespaces))
    }

    /// Lists this many objects with each request, instead of 500, where the API server does not stream lists. Fewer limit
    /// the memory for the list of a kind with large objects, whose answers are parsed one at a time. In a
    /// streamed list, each object is parsed by itself.
    ///
    /// # Errors
    /// [`Manager::run`] fails if it is 0.
    pub fn page_size(&mut self, objects: u32) -> &mut Self {
        if objects == 0 {
            self.mistake(format!(
                "`manager.cache::<{}>()` lists nothing: `page_size` is 0\n\
                 help: let it be 1 or more",
                Shape::<C>::written(),
            ));
        }
        self.shape(|shape| shape.page_size = Some(objects))
    }

    /// Calls `transform` on each object before it is cached, to drop what no controller reads. Managed fields are
    /// dropped already. It is controller-runtime's `Transform`.
    ///
    /// It must return the same for the same object, and leave the name, the namespace, the uid, the resource version,
    /// the generation, the deletion timestamp, the finalizers, the labels and the owner references as they are. An
    /// object for which it panics is skipped and reported, like one that cannot be read.
    ///
    /// Do not send a cached object back whole, because what was dropped would be lost.
    /// [`Context::update`](crate::Context::update) and the status keep it: they send only what they change, and read the object
    /// before they change a list. [`Context::apply`](crate::Context::apply) returns the whole child, which it reads if that was
    /// cached in part.
    ///
    /// # Errors
    /// [`Manager::run`] fails if it is called twice.
    pub fn transform(&mut self, transform: impl Fn(&mut C) + Send + Sync + 'static) -> &mut Self {
        if self.cache.shape().transforms() {
            self.mistake(format!(
                "`manager.cache::<{}>()` has two transforms\n\
                 help: do in one what both do",
                Shape::<C>::written(),
            ));
        }
        self.shape(|shape| shape.transform = Some(Arc::new(transform)))
    }

    fn shape(&mut self, change: impl FnOnce(&mut Shape<C>)) -> &mut Self {
        self.cache.configure(change);
        self
    }

    fn mistake(&mut self, text: String) {
        self.manager.mistakes.push(text);
    }
}
