//! The `mate` controller for `Mate`.

use std::sync::Arc;

use api::crew::v1::Mate;

use manager::{Action, Context, Manager};

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=crew.example.com,resources=mates,verbs=get;list;watch;patch
// +kbr:rbac:groups=crew.example.com,resources=mates/status,verbs=patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Mate>("mate") // its name in logs and metrics
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Reconciles one `Mate`.
///
/// Runs at start, whenever the object or an owned object changes, and again after an error. It must be idempotent:
/// compare the actual state with the desired state, and change only the difference. The object comes from the cache.
async fn reconcile(object: Arc<Mate>, cx: Context<Mate>) -> anyhow::Result<Action> {
    // Your code goes here. `cx.apply(&child).await?` creates or updates an owned object. Add `.owns(manager::kind::<Child>())`
    // to `register` to reconcile when it changes, and a `+kbr:rbac` comment above for its permissions.
    let _ = &object; // until your code uses it
    cx.ready("Applied", "the actual state matches the spec");
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use kbr_testing::{FakeApi, is_ready};

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

    /// The samples reach the same state through crashes, lost answers, stale caches and early users.
    #[test]
    fn the_samples_survive_faults() {
        kbr_testing::simulate(register).run();
    }
}
