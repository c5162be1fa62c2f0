//! JSON -> a typed object, without losing the fields that its type does not have.

use std::any::type_name;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{controller::retry::terminal, json_path::path, parse};

/// Reads an object from JSON, as `serde_json::json!` builds it. A field that the type does not have is an error.
///
/// The types of `k8s_openapi` ignore unknown fields, because objects may come from a newer API server. In your own code, such
/// a field is a typing error, which `serde_json::from_value` would drop silently. So `from_json` reports it, with the
/// nearest field.
///
/// ```
/// # use k8s_openapi::api::apps::v1::Deployment;
/// use serde_json::json;
///
/// let error = manager::from_json::<Deployment>(json!({ "spec": { "replica": 3 } })).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`spec.replica` is not a field of Deployment\nhelp: did you mean `replicas`?"
/// );
/// ```
///
/// A struct with `#[serde(flatten)]` and an enum without a tag ignore unknown fields all the same: serde does not tell.
///
/// # Errors
/// The JSON has such a field, or a value of another type; the error names its path. It is [`terminal`]: to retry does not help.
pub fn from_json<T: DeserializeOwned>(json: Value) -> anyhow::Result<T> {
    let text = json.to_string();
    // It is moved so that no one uses it after all, and its memory is free before the object needs some.
    drop(json);
    let name = type_name::<T>().split('<').next().unwrap_or_default();
    let name = name.rsplit("::").next().unwrap_or_default();
    let read = parse::with_unknown::<T>(&text, usize::MAX);
    let (object, unknown) = read.map_err(|error| {
        let problem = error.explained(&text);
        terminal(anyhow::anyhow!("cannot read {name}: {problem}"))
    })?;
    let lines = unknown.values.iter().map(|it| {
        let start = it.value.as_ptr().addr() - text.as_ptr().addr();
        let path = path(&text.as_bytes()[..start]);
        let line = format!("`{path}` is not a field of {name}");
        let typed = path.rsplit('.').next().unwrap_or_default();
        match nearest(typed, it.siblings) {
            Some(nearest) => format!("{line}\nhelp: did you mean `{nearest}`?"),
            None => line,
        }
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return Ok(object);
    }
    Err(terminal(anyhow::Error::msg(lines.join("\n"))))
}

/// The field that was probably meant.
fn nearest(typed: &str, fields: &'static [&'static str]) -> Option<&'static str> {
    let distance =
        |field: &str| strsim::damerau_levenshtein(&typed.to_lowercase(), &field.to_lowercase());
    let all = fields.iter().map(|field| (distance(field), *field));
    let most = (typed.len() / 3).max(1);
    all.min()
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, field)| field)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    };
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn fails<T: DeserializeOwned + std::fmt::Debug>(json: Value, expected: &str) {
        assert_eq!(from_json::<T>(json).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_field_that_the_type_does_not_have_is_reported_with_the_nearest_one() {
        let container =
            json!({ "name": "web", "image": "nginx", "port": [], "livenesProbe": null });
        let pod = json!({ "spec": { "containers": [container] } });
        fails::<Deployment>(
            json!({ "spec": { "selector": {}, "template": pod }, "spce": {}, "quay": 1 }),
            "`quay` is not a field of Deployment\n\
             `spce` is not a field of Deployment\n\
             help: did you mean `spec`?\n\
             `spec.template.spec.containers[0].livenesProbe` is not a field of Deployment\n\
             help: did you mean `livenessProbe`?\n\
             `spec.template.spec.containers[0].port` is not a field of Deployment\n\
             help: did you mean `ports`?",
        );
    }

    #[test]
    fn a_value_of_another_type_is_reported_with_its_path() {
        fails::<Deployment>(
            json!({ "spec": { "replicas": "3" } }),
            "cannot read Deployment: spec.replicas: invalid type: string \"3\", expected i32",
        );
        let port = json!({ "port": 80, "targetPort": [] });
        let error = from_json::<Service>(json!({ "spec": { "ports": [{ "port": 1 }, port] } }));
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read Service: spec.ports[1].targetPort: "),
            "{error}"
        );
        fails::<ConfigMap>(
            json!([]),
            "cannot read ConfigMap: invalid type: sequence, expected ConfigMap",
        );
    }

    #[test]
    fn what_a_type_keeps_is_read_as_serde_json_reads_it() {
        for json in [
            json!({ "metadata": { "labels": { "a b": "c" }, "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3 } }),
            json!({ "spec": { "ports": [{ "port": 80, "targetPort": "http" }, { "port": 81, "targetPort": 1 }], "type": null } }),
        ] {
            let read: Service = from_json(json.clone()).unwrap();
            assert_eq!(read, serde_json::from_value(json).unwrap());
        }
        let map =
            json!({ "data": { "any": "key" }, "binaryData": { "a": "YQ==" }, "immutable": true });
        let read: ConfigMap = from_json(map.clone()).unwrap();
        assert_eq!(read, serde_json::from_value(map).unwrap());
    }
}
