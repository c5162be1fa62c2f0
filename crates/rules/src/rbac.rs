//! Whether a rule of RBAC allows a request.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go`.

/// Whether a rule with the verb `granted` allows `asked`.
#[must_use]
pub fn allows_verb(granted: &str, asked: &str) -> bool {
    granted == "*" || granted == asked
}

/// Whether a rule with the API group `granted` allows `asked`; the core group is empty.
#[must_use]
pub fn allows_group(granted: &str, asked: &str) -> bool {
    granted == "*" || granted == asked
}

/// Whether a rule with the resource `granted` allows `asked`: `pods`, or with a subresource `pods/status`. `*/status` is the subresource of
/// any resource.
#[must_use]
pub fn allows_resource(granted: &str, asked: &str) -> bool {
    let subresource = asked.split_once('/').map(|(_, name)| name);
    let of_any = granted.strip_prefix("*/");
    granted == "*" || granted == asked || of_any.is_some() && of_any == subresource
}

/// Whether a rule for the objects with the names `granted` allows a request for `asked`, which is empty if the URL has no name.
#[must_use]
pub fn allows_name<T: AsRef<str>>(granted: impl IntoIterator<Item = T>, asked: &str) -> bool {
    let mut granted = granted.into_iter().peekable();
    granted.peek().is_none() || granted.any(|name| name.as_ref() == asked)
}

/// Whether a rule with the URL `granted` allows `asked`. Only a star at the end is a wildcard.
#[must_use]
pub fn allows_url(granted: &str, asked: &str) -> bool {
    let prefix = granted.strip_suffix('*');
    granted == asked || prefix.is_some_and(|prefix| asked.starts_with(prefix))
}
