//! The dashboard in `grafana/dashboard.json`. There is no Grafana here: its format is documented at
//! <https://grafana.com/docs/grafana/latest/visualizations/dashboards/build-dashboards/view-dashboard-json-model/>.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    project::{captains, text},
    promtool, series,
};

/// The columns of a dashboard.
const WIDTH: u64 = 24;

/// A query with values for the variables of the dashboard.
fn expand(query: &str) -> String {
    let values = [
        ("$__rate_interval", "5m"),
        ("$namespace", "captains-system"),
        ("$controller", ".*"),
        ("$job", "captains-metrics"),
    ];
    let query = values
        .iter()
        .fold(query.to_owned(), |query, (name, value)| {
            query.replace(name, value)
        });
    assert!(!query.contains('$'), "unknown variable: {query}");
    query
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The panels, without the rows that divide them.
fn panels() -> impl Iterator<Item = &'static Value> {
    let panels = list(&captains().dashboard, "panels").iter();
    panels.filter(|panel| panel["type"] != "row")
}

/// Each query with the panel that shows it.
fn targets() -> impl Iterator<Item = (&'static Value, &'static Value)> {
    panels().flat_map(|panel| {
        list(panel, "targets")
            .iter()
            .map(move |target| (panel, target))
    })
}

#[test]
fn queries_use_series_that_the_library_exports() {
    for (panel, target) in targets() {
        let result = series::check(&expand(text(target, "expr")));
        // `{{pod}} received`
        for label in text(target, "legendFormat").split("{{").skip(1) {
            let (label, _) = label.split_once("}}").unwrap();
            assert!(result.contains(label), "no label `{label}`: {panel}");
        }
    }
}

#[test]
fn queries_select_what_the_variables_say() {
    for (_, target) in targets() {
        let query = text(target, "expr");
        let selectors = query.matches('{').count();
        assert_eq!(query.matches("{job='$job', ").count(), selectors, "{query}");
        let all = query.matches("namespace='$namespace'").count();
        assert!(all == selectors || query.contains("ALERTS{"), "{query}");
        let exported = crate::promql::parse(&expand(query)).selectors;
        let known = series::all();
        let of_controllers = exported
            .iter()
            .filter(|selector| known[&selector.name].labels.contains("controller"));
        assert_eq!(
            query.matches("controller=~'$controller'").count(),
            of_controllers.count(),
            "{query}"
        );
    }
}

#[test]
fn promtool_accepts_the_queries() {
    let rules: Vec<_> = targets()
        .map(|(_, target)| json!({ "record": "x", "expr": expand(text(target, "expr")) }))
        .collect();
    assert!(rules.len() > 30, "{rules:?}");
    // The groups keep equal names apart.
    let groups: Vec<_> = rules
        .into_iter()
        .enumerate()
        .map(|(at, rule)| json!({ "name": at.to_string(), "rules": [rule] }))
        .collect();
    let file = json!({ "groups": groups }).to_string();
    promtool::run(
        &["check", "rules", "--lint=none", "queries.yaml"],
        &[("queries.yaml", &file)],
    );
}

#[test]
fn variables_are_defined_and_list_labels_that_exist() {
    let dashboard = &captains().dashboard;
    let variables = list(&dashboard["templating"], "list");
    let names: Vec<_> = variables
        .iter()
        .map(|variable| text(variable, "name"))
        .collect();
    assert_eq!(names, ["datasource", "job", "namespace", "controller"]);
    assert_eq!(text(&variables[0], "query"), "prometheus");
    let service = captains().object("Service");
    assert_eq!(variables[1]["query"], service["metadata"]["name"]);
    for variable in &variables[2..] {
        let query = expand(text(&variable["query"], "query"));
        let inside = query
            .strip_prefix("label_values(")
            .and_then(|rest| rest.strip_suffix(')'));
        let (query, label) = inside.and_then(|inside| inside.rsplit_once(", ")).unwrap();
        assert_eq!(label, text(variable, "name"));
        assert!(series::check(query).contains(label), "{variable}");
    }
    let data_source = json!({ "type": "prometheus", "uid": "${datasource}" });
    for user in panels().chain(&variables[2..]) {
        assert_eq!(user["datasource"], data_source, "{user}");
    }
}

#[test]
fn panels_have_titles_and_descriptions_and_do_not_overlap() {
    let (mut ids, mut titles, mut taken) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for panel in list(&captains().dashboard, "panels") {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(titles.insert(text(panel, "title")), "{panel}");
        let is_row = panel["type"] == "row";
        assert!(
            is_row || text(panel, "description").ends_with('.'),
            "{panel}"
        );
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= WIDTH, "{panel}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "overlaps another panel: {panel}");
        }
        let mut references = BTreeSet::new();
        for target in list(panel, "targets") {
            assert!(references.insert(text(target, "refId")), "{panel}");
        }
    }
}
