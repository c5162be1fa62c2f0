//! `Guestbook`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// The desired state of a `Guestbook`.
#[derive(
    kube::CustomResource,
    schemars::JsonSchema,
    Clone,
    Debug,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
#[kube(
    group = "webapp.my.domain",
    version = "v1",
    kind = "Guestbook",
    plural = "guestbooks",
    singular = "guestbook",
    namespaced,
    status = "GuestbookStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A web page in which visitors leave a note.",
    // The Service and a label of the Pods have the name of the Guestbook.
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')").message("the name must be the name of a Service, too: lower case, digits and `-`, at most 63"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".status.replicas"
    ),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase", default)]
pub struct GuestbookSpec {
    /// The image that each Pod runs. The operator sets its default image, and has a list of the allowed ones.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

    /// The desired number of Pods. `kubectl scale` and autoscalers change it.
    #[schemars(range(min = 0, max = 50))]
    pub replicas: i32,

    /// The port of the Service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// The title of the page.
    #[schemars(length(max = 256))]
    pub title: String,

    /// Whether deleting the `Guestbook` is rejected.
    pub deletion_protection: bool,
}

/// These are the defaults in the CRD, too.
impl Default for GuestbookSpec {
    fn default() -> Self {
        Self {
            image: None,
            replicas: 1,
            port: 80,
            title: "Guestbook".to_owned(),
            deletion_protection: false,
        }
    }
}

/// The observed state of a `Guestbook`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct GuestbookStatus {
    /// The number of Pods, for the scale subresource.
    #[serde(default)]
    pub replicas: i32,

    /// Selects the Pods, for the scale subresource.
    #[serde(default)]
    pub selector: String,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
