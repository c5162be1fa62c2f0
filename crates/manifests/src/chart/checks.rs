//! What a release cannot be: a template that renders nothing, or fails with a sentence.

use super::ports::Ports;
use super::switches::Switches;

/// The template. `converted` are the CRDs of the chart that the operator's webhook converts.
pub fn template(switches: &Switches, ports: &Ports, converted: &[String]) -> Option<String> {
    let has = |value: &str| switches.values.iter().any(|it| it == value);
    let mut checks: Vec<(String, String)> = Vec::new();
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
        format!("{{{{- if {condition} }}}}\n{{{{- fail {sentence:?} }}}}\n{{{{- end }}}}\n")
    };
    (!checks.is_empty()).then(|| checks.into_iter().map(text).collect())
}
