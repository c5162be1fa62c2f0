//! Takes keys from a queue and reconciles their objects, several at once.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, PoisonError},
    thread,
};

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    backoff::jittered,
    cache::object::{Object, Scope, namespaced},
    causes::{CauseKind, Causes},
    controller::{
        action::{Action, Next},
        outcome::{Done, Failure},
        reconcile::{Errors, Reconciler},
        retry::Retry,
    },
    guard::PLANNED,
    key::Key,
    logs::SPANS,
    queue::Queue,
    simulated::{self, random},
    spawn,
    writes::core::Core,
};

/// The kind that a controller reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconciledKind {
    /// `group/version`, or `v1`.
    pub api_version: String,
    /// Such as `Captain`.
    pub name: String,
    /// Such as `captains`.
    pub plural: String,
    /// Whether its objects have a namespace.
    pub is_namespaced: bool,
}

/// A controller of any kind, as the manager runs it.
pub(crate) trait AnyController: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Enqueues all objects that are cached already, and from now on every object that changes. Call it when this
    /// process leads.
    fn lead(&self);

    /// Reconciles until `stop`, and returns when the reconciles in progress have ended. Dropping it cancels those.
    fn run(self: Arc<Self>, stop: CancellationToken) -> BoxFuture<'static, ()>;

    /// The keys of the objects that are being reconciled now.
    fn under_way(&self) -> Vec<Key>;

    /// Waits until the caches that it needs have synced.
    fn synced(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Whether no reconcile is running or due.
    fn is_idle(&self) -> bool;

    /// The kind that it reconciles.
    fn kind(&self) -> ReconciledKind;

    /// Enqueues all cached objects.
    fn resync(&self);

    /// The keys of the objects whose last reconcile failed, or asked to be repeated at once.
    fn failing(&self) -> Vec<Key>;

    /// The errors of the objects whose last reconcile failed; only in a simulation.
    fn errors(&self) -> BTreeMap<Key, String>;

    /// The fields that are written again and again, as sentences; only in a simulation.
    fn loops(&self) -> Vec<String>;

    /// How many reconciles have panicked.
    fn panics(&self) -> u64;

    /// Reconciles one object once, as soon as the caches have synced. For a namespaced kind, the namespace of `key`
    /// defaults to `default`; otherwise it is ignored.
    fn reconcile_once(self: Arc<Self>, key: Key) -> BoxFuture<'static, anyhow::Result<Action>>;
}

impl<K: Object> AnyController for Reconciler<K> {
    fn name(&self) -> &str {
        &self.core.name
    }

    fn lead(&self) {
        // In this order: a change in between is enqueued twice rather than never.
        self.core.queue.open();
        let keys = self.core.cache.keys();
        self.core.queue.add_all(keys, &CauseKind::Start.into());
    }

    fn run(self: Arc<Self>, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(run(self, stop))
    }

    fn under_way(&self) -> Vec<Key> {
        self.core.queue.processing()
    }

