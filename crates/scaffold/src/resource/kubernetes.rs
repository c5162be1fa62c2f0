//! The built-in kinds of Kubernetes, from k8s-openapi.

/// The version of Kubernetes whose types a new project is compiled with. `make bump-kubernetes` writes it here, in the features of
/// k8s-openapi and in the table.
pub const TYPES: &str = "1.37";

/// One line per kind; a comment at the top tells how the file was generated.
const TABLE: &str = include_str!("kubernetes.txt");

/// The number of similar kinds that an error lists.
const NEAREST: usize = 3;

/// A built-in kind that can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// `apps`, empty for the core group.
    pub group: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`.
    pub plural: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// `k8s_openapi::api::apps::v1::Deployment`.
    pub type_path: &'static str,
}

impl BuiltIn {
    /// Whether `group` denotes this kind's group: `rbac.authorization.k8s.io`, `rbac.authorization` or `rbac`; `core` or the empty
    /// string for the core group.
    pub fn is_of_group(&self, group: &str) -> bool {
        if self.group.is_empty() {
            return group.is_empty() || group == "core";
        }
        group == self.group
            || self.group.strip_suffix(".k8s.io") == Some(group)
            || self.group.split('.').next() == Some(group)
    }

    /// `--group apps --version v1 --kind Deployment`.
    pub fn flags(&self) -> String {
        let group = if self.group.is_empty() {
            "core"
        } else {
            self.group
        };
        format!(
            "--group {group} --version {} --kind {}",
            self.version, self.kind
        )
    }
}

/// Every kind, sorted by group, version and kind.
pub fn kinds() -> impl Iterator<Item = BuiltIn> {
    TABLE.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let mut field = || fields.next();
        if line.starts_with('#') {
            return None;
        }
        Some(BuiltIn {
            group: field().map(|group| if group == "-" { "" } else { group })?,
            version: field()?,
            kind: field()?,
            plural: field()?,
            namespaced: field()? == "namespaced",
            type_path: field()?,
        })
    })
}

/// The short names of built-in kinds, each with the plural of its kind, as `kubectl api-resources` of 1.37 lists them.
const SHORT_NAMES: [(&str, &str); 30] = [
    ("cj", "cronjobs"),
    ("cm", "configmaps"),
    ("crd", "customresourcedefinitions"),
    ("crds", "customresourcedefinitions"),
    ("cs", "componentstatuses"),
    ("csr", "certificatesigningrequests"),
    ("deploy", "deployments"),
    ("ds", "daemonsets"),
    ("ep", "endpoints"),
    ("ev", "events"),
    ("hpa", "horizontalpodautoscalers"),
    ("ing", "ingresses"),
    ("ip", "ipaddresses"),
    ("limits", "limitranges"),
    ("netpol", "networkpolicies"),
    ("no", "nodes"),
    ("ns", "namespaces"),
    ("pc", "priorityclasses"),
    ("pdb", "poddisruptionbudgets"),
    ("po", "pods"),
    ("pv", "persistentvolumes"),
    ("pvc", "persistentvolumeclaims"),
    ("quota", "resourcequotas"),
    ("rc", "replicationcontrollers"),
    ("rs", "replicasets"),
    ("sa", "serviceaccounts"),
    ("sc", "storageclasses"),
    ("sts", "statefulsets"),
    ("svc", "services"),
    ("vac", "volumeattributesclasses"),
];

/// The built-in kind that kubectl means by `word`: a plural, a singular or a short name. kubectl prefers it to the kind of a CRD.
pub fn meant_by(word: &str) -> Option<BuiltIn> {
    let short = SHORT_NAMES.iter().find(|(short, _)| *short == word);
    let plural = short.map_or(word, |(_, plural)| plural);
    kinds().find(|known| known.plural == plural || known.kind.to_lowercase() == word)
}

/// The kind that the flags select.
pub fn find(group: &str, version: &str, kind: &str) -> Option<BuiltIn> {
    kinds().find(|known| known.kind == kind && known.version == version && known.is_of_group(group))
}

/// The flags for the nearest kinds: first the same kind in other groups, then kinds with a similar name.
pub fn nearest(group: &str, version: &str, kind: &str) -> Vec<String> {
    let lower = kind.to_lowercase();
    let mut scored: Vec<(usize, BuiltIn)> = kinds()
        .filter_map(|known| {
            let spelling = strsim::damerau_levenshtein(&known.kind.to_lowercase(), &lower)
                .min(strsim::damerau_levenshtein(known.plural, &lower));
            let elsewhere = usize::from(!known.is_of_group(group));
            let other = usize::from(known.version != version);
            let near = spelling <= 1 + known.kind.len() / 5;
            near.then_some((4 * spelling + 2 * elsewhere + other, known))
        })
        .collect();
    scored.sort_by_key(|(score, _)| *score);
    scored.truncate(NEAREST);
    scored.iter().map(|(_, known)| known.flags()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_their_common_names() {
        let found = find("apps", "v1", "Deployment").unwrap();
        assert_eq!(found.type_path, "k8s_openapi::api::apps::v1::Deployment");
        assert_eq!((found.plural, found.namespaced), ("deployments", true));
        for group in ["", "core"] {
            let found = find(group, "v1", "Node").unwrap();
            assert_eq!((found.group, found.namespaced), ("", false));
        }
        for group in ["rbac", "rbac.authorization", "rbac.authorization.k8s.io"] {
            let found = find(group, "v1", "Role").unwrap();
            assert_eq!(found.group, "rbac.authorization.k8s.io");
        }
        assert_eq!(find("apps", "v1", "Deploment"), None);
        assert_eq!(find("apps", "v2", "Deployment"), None);
    }

    #[test]
    fn the_nearest_kinds_are_named() {
        let nearest = |group, version, kind| nearest(group, version, kind).first().cloned();
        assert_eq!(
            nearest("apps", "v1", "Deploment").as_deref(),
            Some("--group apps --version v1 --kind Deployment")
        );
        assert_eq!(
            nearest("apps", "v1beta1", "deployments").as_deref(),
            Some("--group apps --version v1 --kind Deployment")
        );
        assert_eq!(
            nearest("core", "v1", "ingress").as_deref(),
            Some("--group networking.k8s.io --version v1 --kind Ingress")
        );
        assert_eq!(nearest("x", "v1", "Zymurgy"), None);
    }
}
