//! Tests the `ecsbinding` controller on a real API server.
//!
//! Bindings and nodes have no namespace, so each test has names of its own, and sees those of others.

use api::hopegi_com::v1::EcsBinding;
use k8s_openapi::api::core::v1::Node;
use kbr_testing::{Cluster, Operator};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};

/// The sample that `kubectl apply -k config/samples` creates.
const SAMPLE: &str = "config/samples/hopegi.com_v1_ecsbinding.yaml";

/// The label as an argument of `kubectl wait`.
const LABELED: &str = r"jsonpath={.metadata.labels.hopegi\.com/ecsbinding}=true";

fn operator(cluster: &Cluster) -> anyhow::Result<Operator> {
    cluster.operator(env!("CARGO_BIN_EXE_ecsbinding"))
}

fn wait(cluster: &Cluster, condition: &str, object: &str) -> anyhow::Result<()> {
    let until = format!("--for={condition}");
    cluster.kubectl(&["wait", &until, "--timeout=3m", object])?;
    Ok(())
}

/// Creates a binding that names a node, which need not exist.
async fn bind(cluster: &Cluster, name: &str, node: &str) -> anyhow::Result<()> {
    let binding: EcsBinding = serde_json::from_value(json!({
        "metadata": { "name": name, "labels": { "team": "net" } },
        "spec": { "id": "i-1", "nodename": node, "innerip": "10.0.0.1" },
    }))?;
    let bindings: Api<EcsBinding> = Api::all(cluster.client());
    bindings.create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// ECS-1, ECS-3, ECS-4: what a typed client writes is what the columns show.
#[tokio::test]
async fn a_binding_is_shown_with_its_columns_in_order() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let name = cluster.namespace();
    bind(&cluster, name, "node-a").await?;
    for kind in ["ecsb", "ecsbinding", "ecsbinding.hopegi.com"] {
        let table = cluster.kubectl(&["get", kind, name])?;
        let rows: Vec<Vec<_>> = table
            .lines()
            .map(|row| row.split_whitespace().collect())
            .collect();
        assert_eq!(rows[0], ["NAME", "AGE", "NODENAME", "INNERIP"]);
        assert_eq!(rows[1][2..], ["node-a", "10.0.0.1"]);
    }
    cluster.close().await
}

/// ECS-5: other labels stay, and a reconcile without a change writes nothing.
#[tokio::test]
async fn a_binding_is_labeled_once_and_nothing_else_of_it_changes() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let first = cluster.namespace();
    let first_object = format!("ecsb/{first}");
    bind(&cluster, first, "nowhere").await?;
    let killed = operator(&cluster)?;
    wait(&cluster, LABELED, &first_object)?;

    let json = "jsonpath={.metadata.labels}";
    let labels = cluster.kubectl(&["get", &first_object, "-o", json])?;
    assert_eq!(labels, r#"{"hopegi.com/ecsbinding":"true","team":"net"}"#);
    let (ours, others) = managed(&cluster, &first_object)?;
    let label = json!({ "f:metadata": { "f:labels": { "f:hopegi.com/ecsbinding": {} } } });
    assert_eq!(ours, [label]);
    assert_eq!(others.len(), 1);
    assert_eq!(others[0]["f:metadata"]["f:labels"]["f:team"], json!({}));

    // A second operator, which reconciles every binding when it starts, changes nothing of the first.
    drop(killed);
    let version = "jsonpath={.metadata.resourceVersion}";
    let before = cluster.kubectl(&["get", &first_object, "-o", version])?;
    let _operator = operator(&cluster)?;
    let second = format!("{first}-second");
    bind(&cluster, &second, "nowhere").await?;
    wait(&cluster, LABELED, &format!("ecsb/{second}"))?;
    let after = cluster.kubectl(&["get", &first_object, "-o", version])?;
    assert_eq!(after, before);
    cluster.close().await
}

/// The fields of an object that the operator owns, and those that others own.
fn managed(cluster: &Cluster, object: &str) -> anyhow::Result<(Vec<Value>, Vec<Value>)> {
    let object = cluster.kubectl(&["get", object, "--show-managed-fields", "-o", "json"])?;
    let object: Value = serde_json::from_str(&object)?;
    let managed = object["metadata"]["managedFields"].as_array();
    let (ours, others): (Vec<_>, Vec<_>) = managed
        .into_iter()
        .flatten()
        .partition(|entry| entry["manager"] == "ecsbinding.hopegi.com/ecsbinding");
    let fields = |entries: Vec<&Value>| {
        entries
            .into_iter()
            .map(|entry| entry["fieldsV1"].clone())
            .collect()
    };
    Ok((fields(ours), fields(others)))
}

#[tokio::test]
async fn the_node_that_a_binding_names_is_labeled_and_no_other() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    let binding = cluster.namespace();
    let [named, other] = ["named", "other"].map(|name| format!("{binding}-{name}"));
    // The binding is there first.
    bind(&cluster, binding, &named).await?;
    wait(&cluster, LABELED, &format!("ecsb/{binding}"))?;
    let nodes: Api<Node> = Api::all(cluster.client());
    for name in [&other, &named] {
        let node = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        nodes.create(&PostParams::default(), &node).await?;
    }
    wait(&cluster, LABELED, &format!("node/{named}"))?;
    let labels = nodes.get(&other).await?.metadata.labels.unwrap_or_default();
    assert!(!labels.contains_key("hopegi.com/ecsbinding"), "{labels:?}");

    for name in [&other, &named] {
        cluster.kubectl(&["delete", "node", name])?;
    }
    cluster.close().await
}

/// ECS-6: no finalizer holds it, and the operator goes on.
#[tokio::test]
async fn a_binding_is_deleted_at_once() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, LABELED, "ecsb/ecsbinding-sample")?;
    cluster.kubectl(&["delete", "--timeout=1m", "-f", SAMPLE])?;

    bind(&cluster, cluster.namespace(), "nowhere").await?;
    wait(&cluster, LABELED, &format!("ecsb/{}", cluster.namespace()))?;
    cluster.close().await
}

/// ECS-7: the type of a listed object is that of its list.
#[tokio::test]
async fn a_listed_binding_knows_its_kind() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    bind(&cluster, cluster.namespace(), "nowhere").await?;
    let bindings: Api<EcsBinding> = Api::all(cluster.client());
    let listed = bindings.list(&ListParams::default()).await?;
    let binding = json!(listed.items.first());
    assert_eq!(
        (&binding["apiVersion"], &binding["kind"]),
        (&json!("hopegi.com/v1"), &json!("EcsBinding"))
    );
    cluster.close().await
}
