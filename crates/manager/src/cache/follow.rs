//! Fills a store from a watch, whatever objects it delivers and however often it fails.

use std::{collections::HashSet, time::Duration};

use futures_util::StreamExt as _;
use kube::{
    Api, Client, Resource as _,
    api::WatchEvent,
    runtime::watcher::{self, Error},
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    backoff::Backoff,
    cache::{
        fill::Follower,
        initial::{Position, Watch},
        lenient::Lenient,
        object::{Cached, Scope, version},
        trouble,
    },
    key::Key,
};

/// How long a watch that has failed must run without an event to count as recovered. Its start has a time limit of half
/// of that.
const GOOD: Duration = Duration::from_secs(60);

/// How long a watch may be without an event. The API server ends it after 290 s; without bookmarks, a connection that
/// was lost silently is noticed only here.
const IDLE: Duration = Duration::from_secs(295);

/// A watch that ends earlier, without an event, has failed: without a delay, it would begin again at once, and again. From
/// client-go's reflector.
const SHORT: Duration = Duration::from_secs(1);

/// How long the watch runs that proves that nothing is missing, in seconds: the shortest time for which the API server can
/// be asked. It must not be [short](SHORT).
const PROOF: u32 = 1;

/// If that watch has so many events, it may have ended before the API server had sent all of them. It sends several
/// thousands a second.
const MANY: usize = 1_000;

/// What a follower knows of its watch.
struct Course<K> {
    position: Option<Position<K>>,
    failing: bool,
    backoff: Backoff,
    /// Whether it has yet to prove that it has delivered everything.
    doubted: bool,
}

impl<K> Course<K> {
    fn new() -> Self {
        Self {
            position: None,
            failing: false,
            backoff: Backoff::new(),
            doubted: false,
        }
    }

    /// Goes on from where it is with a new watch, whose connection may be better.
    fn doubt(&mut self) {
        self.doubted = true;
        self.backoff = Backoff::new();
        if let Some(at) = &mut self.position {
            at.watch = None;
        }
    }
}

impl<K: Cached> Follower<'_, K> {
    /// Follows the objects until dropped.
    ///
    /// kube's watcher would do nearly the same. But it cannot go from a streamed list to one in pages, its streamed
    /// list may be older than what this process has seen, and it begins a list that ends early again without a delay.
    ///
    /// A watch whose connection is dead looks like one of objects that do not change. If it is doubted, a new one goes
    /// on where it was, for a second: the API server first sends what it has, so that is all once the watch ends.
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
            let position = course.position.as_ref();
            let quiet = course.failing && position.is_some_and(Position::is_watched);
            let step = self.step(api, course);
            let result = if quiet {
                // If nothing has changed, the watch works.
                timeout(GOOD, step).await.unwrap_or(Ok(true))
            } else {
                step.await
            };
            match result {
                Ok(good) => {
                    if good && std::mem::take(&mut course.failing) {
                        course.backoff = Backoff::new();
                        self.good_again();
                    }
                }
                Err(error) => {
                    course.failing = true;
                    if !self.cache.presence.is_optional() || !is_missing(&error) {
                        self.failed(&error);
                    } else if course.position.take().is_none() {
                        // Not at the end of a watch: another API server may not serve a new kind yet.
                        self.missing();
                        self.prove(course);
                    }
                    sleep(course.backoff.failure()).await;
                }
            }
        }
    }

    /// Lists the objects, starts the watch, or takes an event from it: whichever is next. Returns whether that shows
    /// that the watch works. If it is dropped while the watch runs, no event is lost.
    async fn step(&self, api: &Api<Lenient<K>>, course: &mut Course<K>) -> watcher::Result<bool> {
        let Some(at) = &mut course.position else {
            course.position = Some(self.list(api).await?);
            self.prove(course);
            return Ok(true);
        };
        let Some(watch) = &mut at.watch else {
            let mut params = self.shape.watch_params();
            params.timeout = course.doubted.then_some(PROOF);
            let began = Instant::now();
            match api.watch(&params, &at.version).await {
                Ok(events) => at.watch = Some(Watch::new(events.boxed(), began)),
                Err(error) => {
                    if matches!(&error, kube::Error::Api(status) if status.code == 410) {
                        course.position = None;
                    }
                    return Err(Error::WatchStartFailed(error));
                }
            }
            return Ok(false);
        };
        match timeout(IDLE, watch.events.next()).await {
            Ok(Some(Ok(event))) => {
                watch.count += 1;
                self.accept(event, &mut course.position)
            }
            Ok(Some(Err(error))) => {
                at.watch = None;
                // Where the connection is cut, the next watch goes on. But a line that cannot be read may have been a
                // change, and what follows it must not hide that.
                if !matches!(error, kube::Error::ReadEvents(_)) {
                    course.position = None;
                }
                Err(Error::WatchFailed(error))
            }
            Ok(None) | Err(_) => {
                let (is_short, count) = (watch.began.elapsed() < SHORT, watch.count);
                at.watch = None;
                if is_short && count == 0 {
                    let error = "the watch ended as soon as it began";
                    return Err(Error::WatchFailed(kube::Error::Service(error.into())));
                }
                if !is_short && count < MANY {
                    self.prove(course);
                }
                Ok(false)
            }
        }
    }

    /// Records that the cache has every change up to now, if that was doubted.
    fn prove(&self, course: &mut Course<K>) {
        if std::mem::take(&mut course.doubted) {
            self.cache.progress.prove(self.place);
        }
    }

    /// Applies an event to the store.
    fn accept(
        &self,
        event: WatchEvent<Lenient<K>>,
        position: &mut Option<Position<K>>,
    ) -> watcher::Result<bool> {
        let version = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let version = version(&object).to_owned();
                self.set(object);
                version
            }
            WatchEvent::Deleted(object) => {
                self.cache.remove(&Key::of(&object), object.meta());
                version(&object).to_owned()
            }
            WatchEvent::Bookmark(bookmark) => bookmark.metadata.resource_version,
            WatchEvent::Error(status) => {
                // The changes since then are lost.
                if status.code == 410 {
                    *position = None;
                }
                return Err(Error::WatchError(status.boxed()));
            }
        };
        if version.is_empty() {
            *position = None;
            return Err(Error::NoResourceVersion);
        }
        if let Some(at) = position {
            at.version = version;
        }
        Ok(true)
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

/// Whether the API server does not serve the kind.
fn is_missing(error: &Error) -> bool {
    let (Error::InitialListFailed(error) | Error::WatchStartFailed(error)) = error else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
