//! The alerts in `config/prometheus/alerts.yaml`.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::{
    project::{self, captains, text},
    promql, promtool, series,
    support::repository,
};

/// Tests of the alerts, for promtool.
const TESTS: &str = include_str!("tests.yaml");

#[test]
fn promtool_accepts_the_alerts_of_a_project_with_any_name() {
    // The shortest and the longest name.
    for name in ["a", "fleet-2-of-the-northern-sea-and-its-port"] {
        let project = project::init(name);
        let rules = project.object("PrometheusRule")["spec"].to_string();
        promtool::run(&["check", "rules", "rules.yaml"], &[("rules.yaml", &rules)]);
    }
}

#[test]
fn alerts_fire_in_time_and_only_if_they_should() {
    let mut rules = captains().object("PrometheusRule")["spec"].clone();
    // Otherwise, the tests would have to repeat them.
    for group in rules["groups"].as_array_mut().unwrap() {
        for rule in group["rules"].as_array_mut().unwrap() {
            rule.as_object_mut().unwrap().remove("annotations");
        }
    }
    let files = [("rules.yaml", &*rules.to_string()), ("tests.yaml", TESTS)];
    promtool::run(&["test", "rules", "tests.yaml"], &files);
}

/// The tests of promtool, as it reads them.
fn tests() -> Vec<Value> {
    let file: Value = serde_saphyr::from_str(TESTS).unwrap();
    file["tests"].as_array().unwrap().clone()
}

#[test]
fn each_alert_is_tested_while_it_fires_and_while_it_does_not() {
    let (mut firing, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for test in tests() {
        for case in test["alert_rule_test"].as_array().unwrap() {
            let none = case["exp_alerts"].as_array().unwrap().is_empty();
            let alerts = if none { &mut silent } else { &mut firing };
            alerts.insert(text(case, "alertname").to_owned());
        }
    }
    let alerts: BTreeSet<_> = captains()
        .alerts()
        .map(|alert| text(alert, "alert").to_owned())
        .collect();
    assert_eq!(firing, alerts);
    assert_eq!(silent, alerts);
}

#[test]
fn the_tests_of_alerts_use_series_as_the_library_exports_them() {
    let known = series::all();
    for test in tests() {
        for input in test["input_series"].as_array().unwrap() {
            let input = text(input, "series");
            let query = promql::parse(input);
            let selector = &query.selectors[0];
            let series = known
                .get(&selector.name)
                .unwrap_or_else(|| panic!("{input}"));
            let is_own = |label: &&String| !series::is_of_target(label);
            let own: BTreeSet<_> = selector.labels.iter().filter(is_own).cloned().collect();
            assert_eq!(own, series.labels, "{input}");
        }
    }
}

#[test]
fn alerts_use_series_of_this_operator_that_the_library_exports() {
    // The label `job` is the name of the Service that the ServiceMonitor selects.
    let service = captains().object("Service");
    let labels = &captains().object("ServiceMonitor")["spec"]["selector"]["matchLabels"];
    assert_eq!(&service["metadata"]["labels"], labels);
    let job = format!("job=\"{}\"", text(&service["metadata"], "name"));
    for alert in captains().alerts() {
        let query = text(alert, "expr");
        let result = series::check(query);
        let selectors = promql::parse(query).selectors.len();
        assert_eq!(query.matches(&job).count(), selectors, "{query}");
        // Templates name no label that the query drops.
        let annotations = alert["annotations"].to_string();
        for label in annotations.split("$labels.").skip(1) {
            let label = label.split(' ').next().unwrap();
            assert!(result.contains(label), "no label `{label}`: {alert}");
        }
    }
}

#[test]
fn each_alert_has_a_severity_a_delay_and_a_description_and_is_documented() {
    let page = fs::read_to_string(repository().join("docs/metrics.md")).unwrap();
    for alert in captains().alerts() {
        let (name, annotations) = (text(alert, "alert"), &alert["annotations"]);
        let severity = text(&alert["labels"], "severity");
        assert!(["critical", "warning"].contains(&severity), "{alert}");
        let row = format!("\n| `{name}` | {severity} |");
        assert!(page.contains(&row), "no `{row}` in docs/metrics.md");
        assert!(text(alert, "for").ends_with('m'), "{alert}");
        assert!(text(annotations, "description").ends_with('.'), "{alert}");
        // One summary for all instances of an alert.
        let summary = text(annotations, "summary");
        assert!(
            summary.contains("captains") && !summary.contains("{{"),
            "{alert}"
        );
    }
    let rows = page.matches("\n| `Operator").count();
    assert_eq!(rows, captains().alerts().count(), "docs/metrics.md");
}