    fn synced(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.core.synced().await })
    }

    fn is_idle(&self) -> bool {
        let core = &self.core;
        core.enqueue(core.appointments.take(core.timer.due()));
        !core.appointments.has_due(core.timer.timestamp()) && core.queue.is_idle()
    }

    fn kind(&self) -> ReconciledKind {
        ReconciledKind {
            api_version: K::api_version(&()).into_owned(),
            name: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
            is_namespaced: <K::Scope as Scope>::NAMESPACED,
        }
    }

    fn resync(&self) {
        let keys = self.core.cache.keys();
        self.core.queue.add_all(keys, &CauseKind::Resync.into());
    }

    fn failing(&self) -> Vec<Key> {
        self.core.queue.failing()
    }

    fn errors(&self) -> BTreeMap<Key, String> {
        locked(&self.errors).clone()
    }

    fn loops(&self) -> Vec<String> {
        self.core.guard.reports()
    }

    fn panics(&self) -> u64 {
        self.core.metrics.panics()
    }

    fn reconcile_once(self: Arc<Self>, key: Key) -> BoxFuture<'static, anyhow::Result<Action>> {
        Box::pin(async move {
            self.core.synced().await;
            let namespace = namespaced::<K>().then(|| key.namespace().unwrap_or("default"));
            let key = Key::new(namespace, key.name());
            match self.reconcile(&key, &Causes::default()).await? {
                Done::Asked(action) => Ok(action),
                Done::Nothing | Done::Paused => Ok(Action::await_change()),
                Done::Gone => anyhow::bail!("{} `{key}` does not exist", K::kind(&())),
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
            due = core.appointments.due(&core.timer) => core.enqueue(due),
            key = core.queue.next() => {
                // Once leadership is lost nothing starts, even before the manager has noticed.
                if stop.run_until_cancelled(core.fence.opened()).await.is_none() {
                    core.queue.done(&key);
                    break;
                }
                spawn::work(&mut under_way, Box::pin(work(controller.clone(), key)));
            }
        }
    }
    while under_way.join_next().await.is_some() {}
}

/// The processing of a key, which ends however its work does.
struct Processing<'a, K> {
    core: &'a Core<K>,
    key: &'a Key,
}

impl<K> Drop for Processing<'_, K> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.core.queue.add_rate_limited(self.key.clone());
        }
        self.core.applied.end(self.key);
        self.core.queue.done(self.key);
    }
}

/// Reconciles one object, and adds its next reconcile to the queue.
async fn work<K: Object>(controller: Arc<Reconciler<K>>, key: Key) {
    let core = &controller.core;
    let _processing = Processing { core, key: &key };
    let causes = core.queue.causes(&key);
    let span = span(&core.name, &K::kind(&()), &key, &causes);
    let done = controller.reconcile(&key, &causes);
    let done = done.instrument(span.clone()).await;
    if let Some(period) = core.resync
        && !matches!(done, Ok(Done::Gone))
    {
        core.queue.resync(key.clone(), jittered(period));
    }
    if simulated::elapsed().is_some() {
        let error = done.as_ref().err();
        if let Some(failure) = error.filter(|failure| failure.waits().is_none()) {
            simulated::failed(&format!("{} `{key}`", core.name), &failure.to_string());
        }
        let error = error.map(|failure| (key.clone(), failure.to_string()));
        let mut errors = locked(&controller.errors);
        errors.remove(&key);
        errors.extend(error);
    }
    match done {
        Ok(done) => {
            next(core, &key, done.next());
        }
        Err(failure) => {
            let _entered = span.enter();
            failed(&core.queue, &key, &failure);
        }
    }
}

/// Code that holds the lock never panics, so a poisoned lock is ignored.
fn locked(errors: &Errors) -> MutexGuard<'_, BTreeMap<Key, String>> {
    errors.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the next reconcile of an object whose last one has succeeded.
fn next<K>(core: &Core<K>, key: &Key, next: Next) {
    let now = match next {
        Next::Change => false,
        Next::After(after) => after.is_zero(),
        Next::At(time) => core.timer.timestamp() >= time,
    };
    if now {
        // A reconcile that always requeues immediately must not keep a processor busy.
        core.queue.again(key.clone());
        return;
    }
    core.queue.forget(key);
    match next {
        Next::Change => {}
        Next::After(after) => core.queue.add_after(key.clone(), after),
        Next::At(time) => core.appointments.add(key.clone(), time),
    }
    let is_planned = match next {
        Next::Change => false,
        Next::After(after) => after >= PLANNED,
        Next::At(_) => true,
    };
    if is_planned {
        core.guard.progress(key);
    }
}

