//! Fills a store from a watch, whatever objects it delivers and however often it fails.

use std::{collections::HashSet, time::Duration};

use futures_util::StreamExt;
use kube::{
    Client,
    runtime::watcher::{self, Event, watcher},
};
use tokio::time::{sleep, timeout};

use crate::{
    backoff::Backoff,
    cache::{
        lenient::Lenient,
        object::{Cached, Scope},
        report::Reporter,
        shape::Shape,
        store::Cache,
        trouble,
    },
    key::Key,
};

/// How long a watch that has failed must run without changes to count as recovered. Its start has a time limit of half
/// of that, and kube's watcher does not report what it receives besides changes.
const GOOD: Duration = Duration::from_secs(60);

/// One watch of a cache: of one namespace, or of all.
pub(super) struct Follower<'a, K> {
    pub(super) cache: &'a Cache<K>,
    pub(super) shape: &'a Shape<K>,
    pub(super) namespace: Option<&'a str>,
    /// Its index in the progress of the cache.
    pub(super) place: usize,
    pub(super) reporter: &'a Reporter,
}

impl<K: Cached> Follower<'_, K> {
    /// Follows the objects until dropped.
    ///
    /// This uses its own back-off, because kube's is reset by each event of the watcher, and the watcher announces each
    /// list with an event before it tries it.
    pub(super) async fn follow(&self, client: Client) {
        let api = <K::Scope as Scope>::api::<Lenient<K>>(client, self.namespace);
        let mut events = watcher(api, self.shape.config()).boxed();
        let (mut failing, mut backoff) = (false, Backoff::new());
        let mut listed = None;
        loop {
            let next = events.next();
            let event = if failing && listed.is_none() {
                timeout(GOOD, next).await
            } else {
                Ok(next.await)
            };
            let good = match event {
                Ok(None) => return,
                Ok(Some(Ok(event))) => self.accept(event, &mut listed),
                Ok(Some(Err(error))) => {
                    failing = true;
                    self.failed(&error);
                    sleep(backoff.failure()).await;
                    false
                }
                // The watch is running, and nothing has changed.
                Err(_) => true,
            };
            if good && std::mem::take(&mut failing) {
                backoff = Backoff::new();
                self.good_again();
            }
        }
    }

    /// Applies an event to the store, and returns whether it shows that the watch works. `listed` holds the keys of a
    /// list that is not complete yet.
    fn accept(&self, event: Event<Lenient<K>>, listed: &mut Option<HashSet<Key>>) -> bool {
        match event {
            Event::Init => {
                *listed = Some(HashSet::new());
                return false;
            }
            Event::InitApply(object) => {
                let key = self.set(object);
                if let Some(listed) = listed {
                    listed.insert(key);
                }
                // The next page may fail each time.
                return false;
            }
            Event::InitDone => {
                if let Some(listed) = listed.take() {
                    self.cache.retain(self.namespace, &listed);
                }
                self.cache.progress.listed(self.place);
            }
            Event::Apply(object) => drop(self.set(object)),
            Event::Delete(object) => self.cache.remove(&Key::of(&object)),
        }
        true
    }

    fn set(&self, object: Lenient<K>) -> Key {
        let key = Key::of(&object);
        let object = match object {
            Lenient::Object(object) => self.shape.transformed(object),
            unreadable @ Lenient::Unreadable(_) => unreadable,
        };
        match object {
            Lenient::Object(object) => {
                if self.cache.set(&key, &object) {
                    tracing::info!(kind = %K::kind(&()), %key, "an object can be read again");
                }
            }
            Lenient::Unreadable(object) => {
                if let Some(object) = self.cache.set_unreadable(&key, *object) {
                    self.reporter.unreadable::<K>(&key, &object);
                }
            }
        }
        key
    }

    /// Logs why the watch fails, once for each cause.
    fn failed(&self, error: &watcher::Error) {
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

    fn good_again(&self) {
        if self.cache.progress.set_trouble(self.place, None) {
            tracing::info!(kind = %K::kind(&()), namespace = self.namespace, "watching again");
        }
    }
}
