//! How kbr-testing drives a manager without a cluster. Nothing else may use it: it changes without notice.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use futures_util::FutureExt as _;
use hyper::{
    Request, Response, StatusCode, Uri,
    body::{Body as HttpBody, Bytes},
};
use kube::{
    Client,
    client::{Body, ClientBuilder},
};
use serde_json::Value;
use tower::{BoxError, Service};

use crate::{
    connect::Clients,
    controller::{action::Action, worker::AnyController},
    guard::Mode,
    key::Key,
    leader::fence::Fence,
    manager::Manager,
    metrics::Metrics,
    options::Options,
    webhook::{CONVERT, Call, GroupVersionKind, Registered, Task, Turns, Webhooks},
};
pub use crate::{
    controller::worker::ReconciledKind,
    json_path::explain,
    permission::{comment, denied},
    simulated::{Simulation, now},
    timer::Timer as Clock,
};

/// A manager whose requests go to `server`, which follows this clock, and which never kills its process.
pub fn manager<S, B>(options: Options, id: &str, server: &S, clock: Clock) -> Manager
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let (fence, metrics) = (Fence::closed(), Metrics::new());
    let count = metrics.requests().to(&Uri::from_static("http://in-memory"));
    let builder = || ClientBuilder::new(server.clone(), "default");
    let Ok(clients) = Clients::with(|| Ok::<_, Infallible>(builder()), &fence, &count);
    let mut manager = Manager::with(options, id, clients, fence, metrics);
    manager.timer = clock;
    manager
}

/// Lets the storm guard report storms, and slow nothing down. Call it before controllers are registered.
pub fn report_loops(manager: &mut Manager) {
    manager.guard = Mode::Report;
}

/// Reconciles the object with this key once, by the only controller of a manager that does not run, and sends the events.
///
/// # Errors
/// The error of the reconcile. Also if the object does not exist, a registration is invalid, or not exactly one
/// controller is registered.
pub async fn reconcile(mut manager: Manager, key: &str) -> anyhow::Result<Action> {
    manager.check()?;
    manager.fence.open();
    let [controller] = &manager.controllers[..] else {
        let found = manager.controllers.len();
        anyhow::bail!("{found} controllers were registered\nhelp: register one at a time");
    };
    let (client, reporter) = (manager.client(), manager.reporter());
    let _watches = manager.caches.start(&client, &[], &reporter);
    let result = controller.clone().reconcile_once(Key::from(key)).await;
    manager.publisher.flush(&client).await;
    result
}

/// The controllers of a manager.
#[expect(missing_debug_implementations, reason = "their names are enough")]
pub struct Controllers(Vec<Arc<dyn AnyController>>);

impl Controllers {
    /// The registered controllers.
    ///
    /// # Errors
    /// If a registration is invalid.
    pub fn of(manager: &Manager) -> anyhow::Result<Self> {
        manager.check()?;
        Ok(Self(manager.controllers.clone()))
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|controller| controller.name())
    }

    /// The kinds that they reconcile.
    #[must_use]
    pub fn kinds(&self) -> Vec<ReconciledKind> {
        self.0.iter().map(|controller| controller.kind()).collect()
    }

    /// Waits until the caches that they need have synced.
    pub async fn synced(&self) {
        for controller in &self.0 {
            controller.clone().synced().await;
        }
    }

    /// Whether no reconcile is running or due.
    #[must_use]
    pub fn are_idle(&self) -> bool {
        self.0.iter().all(|controller| controller.is_idle())
    }

    /// Enqueues all cached objects of each.
    pub fn resync(&self) {
        self.0.iter().for_each(|controller| controller.resync());
    }

    /// The objects whose last reconcile failed, each with its controller.
    #[must_use]
    pub fn failing(&self) -> Vec<String> {
        let of = |controller: &Arc<dyn AnyController>| {
            let name = controller.name().to_owned();
            let keys = controller.failing().into_iter();
            keys.map(move |key| format!("{name} `{key}`"))
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    /// In a simulation, the errors of the objects whose last reconcile failed, by controller and object.
    #[must_use]
    pub fn errors(&self) -> BTreeMap<String, String> {
        let of = |controller: &Arc<dyn AnyController>| {
            let name = controller.name().to_owned();
            let errors = controller.errors().into_iter();
            errors.map(move |(key, error)| (format!("{name} `{key}`"), error))
        };
        self.0.iter().flat_map(of).collect()
    }

    /// The fields that are written again and again, as the storm guard names them, if [`report_loops`] was called.
    #[must_use]
    pub fn loops(&self) -> Vec<String> {
        self.0
            .iter()
            .flat_map(|controller| controller.loops())
            .collect()
    }

    /// How many reconciles have panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.0.iter().map(|controller| controller.panics()).sum()
    }
}

