//! Hides the values of Secrets in a report, which shows fields, messages and the end of a log.

use std::fmt::Write as _;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::report::Report;
use super::state::State;

/// Shorter values occur by chance.
const SHORTEST: usize = 8;

/// Hides each value of a Secret in the states and among what is installed, as it is and in base64.
///
/// # Errors
/// There are too many.
pub fn mask<'a>(
    report: &Report,
    states: &[&State],
    installed: impl Iterator<Item = &'a Value>,
) -> anyhow::Result<Report> {
    let mut values: Vec<String> = Vec::new();
    let secrets = states.iter().flat_map(|state| state.iter());
    for (_, seen) in secrets.filter(|(id, _)| id.group.is_empty() && id.kind == "Secret") {
        values.extend(values_of(&serde_json::from_str(&seen.object)?));
    }
    values.extend(
        installed
            .filter(|it| it["apiVersion"] == "v1" && it["kind"] == "Secret")
            .flat_map(values_of),
    );
    values.retain(|it| it.len() >= SHORTEST);
    values.sort();
    values.dedup();
    let all = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&values)?;
    let mut masked = serde_json::to_value(report)?;
    hide(&mut masked, &all);
    Ok(serde_json::from_value(masked)?)
}

/// The values of a Secret, as they are and in base64.
fn values_of(secret: &Value) -> Vec<String> {
    let texts = |field: &str| {
        let texts = secret[field].as_object().into_iter().flatten();
        texts.filter_map(|(_, it)| Some(it.as_str()?.to_owned()))
    };
    let mut values: Vec<String> = texts("data").collect();
    let plain = values
        .iter()
        .filter_map(|it| String::from_utf8(BASE64_STANDARD.decode(it).ok()?).ok());
    let plain: Vec<String> = plain.chain(texts("stringData")).collect();
    values.extend(plain.iter().map(|it| BASE64_STANDARD.encode(it)));
    values.extend(plain);
    values
}

fn hide(value: &mut Value, all: &AhoCorasick) {
    match value {
        Value::String(text) => {
            let mut hidden = String::new();
            all.replace_all_with(text, &mut hidden, |found, _, to| {
                write!(to, "({} bytes)", found.len()).ok();
                true
            });
            *text = hidden;
        }
        Value::Array(items) => items.iter_mut().for_each(|it| hide(it, all)),
        Value::Object(fields) => fields.values_mut().for_each(|it| hide(it, all)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Run;
    use crate::state::{Id, Seen};

    #[test]
    fn values_of_secrets_are_hidden_wherever_a_report_shows_them() {
        let id = Id {
            group: String::new(),
            kind: "Secret".to_owned(),
            namespace: "navy".to_owned(),
            name: "keys".to_owned(),
        };
        let data = serde_json::json!({ "data": { "a": BASE64_STANDARD.encode("open sesame"), "b": BASE64_STANDARD.encode("short") } });
        let seen = Seen {
            object: data.to_string().into(),
            ..Seen::default()
        };
        let state = State::from([(id, seen)]);
        let installed = serde_json::json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "c": "installed" } });
        let log = format!(
            "open sesame {} short installed",
            BASE64_STANDARD.encode("open sesame")
        );
        let report = Report {
            next: Run {
                log,
                ..Run::default()
            },
            ..Report::default()
        };
        let masked = mask(&report, &[&state], [&installed].into_iter()).unwrap();
        assert_eq!(masked.next.log, "(11 bytes) (16 bytes) short (9 bytes)");
    }
}
