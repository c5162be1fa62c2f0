//! Knowledge about kinds: Kubernetes' own, and those with a definition.
//!
//! Source: the API server's own description and the registry strategies of Kubernetes 1.37
//! (`pkg/registry/*/*/strategy.go`); the comparison with a real API server checks both.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{path::Path, schema::Rules};

/// Group, plural, kind and traits of Kubernetes' own kinds; see [`Kind`] for the letters.
#[rustfmt::skip]
const BUILT_IN: &[(&str, &str, &str, &str)] = &[
    ("", "configmaps", "ConfigMap", "n"),
    ("", "endpoints", "Endpoints", "nc"),
    ("", "events", "Event", "nc"),
    ("", "limitranges", "LimitRange", "nc"),
    ("", "namespaces", "Namespace", "sr"),
    ("", "nodes", "Node", "s"),
    ("", "persistentvolumeclaims", "PersistentVolumeClaim", "nsr"),
    ("", "persistentvolumes", "PersistentVolume", "sr"),
    ("", "pods", "Pod", "nsgr"),
    ("", "podtemplates", "PodTemplate", "ngr"),
    ("", "replicationcontrollers", "ReplicationController", "nsg"),
    ("", "resourcequotas", "ResourceQuota", "nsr"),
    ("", "secrets", "Secret", "n"),
    ("", "serviceaccounts", "ServiceAccount", "nr"),
    ("", "services", "Service", "nscr"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", "gv"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "gv"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "gv"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", "sgv"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "gv"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "gv"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", "sgv"),
    ("apiregistration.k8s.io", "apiservices", "APIService", "s"),
    ("apps", "controllerrevisions", "ControllerRevision", "n"),
    ("apps", "daemonsets", "DaemonSet", "nsg"),
    ("apps", "deployments", "Deployment", "nsg"),
    ("apps", "replicasets", "ReplicaSet", "nsg"),
    ("apps", "statefulsets", "StatefulSet", "nsg"),
    ("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "nsg"),
    ("batch", "cronjobs", "CronJob", "nsg"),
    ("batch", "jobs", "Job", "nsg"),
    ("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest", "s"),
    ("certificates.k8s.io", "clustertrustbundles", "ClusterTrustBundle", "v"),
    ("certificates.k8s.io", "podcertificaterequests", "PodCertificateRequest", "nsv"),
    ("coordination.k8s.io", "leasecandidates", "LeaseCandidate", "nvc"),
    ("coordination.k8s.io", "leases", "Lease", "nvc"),
    ("discovery.k8s.io", "endpointslices", "EndpointSlice", "ng"),
    ("events.k8s.io", "events", "Event", "nc"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema", "sg"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "PriorityLevelConfiguration", "sg"),
    ("internal.apiserver.k8s.io", "storageversions", "StorageVersion", "sv"),
    ("lifecycle.k8s.io", "evictionrequests", "EvictionRequest", "nsgv"),
    ("lifecycle.k8s.io", "evictions", "Eviction", "nsgv"),
    ("networking.k8s.io", "ingressclasses", "IngressClass", "g"),
    ("networking.k8s.io", "ingresses", "Ingress", "nsg"),
    ("networking.k8s.io", "ipaddresses", "IPAddress", ""),
    ("networking.k8s.io", "networkpolicies", "NetworkPolicy", "ng"),
    ("networking.k8s.io", "servicecidrs", "ServiceCIDR", "s"),
    ("node.k8s.io", "runtimeclasses", "RuntimeClass", "vc"),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudget", "nsgv"),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding", "c"),
    ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole", "c"),
    ("rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "nc"),
    ("rbac.authorization.k8s.io", "roles", "Role", "nc"),
    ("resource.k8s.io", "deviceclasses", "DeviceClass", "gr"),
    ("resource.k8s.io", "devicetaintrules", "DeviceTaintRule", "sgv"),
    ("resource.k8s.io", "resourceclaims", "ResourceClaim", "nsr"),
    ("resource.k8s.io", "resourceclaimtemplates", "ResourceClaimTemplate", "nr"),
    ("resource.k8s.io", "resourcepoolstatusrequests", "ResourcePoolStatusRequest", "svr"),
    ("resource.k8s.io", "resourceslices", "ResourceSlice", "gr"),
    ("scheduling.k8s.io", "compositepodgroups", "CompositePodGroup", "nsv"),
    ("scheduling.k8s.io", "podgroups", "PodGroup", "nsv"),
    ("scheduling.k8s.io", "priorityclasses", "PriorityClass", "g"),
    ("scheduling.k8s.io", "workloads", "Workload", "nv"),
    ("storage.k8s.io", "csidrivers", "CSIDriver", "vr"),
    ("storage.k8s.io", "csinodes", "CSINode", "svr"),
    ("storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity", "nv"),
    ("storage.k8s.io", "storageclasses", "StorageClass", "r"),
    ("storage.k8s.io", "volumeattachments", "VolumeAttachment", "svr"),
    ("storage.k8s.io", "volumeattributesclasses", "VolumeAttributesClass", "r"),
    ("storagemigration.k8s.io", "storageversionmigrations", "StorageVersionMigration", "sv"),
];

/// What the API server does with the objects of one kind.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "traits of a kind, each by itself"
)]
pub(super) struct Kind {
    /// Empty if unknown.
    pub(super) name: String,
    pub(super) api_version: String,
    pub(super) built_in: bool,
    /// `n`; `None` if unknown.
    pub(super) namespaced: Option<bool>,
    /// `s`: the status is a subresource, and written only at `/status`.
    pub(super) status: bool,
    /// `g`: the generation counts changes of the spec.
    pub(super) generation: bool,
    /// `v`: a replacement must contain the resource version that it replaces.
    pub(super) versioned: bool,
    /// `c`: a replacement of an object that does not exist creates it.
    pub(super) creates: bool,
    /// `r`: a deletion returns the object.
    pub(super) returns: bool,
    /// The schema of this version, from a definition (CRD).
    pub(super) schema: Option<Arc<Value>>,
    /// Its rules in CEL.
    pub(super) rules: Rules,
}

impl Kind {
    fn built_in(name: &str, api_version: &str, traits: &str) -> Self {
        Self {
            name: name.to_owned(),
            api_version: api_version.to_owned(),
            built_in: true,
            namespaced: Some(traits.contains('n')),
            status: traits.contains('s'),
            generation: traits.contains('g'),
            versioned: traits.contains('v'),
            creates: traits.contains('c'),
            returns: traits.contains('r'),
            schema: None,
            rules: Rules::default(),
        }
    }

    /// A custom resource without a definition; nearly all have a status.
    fn custom() -> Self {
        Self {
            name: String::new(),
            api_version: String::new(),
            built_in: false,
            namespaced: None,
            status: true,
            generation: true,
            versioned: true,
            creates: false,
            returns: false,
            schema: None,
            rules: Rules::default(),
        }
    }
}

/// A definition (CRD).
#[derive(Clone, Debug)]
struct Definition {
    /// Without the schemas of its versions, which are large.
    crd: Value,
    /// The schema of each version and its rules, in their order.
    schemas: Vec<(Arc<Value>, Rules)>,
}

impl Definition {
    fn new(mut crd: Value) -> Self {
        let versions = crd["spec"]["versions"].as_array_mut();
        let versions = versions.into_iter().flatten();
        let schemas = versions.map(|version| {
            let schema = version.pointer_mut("/schema/openAPIV3Schema");
            let schema = schema.map(Value::take).unwrap_or_default();
            let rules = Rules::of(&schema);
            (Arc::new(schema), rules)
        });
        Self {
            schemas: schemas.collect(),
            crd,
        }
    }

    fn kind(&self, version: &str) -> Option<Kind> {
        let spec = &self.crd["spec"];
        let versions = spec["versions"].as_array()?.iter().zip(&self.schemas);
        let mut named = versions.filter(|(found, _)| found["name"] == version);
        let (version, (schema, rules)) = named.next()?;
        Some(Kind {
            name: spec["names"]["kind"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            namespaced: Some(spec["scope"] == "Namespaced"),
            status: version["subresources"]["status"].is_object(),
            schema: Some(schema.clone()),
            rules: rules.clone(),
            ..Kind::custom()
        })
    }
}

/// The kinds that are served.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    /// The registered definitions.
    definitions: Vec<Definition>,
    /// Group and plural of the kinds that are not installed.
    missing: BTreeSet<(String, String)>,
}

impl Kinds {
    /// Reads definitions.
    #[must_use]
    pub fn read(definitions: &[Value]) -> Self {
        let mut kinds = Self::default();
        let definitions = definitions.iter().cloned();
        definitions.for_each(|crd| kinds.define(crd));
        kinds
    }

    /// Adds a definition; replaces one of the same name.
    pub(super) fn define(&mut self, crd: Value) {
        self.definitions
            .retain(|old| old.crd["metadata"]["name"] != crd["metadata"]["name"]);
        self.definitions.push(Definition::new(crd));
    }

    pub(super) fn uninstall(&mut self, path: &Path) {
        self.missing.insert(names(path));
    }

    pub(super) fn install(&mut self, path: &Path) {
        self.missing.remove(&names(path));
    }

    /// The version in which the objects of a kind with a definition are stored, if this path has one of its versions; and whether
    /// a webhook converts them.
    pub(super) fn stored_version(&self, path: &Path) -> Option<(String, bool)> {
        let defined = self.defined(path)?;
        let spec = &defined.crd["spec"];
        let versions = spec["versions"].as_array()?;
        let is_one = versions.iter().any(|it| it["name"] == path.version());
        let stored = versions.iter().find(|it| it["storage"] == true)?;
        let by_webhook = spec["conversion"]["strategy"] == "Webhook";
        let version = stored["name"].as_str().filter(|_| is_one)?;
        Some((version.to_owned(), by_webhook))
    }

    /// The versions of a kind with a definition that are served.
    pub(super) fn served_versions(&self, path: &Path) -> Vec<String> {
        let versions = self.defined(path).map(|it| &it.crd["spec"]["versions"]);
        let versions = versions.and_then(Value::as_array).into_iter().flatten();
        let served = versions.filter(|it| it["served"] == true);
        let names = served.filter_map(|it| it["name"].as_str());
        names.map(str::to_owned).collect()
    }

    /// The rules that could not be evaluated, with the names of their definitions.
    #[must_use]
    pub fn unevaluated(&self) -> Vec<(String, String)> {
        let of = |one: &Definition| {
            let name = one.crd["metadata"]["name"].as_str().unwrap_or_default();
            let rules = one
                .schemas
                .iter()
                .flat_map(|(_, rules)| rules.unevaluated());
            let mut rules: Vec<_> = rules.map(|rule| (rule, name.to_owned())).collect();
            rules.dedup();
            rules
        };
        self.definitions.iter().flat_map(of).collect()
    }

    fn defined(&self, path: &Path) -> Option<&Definition> {
        self.definitions.iter().find(|one| {
            let spec = &one.crd["spec"];
            spec["group"] == path.group() && spec["names"]["plural"] == path.plural.as_str()
        })
    }

    /// The kind at this path; `None` if it does not exist.
    pub(super) fn of(&self, path: &Path) -> Option<Kind> {
        if self.missing.contains(&names(path)) {
            return None;
        }
        let group = path.group();
        let known = BUILT_IN
            .iter()
            .find(|(g, plural, ..)| *g == group && *plural == path.plural);
        if let Some((_, _, name, traits)) = known {
            return Some(Kind::built_in(name, path.api_version(), traits));
        }
        if let Some(defined) = self.defined(path) {
            return defined.kind(path.version());
        }
        // Kubernetes' own groups contain no other kinds.
        let own = BUILT_IN.iter().any(|(g, ..)| *g == group);
        (!own).then(Kind::custom)
    }
}

fn names(path: &Path) -> (String, String) {
    (path.group().to_owned(), path.plural.clone())
}
