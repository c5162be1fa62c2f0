//! Declares the kinds that every replica caches, for code outside of controllers.

use crate::{
    cache::{caches::first_end, object::Cached, reader::Reader},
    manager::Manager,
    run::incomplete,
};

impl Manager {
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
    /// [optional](crate::WatchedKind::optional).
    pub fn reads<C: Cached>(&mut self) {
        let cache = self.caches.of::<C>();
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
