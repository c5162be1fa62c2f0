//! Helm's releases: base64 of gzip of JSON, with all values and all manifests of a release.

use serde_json::Value;

use super::encoded;
use super::fakes::{Fakes, Treatment};
use super::shape;

/// The `type` of a Secret with a release.
pub const TYPE: &str = "helm.sh/release.v1";

/// What stays: what the release is, and what happened to it.
const KEPT: [&str; 13] = [
    "/name",
    "/namespace",
    "/version",
    "/info/first_deployed",
    "/info/last_deployed",
    "/info/deleted",
    "/info/status",
    "/chart/metadata",
    "/hooks/*/name",
    "/hooks/*/kind",
    "/hooks/*/path",
    "/hooks/*/events",
    "/hooks/*/last_run",
];

/// The release with other values. `None` if it is not one.
///
/// Only what the user set is searched for in other objects: charts and manifests consist of names and common words.
pub fn fake(fakes: &mut Fakes, release: &[u8]) -> Option<Vec<u8>> {
    let (content, engine) = encoded::base64(str::from_utf8(release).ok()?)?;
    let mut json: Value = serde_json::from_slice(&encoded::gunzip(&content)?).ok()?;
    json.as_object()?;
    replace(fakes, &mut json, "");
    let content = encoded::gzip(json.to_string().as_bytes());
    Some(base64::Engine::encode(engine, content).into_bytes())
}

fn replace(fakes: &mut Fakes, value: &mut Value, path: &str) {
    if KEPT.contains(&path) {
        return;
    }
    let is_set = path == "/config" || path.starts_with("/config/");
    let treatment = Treatment {
        searched: is_set,
        ..Treatment::VALUE
    };
    match value {
        Value::String(text) => *text = shape::text(fakes, text, treatment),
        Value::Array(list) => {
            let path = format!("{path}/*");
            for it in list {
                replace(fakes, it, &path);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                replace(fakes, value, &format!("{path}/{key}"));
            }
        }
        _ => {}
    }
}