/// The mistakes in the registrations.
#[must_use]
pub fn mistakes(manager: &Manager) -> &[String] {
    &manager.mistakes
}

/// Fills the caches that webhooks read, until what it returns is dropped.
#[must_use]
pub fn fill_caches(manager: &Manager) -> impl Send + use<> {
    let caches = &manager.reader.caches;
    caches.start(&manager.client(), &[], &manager.reporter())
}

/// The webhooks of a manager, which can be called while it runs.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "their paths are enough")]
pub struct Hooks {
    webhooks: Webhooks,
    client: Client,
    metrics: Metrics,
}

/// A registered webhook.
#[derive(Clone, Debug)]
pub struct Hook {
    pub path: String,
    /// Whether it sets defaults; `None` if only its configuration says that.
    pub defaults: Option<bool>,
    /// Group, version and kind of its objects; `None` if it serves several kinds.
    pub kind: Option<[String; 3]>,
}

impl Hooks {
    #[must_use]
    pub fn of(manager: &Manager) -> Self {
        Self {
            webhooks: manager.webhooks.clone(),
            client: manager.client(),
            metrics: manager.metrics.clone(),
        }
    }

    /// The conversions of a manager alone, if it has any. They send no requests, so any client does.
    #[must_use]
    pub fn converting(manager: &Manager, client: Client) -> Option<Self> {
        let convert = manager.webhooks.get(CONVERT)?.clone();
        Some(Self {
            webhooks: [(CONVERT.to_owned(), convert)].into(),
            client,
            metrics: manager.metrics.clone(),
        })
    }

    /// The response to a `ConversionReview`; `None` if nothing is converted, or a conversion waits, as none does.
    #[must_use]
    pub fn convert(&self, review: &Value) -> Option<String> {
        let (_, body) = self.answer(CONVERT, review).now_or_never()??;
        Some(body)
    }

    /// All of them, apart from conversion.
    #[must_use]
    pub fn all(&self) -> Vec<Hook> {
        let reviews = self.webhooks.iter();
        let reviews = reviews.filter(|(_, one)| one.task != Task::Convert);
        let hook = |(path, one): (&String, &Registered)| Hook {
            path: path.clone(),
            defaults: match one.task {
                Task::Default => Some(true),
                Task::Validate => Some(false),
                Task::Review | Task::Convert => None,
            },
            kind: one.kind.clone().map(|it| [it.group, it.version, it.kind]),
        };
        reviews.map(hook).collect()
    }

    /// The response of the webhook at `path` to this review; `None` if no webhook is registered there.
    pub async fn answer(&self, path: &str, review: &Value) -> Option<(StatusCode, String)> {
        let registered = self.webhooks.get(path)?;
        let call = Call {
            body: Arc::new(review.to_string().into_bytes().into()),
            turns: Turns::unlimited(),
            client: self.client.clone(),
            metrics: self.metrics.webhook(path),
        };
        let reply = (registered.webhook)(call).await;
        Some((reply.status, reply.body))
    }
}

/// The paths of the webhooks that the API server calls for objects of `kind`, as an `AdmissionReview` has it: first the
/// defaulters, then the validators.
#[must_use]
pub fn admission_paths<'a>(manager: &'a Manager, kind: &Value) -> Vec<&'a str> {
    let kind: Option<GroupVersionKind> = serde_json::from_value(kind.clone()).ok();
    let with = |task| {
        let webhooks = manager.webhooks.iter();
        let wanted = webhooks.filter(|(_, one)| one.task == task && one.kind == kind);
        wanted.map(|(path, _)| path.as_str()).collect::<Vec<_>>()
    };
    [with(Task::Default), with(Task::Validate)].concat()
}

/// The response of the webhook at `path` to this review; `None` if no webhook is registered there.
pub async fn answer(manager: &Manager, path: &str, review: &Value) -> Option<(StatusCode, String)> {
    Hooks::of(manager).answer(path, review).await
}

/// A manager on a fake API server, for unit tests. `FakeApi::manager` returns one of the crate that kbr-testing depends on, which is
/// compiled without `cfg(test)`: another type.
#[cfg(test)]
pub(crate) fn on(api: &kbr_testing::FakeApi) -> Manager {
    let (options, clock) = (Options::default(), Clock::for_tests());
    manager(options, "test.example.com", &api.connection(), clock)
}
