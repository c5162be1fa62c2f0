//! The `deployment` controller for `Deployment`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;

use manager::{Action, Context, Manager};

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Deployment>("deployment") // its name in logs and metrics
        .reconcile(reconcile);
}

/// Reconciles one `Deployment`.
///
/// Runs at start, whenever the object or an owned object changes, and again after an error. It must be idempotent:
/// compare the actual state with the desired state, and change only the difference. The object comes from the cache.
async fn reconcile(object: Arc<Deployment>, cx: Context<Deployment>) -> anyhow::Result<Action> {
    // Your code goes here. `cx.apply(&child).await?` creates or updates an owned object. Add `.owns(manager::kind::<Child>())`
    // to `register` to reconcile when it changes, and a `+kbr:rbac` comment above for its permissions.
    let _ = (&object, &cx); // until your code uses them
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use kbr_testing::FakeApi;

    use super::*;

    #[tokio::test]
    async fn an_object_is_reconciled() {
        let api = FakeApi::new();
        let mut object = Deployment::default();
        object.metadata.name = Some("sample".to_owned());
        api.put(&object);

        api.reconcile(register, "sample").await.unwrap();
    }
}
