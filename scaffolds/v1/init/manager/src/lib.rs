//! What every operator needs, and kube-rs leaves to others: a manager in the manner of controller-runtime.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use manager::{Action, Context, Manager, Options};
//!
//! #[tokio::main]
//! async fn main() -> anyhow::Result<()> {
//!     let mut manager = Manager::new(Options::default(), "captains.example.com").await?;
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
//! A controller reconciles the objects of one kind: it is called for each at start and whenever one, or one that it
//! [owns](Controller::owns) or [watches](Controller::watches), changes; [`when`](Controller::when) says which changes
//! matter, and a [`Trigger`] wakes it for what happens elsewhere. What fails is tried again after 5 ms, then 10 ms, up to 1,000 s, each object
//! by itself. [`Context`] has what a reconcile needs: [`apply`](Context::apply) for children,
//! [`status`](Context::status) and [`ready`](Context::ready) for what is written when it has ended,
//! [`get`](Context::get) and [`list`](Context::list) for what is cached.

mod access;
mod action;
mod apply;
mod cache;
mod certificates;
mod clock;
mod condition;
mod connect;
mod connections;
mod context;
mod controller;
mod core;
mod delete;
mod difference;
mod error;
mod events;
mod fence;
mod finalizer;
mod heartbeat;
mod index;
mod key;
mod leader;
mod logs;
mod manager;
mod metrics;
mod object;
mod options;
pub mod predicate;
mod probe_server;
mod probes;
mod queue;
mod reader;
mod reconcile;
mod request;
mod reviews;
mod run;
mod server;
mod shutdown;
mod source;
mod status;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tls;
mod trigger;
mod update;
mod watchdog;
pub mod webhook;
mod worker;
mod writes;

pub use self::{
    action::Action,
    condition::ConditionStatus,
    context::Context,
    controller::Controller,
    index::IndexBy,
    key::Key,
    logs::LogFormat,
    manager::Manager,
    object::{Cached, Object, Scope},
    options::{Address, Options, WebhookCertificate},
    reader::{List, Reader},
    task::Running,
    trigger::Trigger,
};
