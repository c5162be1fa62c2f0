//! One reconcile of one object, from its finalizer to its status.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use tokio::{
    task::{JoinError, JoinHandle},
    time::timeout,
};
use tracing::Instrument;

use crate::{
    cache::object::Object,
    causes::{CauseKind, Causes},
    controller::{
        action::Action,
        context::Context,
        outcome::{self, Done, Failure},
        retry::Retry,
    },
    controls::{Controls, Pause},
    key::Key,
    leader::fence::Refused,
    panics::{self, unwound},
    spawn::AbortOnDrop,
    writes::{condition, core::Core, finalizer, mark::annotate, status},
};

/// How long a cancelled reconcile may take to end before the process counts as unhealthy.
const CANCELLATION: Duration = Duration::from_secs(10);

/// The reason of the event about an object that is no longer paused.
const RESUMED: &str = "Resumed";

/// The user's function for a reconcile or a clean-up.
pub(crate) type Function<K> =
    Arc<dyn Fn(Arc<K>, Context<K>) -> BoxFuture<'static, anyhow::Result<Action>> + Send + Sync>;

/// A controller of `K`, and the user's functions that it calls.
pub(crate) struct Reconciler<K> {
    pub(crate) core: Arc<Core<K>>,
    pub(crate) reconcile: Function<K>,
    /// The names of the finalizers, each with the clean-up to run before it is removed.
    pub(crate) finalizers: Vec<(String, Function<K>)>,
    pub(crate) controls: Arc<Controls<K>>,
    pub(crate) errors: Errors,
    pub(crate) held: Held,
}

/// The objects that have been found to be paused.
pub(crate) type Held = Mutex<HashSet<Key>>;

/// The errors of the objects whose last reconcile failed; only in a simulation.
pub(crate) type Errors = Mutex<BTreeMap<Key, String>>;

impl<K: Object> Reconciler<K> {
    /// Reconciles the object with this key.
    pub(crate) async fn reconcile(&self, key: &Key, causes: &Causes) -> Result<Done, Failure> {
        let core = &self.core;
        let Some(object) = core.current(key) else {
            self.held().remove(key);
            core.guard.forget(key);
            return Ok(Done::Gone);
        };
        let started = Instant::now();
        let active = core.metrics.started();
        core.metrics.caused(causes);
        core.guard.begins(key, causes);
        // User code also runs outside the reconcile function, for example `Serialize` of the status.
        let done = unwound(self.step(key, object, causes)).await;
        let done = done.unwrap_or_else(|message| Err(Failure::Panic(message)));
        drop(active);
        outcome::count(&core.metrics, &done, started.elapsed());
        done
    }

    /// Does the next step for the state of the object.
    async fn step(&self, key: &Key, mut object: Arc<K>, causes: &Causes) -> Result<Done, Failure> {
        let core = &self.core;
        let is_deleted = object.meta().deletion_timestamp.is_some();
        match self.controls.pause(&object) {
            Pause::All => return self.hold(key, object, Pause::All).await,
            Pause::Reconciles if !is_deleted => {
                return self.hold(key, object, Pause::Reconciles).await;
            }
            Pause::Reconciles | Pause::Nothing => {}
        }
        if is_deleted {
            return self.clean_up(key, object, causes).await;
        }
        if !self
            .finalizers
            .iter()
            .all(|it| finalizer::has(&*object, &it.0))
        {
            let names: Vec<_> = self.finalizers.iter().map(|it| &*it.0).collect();
            let added = finalizer::add(core, key, object.clone(), &names).await;
            match reported(core, key, object, added).await? {
                Some(added) => object = added,
                None => return Ok(Done::Nothing),
            }
        }
        let was_held = self.held().contains(key);
        let cx = Context::new(core.clone(), object.clone(), key.clone(), causes.clone());
        // At start, another process may have found it paused.
        if was_held || causes.has(CauseKind::Start) {
            cx.resume();
        }
        let action = run(cx, &self.reconcile).await?;
        if was_held {
            self.held().remove(key);
            if core.conditions.is_none() {
                self.tell(&object, RESUMED, "reconciles are no longer paused");
            }
        }
        if let Some(value) = self.controls.asked(&object) {
            let now = current(core, key, object.clone());
            annotate(core, key, now, &self.controls.reconciled_at, value).await?;
        }
        Ok(Done::Asked(action))
    }

    /// Shows that the object is paused, and leaves it alone.
    async fn hold(&self, key: &Key, object: Arc<K>, pause: Pause) -> Result<Done, Failure> {
        let core = &self.core;
        let what = if pause == Pause::All {
            "reconciles and clean-up are paused"
        } else {
            "reconciles are paused, but not the clean-up"
        };
        let annotations = object.meta().annotations.as_ref();
        let annotation = &self.controls.paused;
        let message = if annotations.is_some_and(|all| all.contains_key(annotation)) {
            format!("{what}: see the annotation `{annotation}`")
        } else {
            what.to_owned()
        };
        let is_new = self.held().insert(key.clone());
        if core.conditions.is_some() {
            let cx = Context::new(core.clone(), object.clone(), key.clone(), Causes::default());
            if let Some(wanted) = cx.paused(&message) {
                status::write(core, key, &*object, &wanted).await?;
            }
        } else if is_new {
            self.tell(&object, condition::PAUSED, &message);
        }
        Ok(Done::Paused)
    }

