//! The parts of an operator that kube-rs leaves out: a manager like the one in controller-runtime.
//!
//! ```no_run
//! use std::{process::ExitCode, sync::Arc};
//!
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use manager::{Action, Context, Manager, Options};
//!
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     manager::exit(run(Options::default()).await)
//! }
//!
//! async fn run(options: Options) -> anyhow::Result<()> {
//!     let mut manager = Manager::new(options, "captains.example.com").await?;
//!     manager.controller::<ConfigMap>("configmap").reconcile(reconcile);
//!     manager.run().await
//! }
//!
//! async fn reconcile(object: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
//!     println!("{} has {} keys", cx.key(), object.data.iter().flatten().count());
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! A controller reconciles the objects of one kind. It is called for each object at start, and whenever the object
//! changes or one that it [owns](Controller::owns) or [watches](Controller::watches). [`when`](Controller::when)
//! selects the changes that matter, and a [`Trigger`] enqueues keys for events outside the cluster. A failed reconcile
//! is retried after 5 ms, then 10 ms, up to 1,000 s, or as [`Controller::backoff`] sets it; each object backs off by
//! itself. A [`terminal`] error is not retried until something changes, and [`waiting`] for something is no error.
//! [`Context`] has what a reconcile needs: [`apply`](Context::apply) for children, [`status`](Context::status) and
//! [`ready`](Context::ready) for the status that is written when the reconcile has ended, [`get`](Context::get),
//! [`list`](Context::list) and [`children`](Context::children) for cached objects, and [`update`](Context::update) and
//! [`delete`](Context::delete) for objects that other writers change, too.
//!
//! A reconcile's own writes to children, and its updates of the object, trigger another reconcile, like the writes of
//! others. Its writes of status and finalizers do not. A reconcile that finds nothing to do writes nothing, so no
//! reconcile triggers itself forever.
//!
//! # Reconcile when a referenced `ConfigMap` changes
//!
//! ```
//! # use std::sync::Arc;
//! # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! # use kube::ResourceExt;
//! # use manager::{Action, Context, Key, Manager, kind};
//! // +kbr:rbac:groups=core,resources=configmaps,verbs=list;watch
//! fn register(manager: &mut Manager) {
//!     manager
//!         .controller::<Deployment>("deployment")
//!         // Which ones name it? Found by an index, which is nothing but a function.
//!         .watches(kind::<ConfigMap>().when(|old, new| old.data != new.data), |map, cached| {
//!             cached.list::<Deployment>().by(config_map, Key::of(map)).keys()
//!         })
//!         .reconcile(reconcile);
//! }
//!
//! /// The key of the `ConfigMap` that a Deployment names.
//! fn config_map(deployment: &Deployment) -> Vec<String> {
//!     let name = deployment.annotations().get("example.com/settings");
//!     let key = name.map(|name| Key::new(deployment.namespace().as_deref(), name));
//!     key.iter().map(Key::to_string).collect()
//! }
//!
//! async fn reconcile(deployment: Arc<Deployment>, cx: Context<Deployment>) -> anyhow::Result<Action> {
//!     if let Some(name) = deployment.annotations().get("example.com/settings") {
//!         let settings = cx.get::<ConfigMap>(name)?; // from the cache
//! #       drop(settings);
//!     }
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! | Event | Method |
//! |---|---|
//! | a child changes | [`owns`](Controller::owns) |
//! | an object changes that refers to mine, or that mine refers to | [`watches`](Controller::watches) |
//! | only some updates matter | [`when`](Controller::when), with a [`predicate`] or your own; of other kinds [`Kind::when`] |
//! | something outside the cluster, or a point in time | [`triggered_by`](Controller::triggered_by); [`Action::requeue`], [`Action::requeue_at`] |
//! | a period has passed | [`resync`](Controller::resync) |
//! | none: the objects are only read | [`reads`](Controller::reads) |
//!
//! Code outside of controllers reads the kinds of [`Manager::reads`]: webhooks by
//! [`cached`](webhook::Request::cached), tasks by [`Running::cached`].
//!
//! [`Manager::cache`] limits which objects of a kind are cached, and what of them.

// In a project this crate is a path dependency, and cargo does not cap the lints of those: a newer compiler could
// print new warnings. Only kbr itself runs clippy on it, with all lints.
#![cfg_attr(not(clippy), allow(warnings))]

mod backoff;
mod cache;
mod causes;
mod certificates;
mod client;
mod config;
mod connect;
mod controller;
mod controls;
mod dynamic;
pub mod election;
mod error;
mod events;
mod from_json;
mod guard;
#[doc(hidden)]
pub mod harness;
mod json_path;
mod key;
mod layer;
mod leader;
mod logs;
mod manager;
mod metrics;
mod migration;
mod options;
mod panics;
mod parse;
mod permission;
pub mod queue;
mod request;
mod secret;
mod servers;
mod simulated;
mod spawn;
mod task;
mod timer;
pub mod webhook;
mod writes;

/// Crates of others whose types are a part of this API, in the versions that it uses.
pub mod ext {
    pub use hyper::http;
    pub use prometheus_client;
    pub use tracing_subscriber;
}

pub use self::{
    cache::{
        index::IndexBy,
        object::{Cached, Object, Scope},
        reader::{List, Reader},
    },
    causes::Causes,
    controller::{
        action::{Action, Cleanup},
        context::Context,
        events::EventAbout,
        kind::{Kind, kind, metadata},
        predicate,
        retry::{retry_after, terminal, waiting},
        state::with,
        trigger::Trigger,
    },
    dynamic::{Dynamic, DynamicKind},
    from_json::from_json,
    key::Key,
    layer::init_tracing,
    logs::{LogFormat, exit},
    manager::{Manager, cache::CacheConfig, controller::Controller},
    migration::settings::StorageMigration,
    options::{Address, Options, WebhookCertificate},
    secret::{SecretError, value_of},
    servers::access_reviews::User,
    task::Running,
    writes::{
        condition::{ConditionStatus, is_ready},
        error::WriteError,
    },
};
