//! `EcsBinding`.

/// The host and its node. Each field may be left out.
#[derive(
    kube::CustomResource,
    kube::KubeSchema,
    Clone,
    Debug,
    Default,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
#[kube(
    group = "hopegi.com",
    version = "v1",
    kind = "EcsBinding",
    plural = "ecsbinding",
    singular = "ecsbinding",
    shortname = "ecsb",
    derive = "Default",
    derive = "PartialEq",
    doc = "Ties a cloud host (ECS) to a node of the cluster.",
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(name = "NodeName", type_ = "string", json_path = ".spec.nodename"),
    printcolumn(name = "InnerIp", type_ = "string", json_path = ".spec.innerip")
)]
pub struct EcsBindingSpec {
    /// The id of the host.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,

    /// The name of the host.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// The name of the node.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodename: Option<String>,

    /// The private address of the host.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub innerip: Option<String>,
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;
    use serde_json::{Value, json};

    use super::*;

    /// ECS-1, ECS-2, ECS-3 and ECS-8.
    #[test]
    fn the_definition_is_the_documents() {
        let crd = json!(EcsBinding::crd());
        assert_eq!(crd["metadata"]["name"], "ecsbinding.hopegi.com");
        let spec = &crd["spec"];
        assert_eq!(
            (&spec["group"], &spec["scope"]),
            (&json!("hopegi.com"), &json!("Cluster"))
        );
        let names = json!({
            "kind": "EcsBinding", "plural": "ecsbinding", "singular": "ecsbinding",
            "shortNames": ["ecsb"],
        });
        assert_eq!(spec["names"], names);
        let version = &spec["versions"][0];
        let columns = version["additionalPrinterColumns"].as_array().unwrap();
        let columns: Vec<_> = columns.iter().map(|column| &column["name"]).collect();
        assert_eq!(columns, ["Age", "NodeName", "InnerIp"]);

        let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        for field in ["id", "name", "nodename", "innerip"] {
            let mut field = schema["properties"][field].clone();
            field.as_object_mut().unwrap().remove("description");
            assert_eq!(field, json!({ "type": "string" }));
        }
        assert_eq!(schema["required"], Value::Null);
    }
}