/// Logs why a reconcile failed, and adds the next one to the queue, unless the error is terminal.
fn failed(queue: &Queue, key: &Key, failure: &Failure) {
    let delay = match failure.retry() {
        Retry::Backoff => queue.add_rate_limited(key.clone()),
        Retry::After(delay) => {
            queue.forget(key);
            queue.add_after(key.clone(), delay);
            delay
        }
        Retry::Never => {
            queue.forget(key);
            tracing::error!(error = %failure, "reconcile failed; it is not retried until something changes");
            return;
        }
    };
    if let Some(reason) = failure.waits() {
        tracing::info!(reason, "waiting: {failure}");
    } else {
        tracing::error!(again_in = ?delay, error = %failure, "reconcile failed");
    }
}

/// The fields of each log line of a reconcile, at every level of the log.
fn span(controller: &str, kind: &str, key: &Key, causes: &Causes) -> tracing::Span {
    tracing::error_span!(
        target: SPANS,
        "reconcile",
        controller,
        kind,
        namespace = key.namespace(),
        // Not `name`: in JSON, that is the span's own.
        object = key.name(),
        reconcile_id = %reconcile_id(),
        cause = %causes,
    )
}

/// Distinguishes the log lines of one reconcile from those of another.
fn reconcile_id() -> String {
    format!("{:016x}", random())
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Mutex, time::Duration};

    use k8s_openapi::api::core::v1::ConfigMap;
    use kbr_testing::{FakeApi, eventually};
    use serde_json::Value;
    use tokio::{sync::mpsc, time::timeout};
    use tracing_subscriber::{Layer as _, fmt, layer::SubscriberExt as _};

    use super::*;
    use crate::{harness, logs};

    const SOON: Duration = Duration::from_secs(60);

    fn put(api: &FakeApi, name: &str) {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        api.put(&object);
    }

    #[tokio::test]
    async fn a_fence_that_is_closed_for_a_moment_only_delays_reconciles() {
        let (api, (done, mut reconciled)) = (FakeApi::new(), mpsc::unbounded_channel());
        let mut manager = harness::on(&api);
        manager.options.health_probe_bind_address = "0".parse().unwrap();
        let controller = manager.controller::<ConfigMap>("map");
        controller.reconcile(move |map, _| {
            let _ = done.send(Key::of(&*map));
            async { Ok(Action::await_change()) }
        });
        let (fence, controller) = (manager.fence.clone(), manager.controllers[0].clone());
        put(&api, "a");
        let running = tokio::spawn(async move { manager.run_until(std::future::pending()).await });
        assert_eq!(reconciled.recv().await, Some("default/a".into()));

        fence.close();
        put(&api, "b");
        let waits = async || Ok((controller.under_way() == ["default/b".into()]).then_some(()));
        eventually(SOON, "a worker has `b`", waits).await.unwrap();
        assert!(reconciled.try_recv().is_err());
        fence.open();
        let next = timeout(SOON, reconciled.recv()).await.unwrap();
        assert_eq!(next, Some("default/b".into()));
        running.abort();
    }

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_reconcile_names_its_object_at_every_level_of_the_log() {
        for level in ["info", "warn", "error", "manager=error"] {
            let log = Log::default();
            let writer = log.clone();
            let lines = fmt::layer().json().with_writer(move || writer.clone());
            let lines = lines.with_filter(logs::filter(level).unwrap());
            let subscriber = tracing_subscriber::registry().with(lines);
            tracing::subscriber::with_default(subscriber, || {
                let (key, causes) = (Key::from("crew/nemo"), CauseKind::Start.into());
                let _entered = span("captain", "Captain", &key, &causes).entered();
                tracing::error!("reconcile failed");
            });
            let line: Value = serde_json::from_slice(&log.0.lock().unwrap()).unwrap();
            let span = &line["span"];
            assert_eq!(span["controller"], "captain", "{level}: {line}");
            assert_eq!(span["kind"], "Captain", "{level}");
            assert_eq!(span["namespace"], "crew", "{level}");
            assert_eq!(span["cause"], "start", "{level}");
            // `name` is the span's own.
            assert_eq!(span["object"], "nemo", "{level}");
            assert_eq!(span["name"], "reconcile", "{level}");
        }
    }
}
