//! Fills a store from a watch, whatever objects it delivers and however often it fails.

use std::{collections::HashSet, time::Duration};

use futures_util::StreamExt as _;
use kube::{
    Api, Client, Resource as _,
    api::{ListParams, WatchEvent},
    runtime::watcher::{self, Error},
};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::{
    cache::{
        course::{Course, Doubt},
        fill::Follower,
        initial::{Events, Watch},
        lenient::Lenient,
        object::{Cached, Scope, later, number, version},
        trouble,
    },
    client::limit::is_exceeded,
    key::Key,
};

/// A watch that ends earlier has failed: without a delay, it would begin again at once, and again. From client-go's
/// reflector.
const SHORT: Duration = Duration::from_secs(1);

/// How long the watch runs that proves that nothing is missing, in seconds. The API server sends a bookmark 2 s before
/// its end (`nextBookmarkTime` of `k8s.io/apiserver/pkg/storage/cacher`), and looks for watches to send one to about once
/// a second.
const PROOF: u32 = 3;

/// How long the request may take for the version that such a watch must reach. Its connection may be dead.
const LATEST: Duration = Duration::from_secs(10);

impl<K: Cached> Follower<'_, K> {
    /// Follows the objects until dropped.
    ///
    /// kube's watcher would do nearly the same. But it cannot go from a streamed list to one in pages, its streamed
    /// list may be older than what this process has seen, it begins a list that ends early again without a delay, and it
    /// never lists again while its watch fails.
    ///
    /// A watch whose connection is dead looks like one of objects that do not change, and so does that of an API server
    /// which lags. If it is doubted, a new one goes on where it was, until it has reached the version that the latest
    /// state had.
    pub(super) async fn follow(&self, client: Client) {
        let api = <K::Scope as Scope>::api::<Lenient<K>>(client, self.namespace);
        let mut course = Course::new();
        tokio::select! {
            biased;
            // Even a list that is under way began too early.
            () = self.cache.progress.doubted() => {}
            () = self.go(&api, &mut course) => {}
        }
        course.doubt();
        self.go(&api, &mut course).await;
    }

    /// Follows the objects until dropped, which may happen at any time.
    async fn go(&self, api: &Api<Lenient<K>>, course: &mut Course<K>) {
        loop {
            let good_at = course.good_at();
            let step = self.step(api, course);
            let result = match good_at {
                Some(at) => timeout_at(at, step).await.unwrap_or(Ok(true)),
                None => step.await,
            };
            match result {
                Ok(works) => {
                    if works && course.recovered() {
                        self.good_again();
                    }
                }
                Err(error) => {
                    let is_first = !course.failing;
                    let wait = course.failed();
                    match &error {
                        // As after a change of the CRD, whose watch cache is new. The list that follows is all it takes.
                        error if is_first && has_expired(error) => {
                            let kind = K::kind(&());
                            let cause = trouble::of::<K>(error).cause;
                            tracing::info!(%kind, namespace = self.namespace, cause, "listing all objects again");
                        }
                        error if !self.cache.presence.is_optional() || !is_missing(error) => {
                            self.failed(error);
                        }
                        Error::InitialListFailed(_) => {
                            self.missing();
                            self.prove(course);
                        }
                        // Another API server may not serve a new kind yet.
                        _ => course.position = None,
                    }
                    sleep(wait).await;
                }
            }
        }
    }

    /// Lists the objects, starts the watch, or takes an event from it: whichever is next. Returns whether that shows
    /// that the watch works. If it is dropped while the watch runs, no event is lost.
    async fn step(&self, api: &Api<Lenient<K>>, course: &mut Course<K>) -> watcher::Result<bool> {
        let due = course.due();
        let Some(at) = course.position.as_mut().filter(|_| Instant::now() < due) else {
            return self.begin(api, course).await;
        };
        let Some(watch) = &mut at.watch else {
            return self.watch(api, course).await.map(|()| false);
        };
        let (next, began) = (timeout_at(due, watch.events.next()).await, watch.began);
        let is_short = began.elapsed() < SHORT;
        match next {
            Ok(Some(Ok(event))) => self.accept(event, course),
            Ok(Some(Err(error))) => {
                // Where the connection is cut, the next watch goes on. But a line that cannot be read may have been a
                // change, and what follows it must not hide that.
                let is_cut = matches!(error, kube::Error::ReadEvents(_));
                if is_cut && !is_short {
                    course.watch_ended();
                } else {
                    course.watch_failed();
                }
                if !is_cut {
                    course.position = None;
                }
                Err(Error::WatchFailed(error))
            }
            Ok(None) if is_short => {
                course.watch_failed();
                let error = "the watch ended as soon as it began";
                Err(Error::WatchFailed(kube::Error::Service(error.into())))
            }
            Ok(None) => {
                course.watch_ended();
                Ok(false)
            }
            Err(_) => Ok(false),
        }
    }

    /// Lists the objects.
    async fn begin(&self, api: &Api<Lenient<K>>, course: &mut Course<K>) -> watcher::Result<bool> {
        // The watch must not go on beside it.
        course.position = None;
        // It is false again once a list has succeeded.
        let is_unlisted = std::mem::replace(&mut course.is_unlisted, true);
        let works = course.listed(self.list(api, is_unlisted).await?);
        self.cache.progress.heard(self.place);
        self.prove(course);
        Ok(works)
    }

    /// Starts the watch.
    async fn watch(&self, api: &Api<Lenient<K>>, course: &mut Course<K>) -> watcher::Result<()> {
        if course.doubt == Doubt::Raised {
            match self.latest(api).await {
                Some(version) => course.doubt = Doubt::Until(version),
                None => course.position = None,
            }
        }
        let Some(at) = &course.position else {
            return Ok(());
        };
        let mut params = self.shape.watch_params();
        params.timeout = (course.doubt != Doubt::None).then_some(PROOF);
        let began = Instant::now();
        match api.watch(&params, &at.version).await {
            Ok(events) => {
                let events: Events<K> = events.boxed();
                if let Some(at) = &mut course.position {
                    at.watch = Some(Watch { events, began });
                }
                Ok(())
            }
            Err(error) => {
                match &error {
                    kube::Error::Api(status) => {
                        course.watch_failed();
                        if status.code == 410 {
                            course.position = None;
                        }
                    }
                    error if is_exceeded(error) => course.watch_failed(),
                    // Nothing answers, so that a list would fail as well. As in client-go's reflector, not all clients
                    // list everything after a restart of the API server.
                    _ => course.watch_ended(),
                }
                Err(Error::WatchStartFailed(error))
            }
        }
    }

    /// The version of the latest state; `None` if the API server does not tell. It must be that of a list without a
    /// version: only that is never out of date.
    async fn latest(&self, api: &Api<Lenient<K>>) -> Option<u128> {
        let params = ListParams {
            limit: Some(1),
            ..self.shape.list_params()
        };
        let list = timeout(LATEST, api.list(&params)).await.ok()?.ok()?;
        number(&list.metadata.resource_version?)
    }

    /// Records that the cache has every change up to now, if that was doubted.
    fn prove(&self, course: &mut Course<K>) {
        if course.doubt != Doubt::None {
            course.doubt = Doubt::None;
            self.cache.progress.prove(self.place);
        }
    }

    /// Applies an event to the store. Returns whether it is a change that was not known.
    fn accept(
        &self,
        event: WatchEvent<Lenient<K>>,
        course: &mut Course<K>,
    ) -> watcher::Result<bool> {
        let (version, is_change) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let version = version(&object).to_owned();
                if !self.is_outdated(&object, course) {
                    self.set(object);
                }
                (version, true)
            }
            WatchEvent::Deleted(object) => {
                if !self.is_outdated(&object, course) {
                    self.cache.remove(&Key::of(&object), object.meta());
                }
                (version(&object).to_owned(), true)
            }
            WatchEvent::Bookmark(bookmark) => (bookmark.metadata.resource_version, false),
            WatchEvent::Error(status) => {
                course.watch_failed();
                // The changes since then are lost.
                if status.code == 410 {
                    course.position = None;
                }
                return Err(Error::WatchError(status.boxed()));
            }
        };
        if version.is_empty() {
            course.watch_failed();
            course.position = None;
            return Err(Error::NoResourceVersion);
        }
        let works = course.reached(version) && is_change;
        if works {
            course.changed();
        }
        self.cache.progress.heard(self.place);
        if course.is_proved() {
            self.prove(course);
        }
        Ok(works)
    }

    /// Whether the list has delivered a later version of this object.
    fn is_outdated(&self, object: &Lenient<K>, course: &Course<K>) -> bool {
        let until = course.position.as_ref().and_then(|at| at.mixed_until);
        let may_be = until >= number(version(object)) && until.is_some();
        let cached = may_be.then(|| self.cache.get(&Key::of(object))).flatten();
        cached.is_some_and(|cached| later(version(&*cached), version(object)))
    }

    /// Logs why the watch fails, once for each cause.
    fn failed(&self, error: &Error) {
        let trouble = trouble::of::<K>(error);
        if self
            .cache
            .progress
            .set_trouble(self.place, Some(trouble.clone()))
        {
            let (kind, namespace) = (K::kind(&()), self.namespace);
            tracing::warn!(%kind, namespace, error = trouble.cause, help = trouble.help, "cannot watch");
        }
    }

    /// Removes the objects of a kind that the API server does not serve.
    fn missing(&self) {
        self.cache.progress.heard(self.place);
        let was_complete = self.cache.progress.is_complete();
        if self.cache.progress.set_absent(self.place) {
            tracing::info!(kind = %K::kind(&()), namespace = self.namespace, "an optional kind is not installed");
            self.cache.retain(self.namespace, &HashSet::new(), "");
            // At start, the controllers wait for all their caches.
            if was_complete {
                self.cache.presence.changed();
            }
        }
    }

    fn good_again(&self) {
        if self.cache.progress.set_trouble(self.place, None) {
            tracing::info!(kind = %K::kind(&()), namespace = self.namespace, "watching again");
        }
    }
}

/// Whether the API server no longer has the changes since the version that a watch began with.
fn has_expired(error: &Error) -> bool {
    let (Error::WatchStartFailed(kube::Error::Api(status)) | Error::WatchError(status)) = error
    else {
        return false;
    };
    status.code == 410
}

/// Whether the API server does not serve the kind.
fn is_missing(error: &Error) -> bool {
    let (Error::InitialListFailed(error) | Error::WatchStartFailed(error)) = error else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
