//! The controller `guestbook` of `Guestbook`.

mod deployment;

use std::sync::Arc;

use api::webapp::v1::Guestbook;

use k8s_openapi::api::apps::v1::Deployment;
use manager::{Action, Context, Manager};

// What the operator may do in the cluster, and no more: `make manifests` turns these comments into its role.
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks,verbs=get;list;watch
// +kbr:rbac:groups=webapp.my.domain,resources=guestbooks/status,verbs=get;patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
/// Tells the manager what this controller watches and what it does.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Guestbook>("guestbook") // its name in logs, metrics and the cluster
        .owns_cached::<Deployment>()
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Keeps one Deployment for each `Guestbook`.
async fn reconcile(
    object: Arc<Guestbook>, // as last seen
    cx: Context<Guestbook>,
) -> anyhow::Result<Action> {
    let deployment = deployment::of(&object)?;
    cx.apply(&deployment).await?;
    cx.status(|status| status.image.clone_from(&object.spec.image));
    cx.ready("Applied", "the guestbook is open");
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use manager::testing::{FakeApi, is_ready};

    use super::*;

    #[tokio::test]
    async fn a_new_object_becomes_ready() {
        let api = FakeApi::new();
        let mut object = Guestbook::default();
        object.metadata.name = Some("sample".to_owned());
        object.spec.image = "registry.example.com/guestbook:v1".to_owned();
        api.put(&object);

        api.reconcile(register, "sample").await.unwrap();

        let object: Guestbook = api.get("default", "sample").unwrap();
        assert!(is_ready(&object.status.unwrap().conditions));
        let deployment: Deployment = api.get("default", "sample").unwrap();
        assert_eq!(deployment.spec.unwrap().replicas, Some(2));
    }
}
