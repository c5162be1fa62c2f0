//! Takes keys from a queue and reconciles what they name, several at once.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    cache::object::Object,
    controller::{action::Next, reconcile::Reconciler},
    key::Key,
};
#[cfg(any(test, feature = "testing"))]
use crate::{
    cache::object::namespaced,
    controller::{action::Action, outcome::Done},
};

/// A controller of any kind, as the manager runs it.
pub(crate) trait AnyController: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Reconciles until `stop`, and returns when what was under way has ended. Dropping it cancels that.
    fn run(self: Arc<Self>, stop: CancellationToken) -> BoxFuture<'static, ()>;

    /// What is being reconciled now.
    fn under_way(&self) -> Vec<Key>;

    /// Waits until the caches that it needs are complete.
    #[cfg(any(test, feature = "testing"))]
    fn complete(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Whether no reconcile is under way, and none is due.
    #[cfg(any(test, feature = "testing"))]
    fn is_idle(&self) -> bool;

    /// Reconciles one object once, as soon as the caches are complete. The namespace of `key` counts only for a kind
    /// that has namespaces, and is `default` if there is none.
    #[cfg(any(test, feature = "testing"))]
    fn reconcile_once(self: Arc<Self>, key: Key) -> BoxFuture<'static, anyhow::Result<Action>>;
}

impl<K: Object> AnyController for Reconciler<K> {
    fn name(&self) -> &str {
        &self.core.name
    }

    fn run(self: Arc<Self>, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(run(self, stop))
    }

    fn under_way(&self) -> Vec<Key> {
        self.core.queue.processing()
    }

    #[cfg(any(test, feature = "testing"))]
    fn complete(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.core.synced().await })
    }

    #[cfg(any(test, feature = "testing"))]
    fn is_idle(&self) -> bool {
        self.core.queue.is_idle()
    }

    #[cfg(any(test, feature = "testing"))]
    fn reconcile_once(self: Arc<Self>, key: Key) -> BoxFuture<'static, anyhow::Result<Action>> {
        Box::pin(async move {
            self.core.synced().await;
            let namespace = namespaced::<K>().then(|| key.namespace().unwrap_or("default"));
            let key = Key::new(namespace, key.name());
            match self.reconcile(&key).await? {
                Done::Asked(action) => Ok(action),
                Done::Nothing => Ok(Action::await_change()),
                Done::Gone => anyhow::bail!("there is no {} `{key}`", K::kind(&())),
            }
        })
    }
}

async fn run<K: Object>(controller: Arc<Reconciler<K>>, stop: CancellationToken) {
    let core = &controller.core;
    for source in &core.sources {
        tracing::info!(
            controller = core.name,
            kind = source.kind,
            "starting event source"
        );
    }
    tracing::info!(controller = core.name, kind = %K::kind(&()), "starting controller");
    if stop.run_until_cancelled(core.synced()).await.is_none() {
        return;
    }
    tracing::info!(
        controller = core.name,
        workers = core.concurrency,
        "starting workers"
    );

    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = under_way.join_next() => {}
            key = core.queue.next(), if under_way.len() < core.concurrency => {
                // After leadership was lost nothing starts, even before the manager has noticed.
                if !core.fence.is_open() {
                    break;
                }
                under_way.spawn(work(controller.clone(), key));
            }
        }
    }
    while under_way.join_next().await.is_some() {}
}

/// Reconciles one object, and says in the queue what comes next.
async fn work<K: Object>(controller: Arc<Reconciler<K>>, key: Key) {
    let core = &controller.core;
    let span = tracing::info_span!(
        "reconcile",
        controller = core.name,
        namespace = key.namespace(),
        name = key.name(),
        reconcile_id = %reconcile_id(),
    );
    let done = controller.reconcile(&key).instrument(span.clone()).await;
    match done {
        Ok(done) => {
            let after = match done.next() {
                Next::Change => None,
                Next::After(after) => Some(after),
                Next::At(time) => Some(core.timer.until_timestamp(time)),
            };
            match after {
                None => core.queue.forget(&key),
                // Who wants to be called at once, again and again, must not keep a processor busy.
                Some(Duration::ZERO) => drop(core.queue.add_rate_limited(key.clone())),
                Some(after) => {
                    core.queue.forget(&key);
                    core.queue.add_after(key.clone(), after);
                }
            }
        }
        Err(failure) => {
            let delay = core.queue.add_rate_limited(key.clone());
            let _entered = span.enter();
            tracing::error!(error = %failure, again_in = ?delay, "reconcile failed");
        }
    }
    if !core.queue.done(&key) {
        core.applied.drop_answers(&key);
    }
}

/// Tells the lines of one reconcile from those of another in the log.
fn reconcile_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    // Random, from the standard library's source of it.
    format!("{:016x}", RandomState::new().hash_one(0_u8))
}
