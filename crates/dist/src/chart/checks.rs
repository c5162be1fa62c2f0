//! What a release cannot be: a template that renders nothing, or fails with a sentence.

use super::ports::Ports;
use super::switches::Switches;
use kbr_scaffold::quote;

/// Characters that YAML reads as the end of a line, or not at all, even in quotes. JSON writes two of them as `\u2028` and `\u2029`.
const UNREADABLE: &str = r"[\x7f-\x9f\x{feff}\x{fffe}\x{ffff}]|\\u202[89]";

/// The template. `converted` are the CRDs of the chart that the operator's webhook converts.
pub fn template(switches: &Switches, ports: &Ports, converted: &[String]) -> String {
    let has = |value: &str| switches.values.iter().any(|it| it == value);
    let mut checks = vec![(
        format!("regexMatch `{UNREADABLE}` (toJson .Values.manager)"),
        "the values below `manager` have a character that YAML cannot keep: another end of a line than `\\n`, or a control character".to_owned(),
    )];
    if !converted.is_empty() && has("webhook.enabled") {
        checks.push((
            "and .Values.crd.enabled (not .Values.webhook.enabled)".to_owned(),
            format!(
                "`webhook.enabled` must be true: the API server converts {} through the operator's webhook. \
                 Only a release with `crd.enabled: false` needs none, because another one converts",
                converted.join(", ")
            ),
        ));
    }
    if has("metrics.enabled") && has("prometheus.enabled") {
        checks.push((
            "and .Values.prometheus.enabled (not .Values.metrics.enabled)".to_owned(),
            "`prometheus.enabled` needs `metrics.enabled`: there would be nothing to scrape"
                .to_owned(),
        ));
    }
    // A port is a key in the list of a container's ports: server-side apply accepts no two that are the same.
    let values = ports.values();
    for (number, one) in values.iter().enumerate() {
        for other in &values[number + 1..] {
            checks.push((
                format!("eq (int .Values.{one}) (int .Values.{other})"),
                format!("`{one}` and `{other}` must differ"),
            ));
        }
    }
    let text = |(condition, sentence): (String, String)| {
        let sentence = quote::go(&sentence);
        format!("{{{{- if {condition} }}}}\n{{{{- fail {sentence} }}}}\n{{{{- end }}}}\n")
    };
    checks.into_iter().map(text).collect()
}
