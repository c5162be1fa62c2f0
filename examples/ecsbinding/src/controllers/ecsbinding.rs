//! The `ecsbinding` controller for `EcsBinding`: puts one label on each binding and on the node that it names.

use std::sync::Arc;

use api::hopegi_com::v1::EcsBinding;

use k8s_openapi::api::core::v1::Node;
use kube::{ResourceExt, api::PartialObjectMeta};
use manager::{Action, Context, Manager, Object, kind, predicate};

/// The label, and its value.
const LABEL: &str = "hopegi.com/ecsbinding";
const VALUE: &str = "true";

/// The name and the labels of a node are all that matters, so no more of it is cached.
type NodeMeta = PartialObjectMeta<Node>;

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=hopegi.com,resources=ecsbinding,verbs=get;list;watch;patch
// +kbr:rbac:groups=core,resources=nodes,verbs=get;list;watch;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<EcsBinding>("ecsbinding")
        .watches(
            kind::<NodeMeta>().when(predicate::labels_changed),
            |node, cached| {
                let bindings = cached.list::<EcsBinding>();
                bindings.by(nodename, node.name_any()).keys()
            },
        )
        .reconcile(reconcile);
}

/// The node that a binding names, if any.
fn nodename(binding: &EcsBinding) -> Vec<String> {
    binding.spec.nodename.clone().into_iter().collect()
}

/// Reconciles one `EcsBinding`. Runs whenever it changes, and when its node appears or the labels of the node change.
async fn reconcile(binding: Arc<EcsBinding>, cx: Context<EcsBinding>) -> anyhow::Result<Action> {
    label(&cx, &*binding).await?;
    if let Some(name) = &binding.spec.nodename
        && let Some(node) = cx.get::<NodeMeta>(&**name)?
    {
        label(&cx, &*node).await?;
    }
    Ok(Action::await_change())
}

