//! The comments that give an operator the permissions that it needs.

/// The comment that permits these verbs on a resource.
#[must_use]
pub fn comment(group: &str, resource: &str, verbs: &str) -> String {
    let group = if group.is_empty() { "core" } else { group };
    format!("// +kbr:rbac:groups={group},resources={resource},verbs={verbs}")
}

/// The comment that permits what the API server has denied with this message, which only this message says. `None` if it
/// was no matter of permissions.
///
/// Source: `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`.
#[must_use]
pub fn denied(message: &str) -> Option<String> {
    let (_, denied) = message.split_once("\" cannot ")?;
    let (verb, denied) = denied.split_once(" resource \"")?;
    let (resource, denied) = denied.split_once("\" in API group \"")?;
    let (group, _) = denied.split_once('"')?;
    Some(comment(group, resource, verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_request_names_the_comment_that_permits_it() {
        let of = |what: &str| denied(&format!("User \"system:serviceaccount:a:b\" cannot {what}"));
        let core = "list resource \"pods\" in API group \"\" in the namespace \"a\"";
        let expected = "// +kbr:rbac:groups=core,resources=pods,verbs=list";
        assert_eq!(of(core).as_deref(), Some(expected));
        let status = "patch resource \"ships/status\" in API group \"c.d\" at the cluster scope";
        let expected = "// +kbr:rbac:groups=c.d,resources=ships/status,verbs=patch";
        assert_eq!(of(status).as_deref(), Some(expected));
        assert_eq!(of("get path \"/metrics\""), None);
        let ending =
            "forbidden: unable to create new content in namespace a because it is being terminated";
        assert_eq!(denied(ending), None);
    }
}
