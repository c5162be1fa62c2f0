//! Fills a store from a watch, whatever objects it brings and however often it fails.

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
        store::Cache,
        trouble,
    },
    key::Key,
};

/// How long a watch that has failed must go on to count as good although nothing changed. Its beginning has a time limit
/// of half of that, and what it hears then besides changes, kube's watcher keeps to itself.
const GOOD: Duration = Duration::from_secs(60);

/// One watch of a cache: that of one namespace, or of all.
pub(super) struct Follower<'a, K> {
    pub(super) cache: &'a Cache<K>,
    pub(super) namespace: Option<&'a str>,
    /// Its place in the progress of the cache.
    pub(super) place: usize,
    pub(super) reporter: &'a Reporter,
}

impl<K: Cached> Follower<'_, K> {
    /// Follows the objects until dropped.
    ///
    /// The back-off is ours because kube's begins again at each event of the watcher, and that announces each list with
    /// one before it is tried.
    pub(super) async fn follow(&self, client: Client) {
        let api = <K::Scope as Scope>::api::<Lenient<K>>(client, self.namespace);
        let mut events = watcher(api, watcher::Config::default()).boxed();
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
                // It goes on, and nothing has changed.
                Err(_) => true,
            };
            if good && std::mem::take(&mut failing) {
                backoff = Backoff::new();
                self.good_again();
            }
        }
    }

    /// Puts an event into the store, and returns whether it shows that all is well. `listed` are the keys of a list that
    /// is not complete yet.
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
                // Another page may fail each time.
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
