//! The webhooks of one version of a kind, and every name derived from it.

mod marker;
pub mod selector;

use serde::{Deserialize, Serialize};

use super::names;
use super::target::Target;
use crate::vars::Vars;
use kbr_host::diagnostic::Problems;

/// The label with a namespace's name, which the API server sets and no one can change.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Default timeout of a webhook in seconds, the same as the API server's.
pub const TIMEOUT: u8 = 10;

/// The webhooks that one command added; also a table `[[webhook]]` of PROJECT. A version of a kind may have several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// The kind; for a conversion, the hub.
    #[serde(flatten)]
    pub target: Target,
    /// The path of the defaulting webhook: `/mutate-crew-example-com-v1-captain`, or empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub defaulting: String,
    /// The path of the validating webhook: `/validate-crew-example-com-v1-captain`, or empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub validation: String,
    /// The versions that are converted to and from this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spokes: Vec<String>,
    /// When and how the API server calls the admission webhooks.
    #[serde(flatten)]
    pub calls: Calls,
}

/// When the API server calls an admission webhook, and what it does if there is no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// `Ignore`, or empty for `Fail`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure_policy: String,
    /// Seconds, 1 to 30; `None` for [`TIMEOUT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u8>,
    /// A selector for the labels of namespaces, in the syntax of kubectl's `--selector`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace_selector: String,
    /// A selector for the labels of objects, in the same syntax.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object_selector: String,
    /// `name=expression`, in CEL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<String>,
}

/// Whether a webhook mutates or validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionKind {
    /// It changes objects.
    Mutate,
    /// It accepts or rejects objects.
    Validate,
}

impl Webhook {
    /// A table without webhooks.
    pub fn new(target: Target) -> Self {
        Webhook {
            target,
            defaulting: String::new(),
            validation: String::new(),
            spokes: Vec::new(),
            calls: Calls::default(),
        }
    }

    /// `crew_v1_captain`: file and module in `src/webhooks`.
    pub fn module(&self) -> String {
        let Target {
            group,
            version,
            kind,
            ..
        } = &self.target;
        names::module(&format!("{group}_{version}_{}", kind.to_lowercase()))
    }

    /// `src/webhooks/crew_v1_captain.rs`.
    pub fn path(&self) -> String {
        format!("src/webhooks/{}.rs", self.module())
    }

    /// The name of the type in the file: its own, or an alias if that is taken.
    pub fn type_name(&self) -> String {
        self.target.type_name(names::is_taken_in_webhooks)
    }

    /// Whether it has admission webhooks, not only conversions.
    pub fn admits(&self) -> bool {
        !(self.defaulting.is_empty() && self.validation.is_empty())
    }

    /// The path of its defaulting or validating webhook; empty without one.
    pub fn at(&self, verb: AdmissionKind) -> &str {
        match verb {
            AdmissionKind::Mutate => &self.defaulting,
            AdmissionKind::Validate => &self.validation,
        }
    }

    /// The path of its defaulting or validating webhook.
    pub fn path_mut(&mut self, verb: AdmissionKind) -> &mut String {
        match verb {
            AdmissionKind::Mutate => &mut self.defaulting,
            AdmissionKind::Validate => &mut self.validation,
        }
    }

    /// The comment from which `kbr manifests` generates a webhook configuration.
    pub fn marker(
        &self,
        verb: AdmissionKind,
        path: &str,
        namespace: &str,
        manager_id: &str,
    ) -> String {
        marker::marker(self, verb, path, namespace, manager_id)
    }

    /// Checks this webhook by itself, not against others.
    pub fn check(&self, problems: &mut Problems) {
        for (path, verb) in [
            (&self.defaulting, AdmissionKind::Mutate),
            (&self.validation, AdmissionKind::Validate),
        ] {
            if path == "/convert" {
                problems.add(
                    "`/convert` is the path of the conversion webhook, for all kinds",
                    "pass another path",
                );
            } else if !path.is_empty() && !is_path(path) {
                problems.add(
                    format!("`{path}` is not a webhook path: use `/`, lower-case letters, digits, `-` and `.`"),
                    format!("try `{}`", self.target.webhook_path(verb)),
                );
            }
        }
        if !self.defaulting.is_empty() && self.defaulting == self.validation {
            problems.add(
                format!("both webhooks have the path `{}`", self.defaulting),
                "give each its own path, or leave both flags out",
            );
        }
        self.calls.check(problems);
    }

    /// Sets the template variables.
    pub fn fill(&self, vars: &mut Vars) {
        self.target.fill(vars);
        vars.webhook_module = self.module();
        vars.type_name = self.type_name();
        vars.type_use = self.target.type_use(&vars.type_name);
    }

    /// Sets the template variables for the admission webhooks of this table.
    pub fn fill_calls(&self, vars: &mut Vars) {
        let own_path = |path: &String, verb| {
            let usual = *path == self.target.webhook_path(verb);
            if usual { String::new() } else { path.clone() }
        };
        let marker = |path: &String, verb| {
            if path.is_empty() {
                return String::new();
            }
            self.marker(verb, path, &vars.namespace, &vars.manager_id)
        };
        let mutating = marker(&self.defaulting, AdmissionKind::Mutate);
        vars.validating_marker = marker(&self.validation, AdmissionKind::Validate);
        vars.mutating_marker = mutating;
        vars.defaulting_path = own_path(&self.defaulting, AdmissionKind::Mutate);
        vars.validation_path = own_path(&self.validation, AdmissionKind::Validate);
    }
}

