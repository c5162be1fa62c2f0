//! `At`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// The desired state of an `At`.
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
    group = "cnat.programming-kubernetes.info",
    version = "v1alpha1",
    kind = "At",
    plural = "ats",
    singular = "at",
    namespaced,
    status = "AtStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A command that runs once, at a given time.",
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Succeeded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Succeeded')].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct AtSpec {
    /// The UTC time at which the command runs, as in RFC 3339: `2019-07-03T02:00:00Z`. A time in the past means now.
    // A string, not a `meta::Time`: one that is not a time must not make the whole object unreadable.
    #[schemars(with = "String", extend("format" = "date-time"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,

    /// The command, a line for the shell `sh`.
    #[schemars(with = "String", length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The observed state of an `At`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct AtStatus {
    /// How far the command is.
    #[serde(default)]
    pub phase: Phase,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready`: whether the command can run, runs or has run. `Succeeded`: how it
    /// ended.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}

/// How far a command is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// It has not been started.
    #[default]
    Pending,
    /// Its Pod has been created.
    Running,
    /// It has ended, and never runs again.
    Done,
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;
    use serde_json::{Value, json};

    use super::*;

    /// AT-2, AT-3: like the definition that the document has by hand, and with the phase; AT-5: one version is stored.
    #[test]
    fn the_definition_is_the_documents_with_a_status() {
        let crd = json!(At::crd());
        assert_eq!(
            crd["metadata"]["name"],
            "ats.cnat.programming-kubernetes.info"
        );
        let spec = &crd["spec"];
        assert_eq!(spec["group"], "cnat.programming-kubernetes.info");
        assert_eq!(spec["scope"], "Namespaced");
        for (name, value) in [("kind", "At"), ("plural", "ats"), ("singular", "at")] {
            assert_eq!(spec["names"][name], value);
        }
        let versions = spec["versions"].as_array().unwrap();
        assert_eq!(versions.len(), 1);
        let version = &versions[0];
        assert_eq!(version["name"], "v1alpha1");
        assert_eq!(
            (&version["served"], &version["storage"]),
            (&json!(true), &json!(true))
        );

        let schema = &version["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(schema["spec"]["properties"]["schedule"]["type"], "string");
        assert_eq!(schema["spec"]["required"], Value::Null);
        let phases = json!(["PENDING", "RUNNING", "DONE"]);
        assert_eq!(schema["status"]["properties"]["phase"]["enum"], phases);
        assert_eq!(json!(Phase::Done), "DONE");
    }
}
