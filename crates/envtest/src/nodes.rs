//! The fake nodes of a cluster, which kwok keeps ready.

use serde_json::{Value, json};

use super::apply::apply;
use super::control_plane::ControlPlane;

/// Creates `node-0` and so on, unless they exist.
pub fn create(plane: &ControlPlane, count: u16) -> anyhow::Result<()> {
    let nodes = (0..count).map(|number| node(&format!("node-{number}"), number));
    apply(plane, &nodes.collect::<Vec<_>>(), "nodes")
}

/// A node of this name that kwok keeps ready, in one of three zones.
#[must_use]
pub fn node(name: &str, number: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": super::assets::arch(),
                "topology.kubernetes.io/zone": format!("zone-{}", number % 3),
            },
            // kwok's own mark of a node without a kubelet.
            "annotations": { "kwok.x-k8s.io/node": "fake" },
        },
    })
}

/// Waits until Pods can run: all nodes are ready, and the default namespace has its service account.
pub fn wait(plane: &ControlPlane) -> anyhow::Result<()> {
    plane.wait_for("/api/v1/nodes", are_ready)?;
    plane.wait_for("/api/v1/namespaces/default/serviceaccounts/default", |_| {
        true
    })
}

/// Whether all nodes of a list are ready, and can be scheduled on.
fn are_ready(list: &[u8]) -> bool {
    let list: Value = serde_json::from_slice(list).unwrap_or_default();
    let ready = |node: &Value| {
        let conditions = node["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
        ready.any(|condition| condition["status"] == "True") && node["spec"]["taints"].is_null()
    };
    list["items"]
        .as_array()
        .is_some_and(|nodes| nodes.iter().all(ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_ready_when_all_of_them_are_and_none_is_tainted() {
        let node = |status: &str, taints: Value| {
            let ready = json!([{ "type": "MemoryPressure", "status": "False" }, { "type": "Ready", "status": status }]);
            json!({ "spec": { "taints": taints }, "status": { "conditions": ready } })
        };
        let check = |nodes: Value| are_ready(json!({ "items": nodes }).to_string().as_bytes());
        let taint = json!([{ "key": "node.kubernetes.io/not-ready" }]);
        assert!(check(json!([
            node("True", Value::Null),
            node("True", Value::Null)
        ])));
        assert!(!check(json!([
            node("True", Value::Null),
            node("False", Value::Null)
        ])));
        assert!(!check(json!([node("True", taint)])));
        assert!(!check(json!([{}])));
        assert!(!are_ready(b"not JSON"));
    }
}
