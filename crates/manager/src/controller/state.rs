//! State of the author's own for a reconcile.

use std::sync::Arc;

use crate::controller::context::Context;

/// Gives `function`, a reconcile or a clean-up, state of your own, such as a client of another service.
///
/// Each call gets a clone of `state`, so an [`Arc`] or a client that is one inside.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use manager::{Action, Cleanup, Context, Manager, with};
/// # struct Harbor;
/// # impl Harbor {
/// #     async fn berth(&self, _ship: &str) -> anyhow::Result<()> { Ok(()) }
/// #     async fn leave(&self, _ship: &str) -> anyhow::Result<()> { Ok(()) }
/// # }
/// fn register(manager: &mut Manager, harbor: &Arc<Harbor>) {
///     manager
///         .controller::<ConfigMap>("configmap")
///         .finalizer("example.com/configmap", with(harbor, clean_up))
///         .reconcile(with(harbor, reconcile));
/// }
///
/// async fn reconcile(
///     map: Arc<ConfigMap>,
///     cx: Context<ConfigMap>,
///     harbor: Arc<Harbor>,
/// ) -> anyhow::Result<Action> {
///     harbor.berth(cx.name()).await?;
///     Ok(Action::requeue_at(cx.now() + Duration::from_secs(3600)))
/// }
///
/// async fn clean_up(
///     map: Arc<ConfigMap>,
///     cx: Context<ConfigMap>,
///     harbor: Arc<Harbor>,
/// ) -> anyhow::Result<Cleanup> {
///     harbor.leave(cx.name()).await?;
///     Ok(Cleanup::Done)
/// }
/// ```
pub fn with<S, K, F, R>(
    state: &S,
    function: F,
) -> impl Fn(Arc<K>, Context<K>) -> R + Send + Sync + 'static + use<S, K, F, R>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(Arc<K>, Context<K>, S) -> R + Send + Sync + 'static,
    K: 'static,
    R: 'static,
{
    let state = state.clone();
    move |object, cx| function(object, cx, state.clone())
}