impl Target {
    /// The default path of a webhook for the kind: `/mutate-crew-example-com-v1-captain`, with
    /// `validate` for a validator; `/mutate--v1-pod` in the core group, whose name is empty. controller-runtime and
    /// `manager` use the same path.
    pub fn webhook_path(&self, verb: AdmissionKind) -> String {
        let verb = match verb {
            AdmissionKind::Mutate => "mutate",
            AdmissionKind::Validate => "validate",
        };
        let group = self.full_group.replace('.', "-");
        format!(
            "/{verb}-{group}-{}-{}",
            self.version,
            self.kind.to_lowercase()
        )
    }
}

impl Calls {
    fn check(&self, problems: &mut Problems) {
        if !["", "Fail", "Ignore"].contains(&self.failure_policy.as_str()) {
            problems.add(
                format!("`{}` is not a failure policy", self.failure_policy),
                "`Fail` rejects an object if the webhook does not answer, `Ignore` admits it",
            );
        }
        if self
            .timeout
            .is_some_and(|seconds| !(1..=30).contains(&seconds))
        {
            problems.add(
                "the timeout of a webhook must be between 1 and 30 seconds",
                "pass a number from 1 to 30 with `--timeout`",
            );
        }
        for selector in [&self.namespace_selector, &self.object_selector] {
            if let Err(reason) = selector::parse(selector) {
                problems.add(
                    format!("`{selector}` is not a label selector: {reason}"),
                    "use kubectl's syntax: `team=deck,tier in (front,back),!legacy`",
                );
            }
        }
        for condition in &self.match_conditions {
            if condition
                .split_once('=')
                .is_none_or(|(name, cel)| !is_condition_name(name) || cel.trim().is_empty())
            {
                problems.add(
                    format!("`{condition}` is not a match condition"),
                    "write a name, `=` and a CEL expression: `not-by-nodes=!request.userInfo.groups.exists(g, g == 'system:nodes')`",
                );
            }
        }
    }
}

/// The API server's rule for paths of a service.
fn is_path(path: &str) -> bool {
    path.strip_prefix('/')
        .is_some_and(|rest| rest.split('/').all(names::is_subdomain))
}

/// A qualified name without a prefix: letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_condition_name(name: &str) -> bool {
    let ends = |end: Option<char>| end.is_some_and(|end| end.is_ascii_alphanumeric());
    name.len() <= names::LABEL_MAX
        && ends(name.chars().next())
        && ends(name.chars().last())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::kubernetes;

    fn pod() -> Webhook {
        Webhook::new(Target::kubernetes(
            &kubernetes::find("core", "v1", "Pod").unwrap(),
        ))
    }

    fn problems(webhook: &Webhook) -> Vec<String> {
        let mut problems = Problems::default();
        webhook.check(&mut problems);
        problems.texts().map(str::to_owned).collect()
    }

    #[test]
    fn names_are_derived_from_the_kind() {
        let pod = pod();
        assert_eq!(pod.path(), "src/webhooks/core_v1_pod.rs");
        assert_eq!(
            pod.target.webhook_path(AdmissionKind::Mutate),
            "/mutate--v1-pod"
        );
        let role = kubernetes::find("rbac", "v1", "Role").unwrap();
        let role = Webhook::new(Target::kubernetes(&role));
        assert_eq!(role.module(), "rbac_authorization_k8s_io_v1_role");
        assert_eq!(
            role.target.webhook_path(AdmissionKind::Validate),
            "/validate-rbac-authorization-k8s-io-v1-role"
        );
    }

    #[test]
    fn paths_follow_the_rules_of_the_api_server() {
        for good in ["/a", "/a-b/c.d/9"] {
            assert!(is_path(good), "{good}");
        }
        // The API server rejects all of them except `/`, which is meaningless.
        for bad in [
            "", "/", "a", "/a/", "//a", "/a b", "/a?b", "/A", "/a_b", "/-a", "/ä", "/convert",
        ] {
            let mut webhook = pod();
            webhook.defaulting = bad.to_owned();
            assert_eq!(
                problems(&webhook).len(),
                usize::from(!bad.is_empty()),
                "{bad}"
            );
        }
    }

    #[test]
    fn every_problem_is_reported() {
        let mut webhook = pod();
        webhook.defaulting = "/a".to_owned();
        webhook.validation = "/a".to_owned();
        webhook.calls = Calls {
            failure_policy: "fail".to_owned(),
            timeout: Some(31),
            namespace_selector: "a in b".to_owned(),
            object_selector: "a=b".to_owned(),
            match_conditions: vec!["a=true".to_owned(), "=x".to_owned(), "-a=x".to_owned()],
        };
        assert_eq!(problems(&webhook).len(), 6, "{:?}", problems(&webhook));
    }
}
