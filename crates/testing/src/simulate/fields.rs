//! The fields of an object that a write has changed.

use hyper::Method;
use serde_json::Value;

use super::state;
use crate::server::Call;

/// The fields that a write has changed, as JSON pointers, without those that the API server sets.
pub(super) fn changed(before: &Value, after: &Value) -> Vec<String> {
    let mut all = Vec::new();
    state::compare(String::new(), Some(before), Some(after), &mut all);
    let is_servers = |pointer: &str| {
        let field = pointer.strip_prefix("/metadata/");
        let field = field.and_then(|field| field.split('/').next());
        field.is_some_and(|field| state::SERVERS.contains(&field))
    };
    let pointers = all.into_iter().map(|one| one.pointer);
    pointers.filter(|pointer| !is_servers(pointer)).collect()
}

/// How many fields of an object are shown.
const FIELDS: usize = 3;

/// The fields that were changed, in parentheses.
pub(super) fn shown(fields: &[String]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let (first, more) = fields.split_at(fields.len().min(FIELDS));
    let more = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!(" ({}{more})", first.join(", "))
}

/// The fields of an object that a write has changed; none of one that is new, or that it deletes.
pub(super) fn changed_fields(call: &Call, old: Option<Value>, new: Option<Value>) -> Vec<String> {
    match (old, new) {
        _ if call.method == Method::DELETE => Vec::new(),
        (Some(old), Some(new)) => changed(&old, &new),
        // An object that is being deleted has lost its last finalizer.
        (Some(_), None) => vec!["/metadata/finalizers".to_owned()],
        (None, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_that_a_write_has_changed_are_not_those_of_the_server() {
        let before =
            json!({"metadata": {"generation": 1, "labels": {"a/b": "c"}}, "spec": {"a": [1, 2]}});
        let after =
            json!({"metadata": {"generation": 2}, "spec": {"a": [1, 3]}, "status": {"ok": true}});
        let fields = ["/metadata/labels", "/spec/a/1", "/status"];
        assert_eq!(changed(&before, &after), fields);
    }

    #[test]
    fn a_few_fields_are_shown() {
        let fields = |count: usize| {
            let fields = (1..=count).map(|at| format!("/spec/{at}"));
            shown(&fields.collect::<Vec<_>>())
        };
        assert_eq!(fields(0), "");
        assert_eq!(fields(2), " (/spec/1, /spec/2)");
        assert_eq!(fields(5), " (/spec/1, /spec/2, /spec/3 and 2 more)");
    }
}