    /// Publishes an event on the object.
    fn tell(&self, object: &Arc<K>, reason: &str, note: &str) {
        let (key, core) = (Key::of(&**object), self.core.clone());
        let cx = Context::new(core, object.clone(), key, Causes::default());
        cx.event(reason, note);
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn held(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the clean-ups whose finalizers the object has, and removes each when it is done.
    async fn clean_up(
        &self,
        key: &Key,
        mut object: Arc<K>,
        causes: &Causes,
    ) -> Result<Done, Failure> {
        let (core, mut done) = (&self.core, Done::Nothing);
        for (name, cleanup) in &self.finalizers {
            if !finalizer::has(&*object, name) {
                continue;
            }
            let cx = Context::new(core.clone(), object.clone(), key.clone(), causes.clone());
            let action = run(cx, cleanup).await?;
            done = Done::Asked(action);
            if action != Action::await_change() {
                break;
            }
            // The clean-up may have written the status since, or another object may have the name by now.
            object = current(core, key, object);
            let removed = finalizer::remove(core, key, object.clone(), name).await;
            reported(core, key, object.clone(), removed).await?;
            object = current(core, key, object);
        }
        Ok(done)
    }
}

/// The object as it is known by now, if it is still the same one.
fn current<K: Object>(core: &Core<K>, key: &Key, object: Arc<K>) -> Arc<K> {
    let current = core.current(key);
    let current = current.filter(|now| now.meta().uid == object.meta().uid);
    current.unwrap_or(object)
}

/// Runs a user function, and writes the status that it wants.
async fn run<K: Object>(cx: Context<K>, function: &Function<K>) -> Result<Action, Failure> {
    let (core, object) = (cx.core.clone(), cx.object().clone());
    let is_cleanup = object.meta().deletion_timestamp.is_some();
    let mut result = guarded(&core, function, object, cx.clone()).await;
    if let (Ok(_), Some(misuse)) = (&result, cx.misuse()) {
        result = Err(anyhow::Error::msg(misuse).into());
    }
    if is_cleanup
        && result
            .as_ref()
            .is_ok_and(|action| *action != Action::await_change())
    {
        cx.goes_on();
    }
    ended(&cx, result).await
}

/// The result of a change of the finalizers of `object`. A failure is shown in its status, like that of a user function.
async fn reported<K: Object, T>(
    core: &Arc<Core<K>>,
    key: &Key,
    object: Arc<K>,
    result: anyhow::Result<T>,
) -> Result<T, Failure> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => {
            let cx = Context::new(core.clone(), object, key.clone(), Causes::default());
            ended(&cx, Err(error.into())).await
        }
    }
}

/// Writes the status that is wanted after this result.
async fn ended<K: Object, T>(cx: &Context<K>, result: Result<T, Failure>) -> Result<T, Failure> {
    let Some(wanted) = cx.ended(&result) else {
        return result;
    };
    match status::write(&cx.core, cx.key(), &**cx.object(), &wanted).await {
        Ok(()) => result,
        Err(error) => Err(match result {
            // Report the first failure, unless its error would keep the status from being written soon.
            Err(failure) if failure.retry() == Retry::Backoff && failure.waits().is_none() => {
                failure
            }
            Ok(_) | Err(_) => error.into(),
        }),
    }
}

/// Runs a user function in its own task, so that a panic stays there and a time-out cancels it.
async fn guarded<K: Object>(
    core: &Core<K>,
    function: &Function<K>,
    object: Arc<K>,
    cx: Context<K>,
) -> Result<Action, Failure> {
    let (function, fence) = (function.clone(), core.fence.clone());
    let future = async move {
        // The process may have been suspended since the worker checked.
        if !fence.is_open() {
            return Err(anyhow::Error::from(Refused).into());
        }
        // The call itself is user code as well, and so is its error: they belong in the task.
        function(object, cx).await.map_err(Failure::from)
    };
    let mut task = started(Box::pin(future.in_current_span()));
    let _abort = AbortOnDrop(task.abort_handle());
    match core.timer.timeout(core.timeout, &mut task).await {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(Failure::Panic(panicked(error))),
        None => {
            task.abort();
            if timeout(CANCELLATION, &mut task).await.is_err() {
                let _stuck = core.health.stuck();
                tracing::error!("a cancelled reconcile does not end: it blocks its thread");
                let _ = task.await;
            }
            Err(Failure::Timeout(core.timeout))
        }
    }
}

/// Runs a function of the user. Not generic, like the functions of [`spawn`](crate::spawn).
fn started(
    function: BoxFuture<'static, Result<Action, Failure>>,
) -> JoinHandle<Result<Action, Failure>> {
    tokio::spawn(function)
}

fn panicked(error: JoinError) -> String {
    let Ok(payload) = error.try_into_panic() else {
        return "cancelled".to_owned();
    };
    panics::message_of(payload)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kbr_testing::FakeApi;

    use super::*;
    use crate::harness;

    #[tokio::test]
    async fn no_reconcile_starts_behind_a_closed_fence() {
        let api = FakeApi::new();
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".to_owned());
        api.put(&object);
        let mut manager = harness::on(&api);
        let controller = manager.controller::<ConfigMap>("configmap");
        controller.reconcile(|_, _| async { panic!("it began") });
        let _watches = manager
            .caches
            .start(&api.client(), &[], &manager.reporter());
        let reconcile = manager.controllers[0].clone().reconcile_once("a".into());
        let error = reconcile.await.unwrap_err();
        assert_eq!(error.to_string(), Refused.to_string());
    }
}