/// Puts the label on an object that lacks it. One that was deleted a moment ago needs none.
async fn label<K: Object>(cx: &Context<EcsBinding>, object: &K) -> anyhow::Result<()> {
    let label = |object: &mut K| {
        let labels = object.meta_mut().labels.get_or_insert_default();
        labels.insert(LABEL.to_owned(), VALUE.to_owned());
    };
    cx.update(object, label).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use kbr_testing::{FakeApi, eventually, simulate};

    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    fn binding(node: Option<&str>) -> EcsBinding {
        let mut binding = EcsBinding::new("sample", EcsBinding::default().spec);
        binding.spec.nodename = node.map(str::to_owned);
        binding
    }

    fn node(name: &str) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(name.to_owned());
        node
    }

    fn labels<K: Object>(api: &FakeApi, name: &str) -> Vec<String> {
        let object: K = api.get("", name).unwrap();
        let labels = object.meta().labels.iter().flatten();
        labels
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    /// The writes so far.
    fn writes(api: &FakeApi) -> Vec<String> {
        let requests = api.requests().into_iter();
        requests
            .filter(|request| !request.starts_with("GET"))
            .collect()
    }

    async fn is_labeled(api: &FakeApi, name: &str) {
        let labeled = async || {
            Ok((labels::<Node>(api, name) == ["hopegi.com/ecsbinding=true"]).then_some(()))
        };
        eventually(SOON, name, labeled).await.unwrap();
    }

    /// ECS-5.
    #[tokio::test]
    async fn a_binding_and_its_node_are_each_labeled_with_one_write() {
        let api = FakeApi::new();
        let mut labeled = binding(Some("a"));
        labeled.metadata.labels = Some(BTreeMap::from([("team".to_owned(), "net".to_owned())]));
        api.put(&labeled);
        api.put(&node("a"));
        api.put(&node("b"));
        let mut run = api.run(register).unwrap();
        is_labeled(&api, "a").await;
        run.idle().await.unwrap();

        let expected = ["hopegi.com/ecsbinding=true", "team=net"];
        assert_eq!(labels::<EcsBinding>(&api, "sample"), expected);
        assert_eq!(labels::<Node>(&api, "b"), [""; 0]);
        let once = [
            "PATCH /apis/hopegi.com/v1/ecsbinding/sample",
            "PATCH /api/v1/nodes/a",
        ];
        assert_eq!(writes(&api), once);

        // Neither another reconcile nor a restart writes anything.
        api.put(&node("c"));
        let mut changed: EcsBinding = api.get("", "sample").unwrap();
        changed.spec.nodename = Some("c".to_owned());
        api.put(&changed);
        is_labeled(&api, "c").await;
        run.idle().await.unwrap();
        drop(run);
        let mut run = api.run(register).unwrap();
        run.idle().await.unwrap();
        let again = [&once[..], &["PATCH /api/v1/nodes/c"]].concat();
        assert_eq!(writes(&api), again);
    }

    /// ECS-8.
    #[tokio::test]
    async fn a_binding_needs_no_node_and_its_node_may_come_later() {
        for name in [None, Some(""), Some("later")] {
            let api = FakeApi::new();
            api.put(&binding(name));
            let mut run = api.run(register).unwrap();
            run.idle().await.unwrap();
            assert_eq!(labels::<EcsBinding>(&api, "sample").len(), 1);
            assert_eq!(writes(&api).len(), 1);

            if let Some("later") = name {
                api.put(&node("later"));
                is_labeled(&api, "later").await;
            }
        }
    }

    #[tokio::test]
    async fn a_label_that_was_changed_or_removed_is_restored() {
        let api = FakeApi::new();
        api.put(&binding(Some("a")));
        let _run = api.run(register).unwrap();
        for label in [None, Some("false")] {
            let mut node = node("a");
            let label = label.map(|value| (LABEL.to_owned(), value.to_owned()));
            node.metadata.labels = Some(label.into_iter().collect());
            api.put(&node);
            is_labeled(&api, "a").await;
        }
    }

    /// ECS-6.
    #[tokio::test]
    async fn a_deleted_binding_needs_no_action() {
        let api = FakeApi::new();
        api.put(&binding(Some("a")));
        api.put(&node("a"));
        let mut run = api.run(register).unwrap();
        is_labeled(&api, "a").await;
        run.idle().await.unwrap();
        let before = api.requests();

        api.delete::<EcsBinding>("", "sample");
        assert_eq!(
            api.get::<EcsBinding>("", "sample"),
            None,
            "no finalizer keeps it"
        );
        run.idle().await.unwrap();
        assert_eq!(api.requests(), before);
    }
    /// A node that is named for a moment is perhaps labeled, and keeps the label.
    #[test]
    fn bindings_survive_faults() {
        let mut labeled = node("a");
        labeled.metadata.labels = Some([("team".to_owned(), "net".to_owned())].into());
        let [mut moved, mut idle] = [binding(Some("b")), binding(None)];
        moved.metadata.name = Some("moved".to_owned());
        idle.metadata.name = Some("idle".to_owned());
        simulate(register)
            .world(&labeled)
            .world(&node("b"))
            .world(&node("c"))
            .object(&binding(Some("a")))
            .object(&moved)
            .object(&idle)
            .user("names another node", |api| {
                api.edit::<EcsBinding>("", "moved", |binding| {
                    binding.spec.nodename = Some("c".to_owned());
                });
            })
            .user("removes the label of a node", |api| {
                if api.get::<Node>("", "a").is_some() {
                    api.edit::<Node>("", "a", |node| {
                        node.metadata.labels.get_or_insert_default().remove(LABEL);
                    });
                }
            })
            .ignore("Node b /metadata/labels")
            .skip("undone", "a node keeps the label")
            .skip("explored", "a node keeps the label")
            .always("a node keeps its other labels", |api| {
                let node = api.get::<Node>("", "a");
                node.is_none_or(|node| node.labels().contains_key("team"))
            })
            .run();
    }
}
