//! The series that a query may use: those that the library exports, and Prometheus' own.

use std::collections::{BTreeMap, BTreeSet};

use crate::promql::{self, Selector};

/// The labels that Prometheus adds, because of a `ServiceMonitor`.
const TARGET: [&str; 7] = [
    "container",
    "endpoint",
    "instance",
    "job",
    "namespace",
    "pod",
    "service",
];

/// The series of Prometheus itself, in the same format as `series.txt`.
const OWN: &str = "gauge up\ngauge ALERTS alertname alertstate severity\n";

/// Functions for counters. `changes`, for example, is one for gauges.
const FOR_COUNTERS: [&str; 3] = ["increase", "irate", "rate"];

/// A series, as Prometheus stores it.
pub struct Series {
    is_gauge: bool,
    /// The labels that the operator exports.
    pub labels: BTreeSet<String>,
}

/// Every series by its name.
pub fn all() -> BTreeMap<String, Series> {
    let exported = include_str!("series.txt");
    let lines = exported.lines().chain(OWN.lines());
    let series = lines.map(|line| {
        let mut words = line.split(' ');
        let (kind, name) = (words.next().unwrap(), words.next().unwrap());
        let labels = words.map(str::to_owned).collect();
        let is_gauge = kind == "gauge";
        (name.to_owned(), Series { is_gauge, labels })
    });
    series.collect()
}

/// Whether Prometheus adds this label to every series.
pub fn is_of_target(label: &str) -> bool {
    TARGET.contains(&label)
}

/// Fails unless each series and label of a query exists, and each counter is in a function for counters, in which no gauge is.
/// Returns the labels of the result.
pub fn check(text: &str) -> BTreeSet<String> {
    let (known, query) = (all(), promql::parse(text));
    assert!(!query.selectors.is_empty(), "no series: {text}");
    let mut labels = BTreeSet::new();
    for Selector {
        name,
        labels: used,
        function,
    } in &query.selectors
    {
        let series = known.get(name);
        let series = series.unwrap_or_else(|| panic!("no series `{name}`: {text}"));
        for label in used {
            let found = series.labels.contains(label) || is_of_target(label);
            assert!(found, "`{name}` has no label `{label}`: {text}");
        }
        let counted = FOR_COUNTERS.contains(&function.as_str());
        assert_ne!(counted, series.is_gauge, "`{function}` of `{name}`: {text}");
        labels.extend(series.labels.iter().cloned());
    }
    for label in &query.grouped {
        let found = labels.contains(label) || is_of_target(label);
        assert!(found, "no label `{label}`: {text}");
    }
    if query.grouped.is_empty() {
        labels.extend(TARGET.map(str::to_owned));
        return labels;
    }
    query.grouped
}

#[test]
#[should_panic(expected = "no series `workqueue_length`")]
fn an_unknown_series_is_an_error() {
    check("sum(workqueue_length)");
}

#[test]
#[should_panic(expected = "`workqueue_depth` has no label `kind`")]
fn an_unknown_label_is_an_error() {
    check("workqueue_depth{kind='x'}");
}

#[test]
#[should_panic(expected = "no label `kind`")]
fn grouping_by_an_unknown_label_is_an_error() {
    check("sum by (kind) (workqueue_depth)");
}

#[test]
#[should_panic(expected = "`increase` of `workqueue_depth`")]
fn a_rate_of_a_gauge_is_an_error() {
    check("increase(workqueue_depth[5m])");
}
