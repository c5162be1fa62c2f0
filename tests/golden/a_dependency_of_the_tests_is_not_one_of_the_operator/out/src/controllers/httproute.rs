//! The controller `httproute` of `HTTPRoute`.

use std::sync::Arc;

use gateway_api::httproutes::HTTPRoute;

use manager::{Action, Context, Manager};

// What the operator may do in the cluster, and no more: `make manifests` turns these comments into its role.
// +kbr:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch
/// Tells the manager what this controller watches and what it does.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<HTTPRoute>("httproute") // its name in logs, metrics and the cluster
        .reconcile(reconcile);
}

/// Brings the world in line with one `HTTPRoute`.
///
/// Called at start, after each change of it or of what it owns, and again after an error. It must stand being
/// called at any time: it looks at what is, and changes what should be otherwise.
async fn reconcile(
    object: Arc<HTTPRoute>, // as last seen
    cx: Context<HTTPRoute>,
) -> anyhow::Result<Action> {
    // Put what a HTTPRoute stands for here. `cx.apply(&object).await?` brings an object about that belongs to it;
    // name its kind in `register`, `.owns::<Kind>()`, to be called when it changes, and in a comment above.
    let generation = object.metadata.generation;
    tracing::debug!(key = %cx.key(), generation, "nothing to do");
    Ok(Action::await_change())
}
