//! Match conditions of webhooks: CEL expressions about an admission request.

use std::sync::Arc;

use crate::finding::{Finding, Severity};
use apiserver_rules::expressions::{Cause, Checker, Place, Type, TypeError, parse};

/// Reports why the API server cannot compile the expression of a match condition.
///
/// The variables are those that `k8s.io/apiserver/pkg/admission/plugin/cel` 1.37 declares for webhooks. Calls on `authorizer` are only parsed.
///
/// # Errors
/// The finding, whose message is a part of a sentence: `unknown function …`.
pub fn check_condition(text: &str) -> Result<(), Finding> {
    compile(text).map_err(|error| Finding {
        id: match error.cause {
            Cause::Mismatch => "match-condition",
            Cause::UnknownFunction => "unknown-function",
            Cause::UnknownOverload => "unknown-overload",
            Cause::UnknownVariable => "unknown-variable",
        },
        severity: Severity::Error,
        version: None,
        path: String::new(),
        message: error.message,
        helps: vec![HELP.to_owned()],
    })
}

const HELP: &str = "write a CEL expression about `object`, `oldObject`, `request` and `authorizer` that decides whether the webhook is called";

fn compile(text: &str) -> Result<(), TypeError> {
    let expression = parse(text)?;
    if text.contains("authorizer") {
        return Ok(());
    }
    let names = [
        ("object", Type::Dyn),
        ("oldObject", Type::Dyn),
        ("request", request()),
        ("authorizer", Type::Dyn),
    ];
    match Checker::with_names(names).infer(&expression)? {
        Type::Bool | Type::Dyn => Ok(()),
        kind => Err(format!("must evaluate to a bool, not {kind}").into()),
    }
}

/// The type of `AdmissionRequest` without the objects, which are separate variables.
fn request() -> Type {
    let name = |word: &str| {
        object(
            word,
            &["group", "version", word].map(|field| (field, Type::String)),
        )
    };
    let texts = Type::List(Arc::new(Type::String));
    let (kind, resource) = (name("kind"), name("resource"));
    let user = object(
        "userInfo",
        &[
            ("username", Type::String),
            ("uid", Type::String),
            ("groups", texts.clone()),
            ("extra", Type::Map(Arc::new(Type::String), Arc::new(texts))),
        ],
    );
    object(
        "request",
        &[
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", Type::String),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", Type::String),
            ("name", Type::String),
            ("namespace", Type::String),
            ("operation", Type::String),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

/// An object type; `name` distinguishes it from others.
fn object(name: &str, fields: &[(&str, Type)]) -> Type {
    let fields = fields
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), kind.clone()));
    Type::Object(Place::of(name), Arc::new(fields.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_compile_are_accepted() {
        for text in [
            "request.userInfo.username != 'system:admin'",
            "!('system:nodes' in request.userInfo.groups)",
            "!request.userInfo.groups.exists(g, g.startsWith('system:'))",
            "request.operation == 'DELETE' || object.spec.replicas > 3",
            "has(object.metadata.labels) && object.metadata.labels['a'] == 'b'",
            "request.resource.group != '' && request.kind.kind == 'Pod'",
            "oldObject == null || object.metadata.generation != oldObject.metadata.generation",
            "authorizer.group('apps').resource('deployments').check('create').allowed()",
            "request.dryRun",
            "object.spec.any",
        ] {
            assert_eq!(check_condition(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn conditions_that_do_not_compile_are_rejected_with_the_reason() {
        for (text, reason) in [
            ("object.spec.replicas >", "at character"),
            (
                "request.userinfo.username == ''",
                "unknown field `userinfo`; did you mean `userInfo`",
            ),
            (
                "objekt.spec == 1",
                "unknown variable `objekt`; did you mean `object`",
            ),
            (
                "self.spec == 1",
                "unknown variable `self`; the variables are `object`, `oldObject`, `request`, `authorizer` and those of macros",
            ),
            ("request.name", "must evaluate to a bool, not a string"),
            ("request.name == 3", "no"),
        ] {
            let error = check_condition(text).unwrap_err().message;
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
