//! The `kith` controller for `Kith`.

use std::sync::Arc;

use others::Kith;

use manager::{Action, Context, Manager};

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=kinds.io,resources=kiths,verbs=get;list;watch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Kith>("kith") // its name in logs and metrics
        .reconcile(reconcile);
}

/// Reconciles one `Kith`.
///
/// Runs at start, whenever the object or an owned object changes, and again after an error. It must be idempotent:
/// compare the actual state with the desired state, and change only the difference. The object comes from the cache.
async fn reconcile(object: Arc<Kith>, cx: Context<Kith>) -> anyhow::Result<Action> {
    // Your code goes here. `cx.apply(&child).await?` creates or updates an owned object. Add `.owns(manager::kind::<Child>())`
    // to `register` to reconcile when it changes, and a `+kbr:rbac` comment above for its permissions.
    let _ = (&object, &cx); // until your code uses them
    Ok(Action::await_change())
}
