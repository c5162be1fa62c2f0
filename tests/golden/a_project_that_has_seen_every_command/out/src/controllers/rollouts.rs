//! The controller `rollouts` of `Deployment`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;

use manager::{Action, Context, Manager};

// What the operator may do in the cluster, and no more: `make manifests` turns these comments into its role.
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch
/// Tells the manager what this controller watches and what it does.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Deployment>("rollouts") // its name in logs, metrics and the cluster
        .reconcile(reconcile);
}

/// Brings the world in line with one `Deployment`.
///
/// Called at start, after each change of it or of what it owns, and again after an error. It must stand being
/// called at any time: it looks at what is, and changes what should be otherwise.
async fn reconcile(
    object: Arc<Deployment>, // as last seen
    cx: Context<Deployment>,
) -> anyhow::Result<Action> {
    // Put what a Deployment stands for here. `cx.apply(&object).await?` brings an object about that belongs to it;
    // name its kind in `register`, `.owns::<Kind>()`, to be called when it changes, and in a comment above.
    let generation = object.metadata.generation;
    tracing::debug!(key = %cx.key(), generation, "nothing to do");
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use manager::testing::FakeApi;

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
