//! The `foo` controller for `Foo`: manages a Deployment of `spec.replicas` Pods that run `spec.image`.

use std::sync::Arc;

use api::samplecontroller::v1alpha1::Foo;

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use manager::{Action, Context, Manager, kind};
use serde_json::json;

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=samplecontroller.c9g.io,resources=foos,verbs=get;list;watch
// +kbr:rbac:groups=samplecontroller.c9g.io,resources=foos/status,verbs=patch
// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Foo>("foo")
        .owns(kind::<Deployment>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Reconciles one `Foo`. Runs whenever the object or its Deployment changes, and again after an error.
async fn reconcile(foo: Arc<Foo>, cx: Context<Foo>) -> anyhow::Result<Action> {
    // Fails if a Deployment of this name is not the Foo's: the condition `Ready` then tells why.
    let deployment = cx.apply(&deployment(&foo)?).await?;
    let status = deployment.status.as_ref();
    let available = status.and_then(|status| status.available_replicas);
    let changed = cx.status(|status| {
        let available = available.unwrap_or_default();
        std::mem::replace(&mut status.available_replicas, available) != available
    });
    if changed {
        let available = available.unwrap_or_default();
        cx.event("Scaled", format!("{available} Pods are available"));
    }
    cx.ready("Deployed", "the Deployment matches the spec");
    Ok(Action::await_change())
}

/// The Deployment for `foo`, with only the fields that this controller owns.
fn deployment(foo: &Foo) -> anyhow::Result<Deployment> {
    let labels = json!({ "app.kubernetes.io/instance": foo.name_any() });
    manager::from_json(json!({
        "metadata": { "name": foo.name_any(), "labels": labels },
        "spec": {
            "replicas": foo.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": foo.spec.image }] },
            },
        },
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use api::samplecontroller::v1alpha1::FooSpec;
    use k8s_openapi::api::{apps::v1::DeploymentStatus, events::v1::Event};
    use kbr_testing::{FakeApi, eventually, is_ready, simulate};

    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    fn foo(replicas: i32) -> Foo {
        let image = "nginx:1.29".to_owned();
        let mut foo = Foo::new("sample", FooSpec { image, replicas });
        foo.metadata.namespace = Some("default".to_owned());
        foo
    }

    fn replicas(api: &FakeApi) -> Option<i32> {
        let deployment: Option<Deployment> = api.get("default", "sample");
        deployment?.spec.replicas
    }

    /// The writes so far.
    fn writes(api: &FakeApi) -> Vec<String> {
        let requests = api.requests().into_iter();
        requests
            .filter(|request| !request.starts_with("GET"))
            .collect()
    }

    #[tokio::test]
    async fn a_foo_gets_a_deployment_that_it_owns() {
        let api = FakeApi::new();
        api.put(&foo(3));

        api.reconcile(register, "sample").await.unwrap();

        assert_eq!(replicas(&api), Some(3));
        let deployment: Deployment = api.get("default", "sample").unwrap();
        let owner = &deployment.owner_references()[0];
        assert_eq!((owner.kind.as_str(), owner.controller), ("Foo", Some(true)));
        let foo: Foo = api.get("default", "sample").unwrap();
        assert!(is_ready(&foo.status.unwrap().conditions));
    }

    #[tokio::test]
    async fn the_status_and_an_event_tell_how_many_pods_are_available() {
        let api = FakeApi::new();
        api.put(&foo(3));
        api.reconcile(register, "sample").await.unwrap();
        let mut deployment: Deployment = api.get("default", "sample").unwrap();
        deployment.status = Some(DeploymentStatus {
            available_replicas: Some(2),
            ..DeploymentStatus::default()
        });
        api.put(&deployment);

        api.reconcile(register, "sample").await.unwrap();

        let foo: Foo = api.get("default", "sample").unwrap();
        assert_eq!(foo.status.unwrap().available_replicas, 2);
        let events: Vec<Event> = api.all();
        let notes: Vec<_> = events
            .iter()
            .filter_map(|event| event.note.as_deref())
            .collect();
        assert_eq!(notes, ["2 Pods are available"]);
    }

    /// SFC-1, SFC-2: an owned Deployment enqueues its Foo, another one nothing; and a reconcile that finds nothing to do writes nothing.
    #[tokio::test]
    async fn a_deployment_that_was_changed_or_deleted_is_restored_and_others_are_left_alone() {
        let api = FakeApi::new();
        let mut run = api.run(register).unwrap();
        api.put(&foo(3));
        let restored = || async { Ok((replicas(&api) == Some(3)).then_some(())) };
        eventually(SOON, "a Deployment", restored).await.unwrap();

        let mut changed: Deployment = api.get("default", "sample").unwrap();
        changed.spec.replicas = Some(1);
        api.put(&changed);
        eventually(SOON, "3 replicas again", restored)
            .await
            .unwrap();

        api.delete::<Deployment>("default", "sample");
        eventually(SOON, "the Deployment again", restored)
            .await
            .unwrap();

        run.idle().await.unwrap();
        let before = writes(&api);
        changed.metadata.name = Some("other".to_owned());
        changed.metadata.owner_references = None;
        api.put(&changed);
        run.idle().await.unwrap();
        assert_eq!(writes(&api), before);
    }

    #[tokio::test]
    async fn a_deployment_of_that_name_that_is_not_ours_is_reported_and_not_taken() {
        let api = FakeApi::new();
        api.put(&foo(3));
        let mut foreign = deployment(&foo(1)).unwrap();
        foreign.metadata.namespace = Some("default".to_owned());
        api.put(&foreign);

        let error = api.reconcile(register, "sample").await.unwrap_err();

        assert!(format!("{error:#}").contains("Deployment"), "{error:#}");
        assert_eq!(replicas(&api), Some(1));
        let foo: Foo = api.get("default", "sample").unwrap();
        assert!(!is_ready(&foo.status.unwrap().conditions));
    }
    #[test]
    fn a_foo_survives_faults() {
        simulate(register).kubelet().run();
    }
}
