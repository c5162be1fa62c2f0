//! The controller `mate` of `Mate`.

use std::sync::Arc;

use api::crew::v1::Mate;

use manager::{Action, Context, Manager};

// What the operator may do in the cluster, and no more: `make manifests` turns these comments into its role.
// +kbr:rbac:groups=crew.example.com,resources=mates,verbs=get;list;watch
// +kbr:rbac:groups=crew.example.com,resources=mates/status,verbs=get;patch
/// Tells the manager what this controller watches and what it does.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Mate>("mate") // its name in logs, metrics and the cluster
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Brings the world in line with one `Mate`.
///
/// Called at start, after each change of it or of what it owns, and again after an error. It must stand being
/// called at any time: it looks at what is, and changes what should be otherwise.
async fn reconcile(
    object: Arc<Mate>, // as last seen
    cx: Context<Mate>,
) -> anyhow::Result<Action> {
    // Put what a Mate stands for here. `cx.apply(&object).await?` brings an object about that belongs to it;
    // name its kind in `register`, `.owns::<Kind>()`, to be called when it changes, and in a comment above.
    let generation = object.metadata.generation;
    tracing::debug!(key = %cx.key(), generation, "nothing to do");
    cx.ready("Applied", "everything is as the spec wants it");
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use manager::testing::{FakeApi, is_ready};

    use super::*;

    #[tokio::test]
    async fn a_new_object_becomes_ready() {
        let api = FakeApi::new();
        let mut object = Mate::default();
        object.metadata.name = Some("sample".to_owned());
        api.put(&object);

        api.reconcile(register, "sample").await.unwrap();

        let object: Mate = api.get("default", "sample").unwrap();
        assert!(is_ready(&object.status.unwrap().conditions));
    }
}
