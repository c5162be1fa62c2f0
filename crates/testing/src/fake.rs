//! The fake API server with an operator on it.

use std::{ops::Deref, time::Duration};

use apiserver_fake::{ApiServer, Conversions, Hooks};
use futures_util::FutureExt as _;
use manager::{
    Action, Manager, Options,
    harness::{self, Clock},
};
use serde_json::{Value, json};

/// A fake API server in memory, for unit tests: an [`ApiServer`], whose methods it has, too, and the operator on it.
///
/// A kind whose definition has several versions is converted by the operator that was last [run](Self::run), or that
/// [reconciled](Self::reconcile). The webhooks of the operator that was last run review what clients write.
#[derive(Clone, Debug)]
pub struct FakeApi {
    server: ApiServer,
    /// The clock of the managers on this server.
    clock: Clock,
}

impl Default for FakeApi {
    fn default() -> Self {
        let server = ApiServer::new();
        server.set_clock(harness::now);
        let clock = Clock::for_tests();
        Self { server, clock }
    }
}

impl Deref for FakeApi {
    type Target = ApiServer;

    fn deref(&self) -> &ApiServer {
        &self.server
    }
}

impl FakeApi {
    /// A server without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Advances the clock of the managers on this server, without waiting. Everything that is due by then happens as if
    /// that much time had passed: requeues of [`Action::requeue`], retries of failures, time-outs of reconciles. The
    /// same goes for [`cx.now()`](manager::Context::now).
    ///
    /// The clock jumps: a reconcile that is due every minute runs once after an hour. A requeue that a running
    /// reconcile requests counts from after the jump, so wait for [`idle`](super::Run::idle) first. Leases, timestamps,
    /// and a reconciler's own sleeps use the real time.
    pub fn advance(&self, by: Duration) {
        self.clock.wind(by);
    }

    /// Registers a controller on a new manager, and reconciles the object with this key once, including its finalizer,
    /// status and events. The key is `namespace/name`, or `name` alone for an object in `default` or a cluster-scoped
    /// one.
    ///
    /// # Errors
    /// The error of the reconcile. Also if the object does not exist, or not exactly one controller is registered.
    pub async fn reconcile(
        &self,
        register: impl FnOnce(&mut Manager),
        key: &str,
    ) -> anyhow::Result<Action> {
        let mut manager = self.manager();
        register(&mut manager);
        self.converted_by(&manager);
        harness::reconcile(manager, key).await
    }

    /// A manager on this server, with default flags and the id `test.example.com`.
    #[must_use]
    pub fn manager(&self) -> Manager {
        self.manager_with(Options::default())
    }

    /// A manager on this server, with these flags and the id `test.example.com`.
    #[must_use]
    pub fn manager_with(&self, options: Options) -> Manager {
        let (server, clock) = (self.server.connection(), self.clock.clone());
        harness::manager(options, "test.example.com", &server, clock)
    }

    /// The clock of the managers on this server.
    #[cfg(feature = "simulate")]
    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// From now on, objects are converted by this manager, if it converts any.
    pub(crate) fn converted_by(&self, manager: &Manager) {
        self.convert_by(conversions(manager));
    }
}

/// The conversions of a manager, if it has any. They do not keep its API server.
pub(crate) fn conversions(manager: &Manager) -> Option<Conversions> {
    let hooks = harness::Hooks::converting(manager, ApiServer::new().client())?;
    Some(Conversions::new(move |objects, version| {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": { "uid": "u", "desiredAPIVersion": version, "objects": objects },
        });
        let answer = hooks.convert(&review);
        converted(&answer.ok_or("the conversion waits for something")?)
    }))
}

/// Reads the answer to a review.
fn converted(answer: &str) -> Result<Vec<Value>, String> {
    let mut review: Value = serde_json::from_str(answer).map_err(|_| answer.to_owned())?;
    let response = &mut review["response"];
    if response["result"]["status"] != "Success" {
        let message = response["result"]["message"].as_str();
        return Err(message.unwrap_or("no reason is given").to_owned());
    }
    serde_json::from_value(response["convertedObjects"].take()).map_err(|error| error.to_string())
}

/// The webhooks that a process asks.
pub(crate) fn hooks(hooks: harness::Hooks) -> Hooks {
    let all = hooks.all().into_iter().map(|hook| apiserver_fake::Hook {
        path: hook.path,
        defaults: hook.defaults,
        kind: hook.kind,
    });
    Hooks::new(all.collect(), move |path, review| {
        let hooks = hooks.clone();
        async move { hooks.answer(&path, &review).await }.boxed()
    })
}
