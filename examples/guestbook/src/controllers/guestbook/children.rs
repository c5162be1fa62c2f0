//! The children of a Guestbook, each with only the fields that the controller owns. They have the name of the Guestbook.

use api::webapp::v1::Guestbook;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
};
use kube::ResourceExt;
use serde_json::{Value, json};

/// The annotation whose change rolls the Deployment when the `ConfigMap` changes: Pods read it only when they start.
pub const CHECKSUM: &str = "webapp.my.domain/settings-checksum";

/// The settings of the web page.
pub fn config_map(guestbook: &Guestbook) -> anyhow::Result<ConfigMap> {
    manager::from_json(json!({
        "metadata": { "name": guestbook.name_any(), "labels": labels(guestbook) },
        "data": { "GUESTBOOK_TITLE": guestbook.spec.title },
    }))
}

pub fn service(guestbook: &Guestbook) -> anyhow::Result<Service> {
    manager::from_json(json!({
        "metadata": { "name": guestbook.name_any(), "labels": labels(guestbook) },
        "spec": {
            "selector": labels(guestbook),
            "ports": [{ "name": "http", "port": guestbook.spec.port, "targetPort": "http" }],
        },
    }))
}

pub fn deployment(
    guestbook: &Guestbook,
    image: &str,
    settings: &ConfigMap,
) -> anyhow::Result<Deployment> {
    let labels = labels(guestbook);
    let checksum = checksum(&serde_json::to_vec(&settings.data)?);
    manager::from_json(json!({
        "metadata": { "name": guestbook.name_any(), "labels": labels },
        "spec": {
            "replicas": guestbook.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels, "annotations": { CHECKSUM: checksum } },
                "spec": { "containers": [{
                    "name": "web",
                    "image": image,
                    "ports": [{ "name": "http", "containerPort": 80 }],
                    "envFrom": [{ "configMapRef": { "name": settings.name_any() } }],
                    "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } },
                }] },
            },
        },
    }))
}

/// The labels of the Pods, as a selector in text.
pub fn selector(guestbook: &Guestbook) -> String {
    let name = guestbook.name_any();
    format!("app.kubernetes.io/name=guestbook,app.kubernetes.io/instance={name}")
}

fn labels(guestbook: &Guestbook) -> Value {
    json!({
        "app.kubernetes.io/name": "guestbook",
        "app.kubernetes.io/instance": guestbook.name_any(),
    })
}

/// FNV-1a. Unlike the hashes of the standard library, it never changes: a new compiler must not roll all Deployments.
fn checksum(bytes: &[u8]) -> String {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, add);
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of <http://www.isthe.com/chongo/tech/comp/fnv/>.
    #[test]
    fn the_checksum_is_fnv_1a() {
        assert_eq!(checksum(b""), "cbf29ce484222325");
        assert_eq!(checksum(b"foobar"), "85944171f73967e8");
    }
}
