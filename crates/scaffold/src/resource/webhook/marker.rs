//! The marker that makes the API server call a webhook.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{AdmissionKind, Calls, NAMESPACE_NAME, TIMEOUT, Webhook, selector};
use crate::quote;

/// `// +kbr:webhook:path=…`, with controller-gen's arguments.
///
/// A webhook for a kind that is not the project's own skips the objects in `namespace`, the operator's: an operator that had to admit its
/// own Pod, Secret or Lease could not start. It finds the namespace by its name, in a label that only the API server sets.
pub(super) fn marker(
    webhook: &Webhook,
    verb: AdmissionKind,
    path: &str,
    namespace: &str,
    manager_id: &str,
) -> String {
    let target = &webhook.target;
    let (prefix, mutating, verbs) = match verb {
        AdmissionKind::Mutate => ('m', true, "create;update"),
        // Deletion too: otherwise the scaffolded `validate_delete` would never be called.
        AdmissionKind::Validate => ('v', false, "create;update;delete"),
    };
    let calls = &webhook.calls;
    let policy = match calls.failure_policy.as_str() {
        "" => "Fail",
        policy => policy,
    };
    let mut marker = format!(
        "// +kbr:webhook:path={path},mutating={mutating},failurePolicy={policy},sideEffects=None,groups={},resources={},verbs={verbs},versions={},name={prefix}{},admissionReviewVersions=v1",
        target.group_shown(),
        target.plural,
        target.version,
        name(webhook, manager_id),
    );
    if let Some(seconds) = calls.timeout.filter(|seconds| *seconds != TIMEOUT) {
        let _ = write!(marker, ",timeoutSeconds={seconds}");
    }
    // A Namespace is selected by its own labels, as are the objects in it.
    let in_namespaces = target.namespaced || target.kind == "Namespace";
    let skipped = (!target.is_own() && in_namespaces).then_some(namespace);
    let rest = patch(calls, skipped);
    if !rest.is_empty() {
        let _ = write!(
            marker,
            ",patch=`{}`",
            quote::marker_json(&Value::Object(rest))
        );
    }
    marker
}

/// `captain-v1.crew.example.com`. For a built-in or external kind it includes the operator's name, because another operator may have a
/// webhook for that kind.
fn name(webhook: &Webhook, manager_id: &str) -> String {
    let target = &webhook.target;
    let kind = target.kind.to_lowercase();
    let whose = if target.is_own() {
        target.full_group.clone()
    } else {
        format!("{}.{manager_id}", target.group_shown())
    };
    format!("{kind}-{}.{whose}", target.version)
}

/// The fields for which controller-gen has no argument.
fn patch(calls: &Calls, skipped: Option<&str>) -> Map<String, Value> {
    let mut patch = Map::new();
    let selector = |text: &String| selector::parse(text).ok().flatten();
    let mut namespaces = selector(&calls.namespace_selector);
    if let Some(skipped) = skipped {
        let own = json!({ "key": NAMESPACE_NAME, "operator": "NotIn", "values": [skipped] });
        let namespaces = namespaces.get_or_insert_with(|| json!({}));
        match namespaces["matchExpressions"].as_array_mut() {
            Some(expressions) => expressions.push(own),
            None => namespaces["matchExpressions"] = json!([own]),
        }
    }
    let conditions: Vec<Value> = calls
        .match_conditions
        .iter()
        .filter_map(|condition| condition.split_once('='))
        .map(|(name, expression)| json!({ "name": name, "expression": expression.trim() }))
        .collect();
    if !conditions.is_empty() {
        patch.insert("matchConditions".to_owned(), conditions.into());
    }
    if let Some(namespaces) = namespaces {
        patch.insert("namespaceSelector".to_owned(), namespaces);
    }
    if let Some(objects) = selector(&calls.object_selector) {
        patch.insert("objectSelector".to_owned(), objects);
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::target::Target;
    use crate::resource::{ApiFlags, Resource, kubernetes};

    fn marker(target: Target, verb: AdmissionKind, calls: Calls) -> String {
        let path = target.webhook_path(verb);
        let webhook = Webhook {
            calls,
            ..Webhook::new(target)
        };
        let namespace = "captains-system";
        super::marker(&webhook, verb, &path, namespace, "captains.example.com")
    }

    fn captain() -> Target {
        let wanted = ApiFlags {
            group: "crew".to_owned(),
            domain: "example.com".to_owned(),
            version: "v1".to_owned(),
            kind: "Captain".to_owned(),
            namespaced: true,
            ..ApiFlags::default()
        };
        Target::own(&Resource::new(&wanted).unwrap())
    }

    #[test]
    fn webhooks_for_kinds_of_the_project_apply_to_all_namespaces() {
        assert_eq!(
            marker(captain(), AdmissionKind::Validate, Calls::default()),
            "// +kbr:webhook:path=/validate-crew-example-com-v1-captain,mutating=false,failurePolicy=Fail,sideEffects=None,\
             groups=crew.example.com,resources=captains,verbs=create;update;delete,versions=v1,\
             name=vcaptain-v1.crew.example.com,admissionReviewVersions=v1"
        );
    }

    #[test]
    fn webhooks_for_built_in_kinds_skip_the_operators_namespace() {
        let pod = Target::kubernetes(&kubernetes::find("core", "v1", "Pod").unwrap());
        let marker = marker(pod, AdmissionKind::Mutate, Calls::default());
        assert!(marker.contains(",groups=core,resources=pods,"), "{marker}");
        assert!(
            marker.contains(",name=mpod-v1.core.captains.example.com,"),
            "{marker}"
        );
        assert!(
            marker.ends_with(
                r#",patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["captains-system"]}]}}`"#
            ),
            "{marker}"
        );
    }

    #[test]
    fn webhooks_for_namespaces_skip_only_the_operators_namespace() {
        let marker = |group, kind| {
            let target = Target::kubernetes(&kubernetes::find(group, "v1", kind).unwrap());
            marker(target, AdmissionKind::Validate, Calls::default())
        };
        let left_out = r#""operator":"NotIn","values":["captains-system"]"#;
        assert!(marker("core", "Namespace").contains(left_out));
        assert!(!marker("core", "Node").contains(left_out));
    }

    #[test]
    fn the_flags_are_in_the_marker() {
        let calls = Calls {
            failure_policy: "Ignore".to_owned(),
            timeout: Some(3),
            namespace_selector: "a=b".to_owned(),
            object_selector: "!c".to_owned(),
            match_conditions: vec!["x=1 == 1".to_owned()],
        };
        let marker = marker(captain(), AdmissionKind::Mutate, calls);
        for part in [
            "failurePolicy=Ignore,",
            ",timeoutSeconds=3,",
            r#""matchConditions":[{"expression":"1 == 1","name":"x"}]"#,
            r#""namespaceSelector":{"matchLabels":{"a":"b"}}"#,
            r#""objectSelector":{"matchExpressions":[{"key":"c","operator":"DoesNotExist"}]}"#,
        ] {
            assert!(marker.contains(part), "{marker}");
        }
    }
}
