//! The match conditions of a webhook, in CEL. Without the feature `cel`, they all hold.
//!
//! Source: `k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go`

use serde_json::Value;

use apiserver_rules::holds;

use crate::unevaluated::Unevaluated;

/// The conditions of a webhook. Clones share what is known of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    expressions: Vec<String>,
    unevaluated: Unevaluated,
}

impl Conditions {
    /// Those of a webhook.
    pub(super) fn of(webhook: &Value) -> Self {
        let conditions = webhook["matchConditions"].as_array().into_iter().flatten();
        let expressions = conditions.filter_map(|it| it["expression"].as_str());
        Self {
            expressions: expressions.map(str::to_owned).collect(),
            unevaluated: Unevaluated::default(),
        }
    }

    /// Whether all hold for a review. Those that are not evaluated hold, and are recorded.
    ///
    /// # Errors
    /// Those of the API server, if none is false.
    pub(super) fn hold(&self, review: &Value) -> Result<bool, String> {
        if self.expressions.is_empty() {
            return Ok(true);
        }
        let mut request = review["request"].clone();
        let [object, old] = ["object", "oldObject"].map(|field| request[field].take());
        if let Some(request) = request.as_object_mut() {
            request.retain(|_, value| !value.is_null());
        }
        let values = [
            ("object", &object),
            ("oldObject", &old),
            ("request", &request),
        ];
        let mut errors = Vec::new();
        for expression in &self.expressions {
            match holds(expression, &values) {
                Some(Ok(true)) => {}
                Some(Ok(false)) => return Ok(false),
                Some(Err(why)) => errors.push(format!(
                    "expression '{expression}' resulted in error: {why}"
                )),
                None => self.unevaluated.record("match condition", expression),
            }
        }
        match &errors[..] {
            [] => Ok(true),
            [error] => Err(error.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }

    /// The conditions that could not be evaluated.
    pub(super) fn unevaluated(&self) -> Vec<String> {
        self.unevaluated.all()
    }
}

#[cfg(all(test, feature = "cel"))]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_see_the_objects_and_the_request() {
        let review = json!({"request": {
            "operation": "UPDATE", "name": "a", "userInfo": {"username": "ada", "groups": ["crew"]},
            "object": {"spec": {"size": 2}}, "oldObject": {"spec": {"size": 1}},
        }});
        for (expected, expression) in [
            (Ok(true), "object.spec.size > oldObject.spec.size"),
            (
                Ok(false),
                "object.spec.size == 3 || request.operation == 'CREATE'",
            ),
            (
                Ok(true),
                "!(request.userInfo.username in ['bob']) && 'crew' in request.userInfo.groups",
            ),
            (Ok(true), "!has(request.subResource) && !has(object.status)"),
            (
                Ok(true),
                "authorizer.requestResource.check('sail').allowed()",
            ),
            (
                Err(
                    "expression 'object.spec.name == 'a'' resulted in error: no such key: name"
                        .to_owned(),
                ),
                "object.spec.name == 'a'",
            ),
        ] {
            let conditions = Conditions::of(
                &json!({"matchConditions": [{"name": "x", "expression": expression}]}),
            );
            assert_eq!(conditions.hold(&review), expected, "{expression}");
            let is_unknown = expression.starts_with("authorizer");
            assert_eq!(conditions.unevaluated().len(), usize::from(is_unknown));
        }
    }
}
