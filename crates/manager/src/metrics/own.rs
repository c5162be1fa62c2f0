//! The metrics of the operator's author.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{
    encoding::text::encode_registry,
    metrics::MetricType,
    registry::{Metric, Registry},
};

use super::text;
use crate::panics::caught;

/// What the names of the manager's metrics begin with. The names of a later release do as well, so that an upgrade
/// never collides with a metric of the author.
const RESERVED: [&str; 7] = [
    "certwatcher_",
    "controller_runtime_",
    "leader_election_",
    "manager_",
    "process_",
    "rest_client_",
    "workqueue_",
];

/// The metrics that the author has registered.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnMetrics(Arc<Mutex<Registered>>);

#[derive(Debug, Default)]
struct Registered {
    metrics: Vec<OwnMetric>,
    /// The names of all series.
    names: BTreeSet<String>,
}

/// One metric, in a registry of its own, because one that cannot be encoded ends the encoding of its registry.
#[derive(Debug)]
struct OwnMetric {
    name: String,
    registry: Registry,
    /// Whether it was logged that the metric is omitted.
    is_logged: bool,
}

impl OwnMetrics {
    pub(crate) fn register(
        &self,
        name: &str,
        help: &str,
        metric: impl Metric,
    ) -> Result<(), String> {
        check(name, metric.metric_type())?;
        let mut registered = self.lock();
        let names = series(name, metric.metric_type());
        if let Some(taken) = names.iter().find(|name| registered.names.contains(*name)) {
            return Err(format!("the metric `{taken}` is registered twice"));
        }
        registered.names.extend(names);
        let help = help.replace('\\', r"\\").replace('\n', " ");
        let mut registry = Registry::default();
        registry.register(name, help, metric);
        registered.metrics.push(OwnMetric {
            name: name.to_owned(),
            registry,
            is_logged: false,
        });
        Ok(())
    }

    /// The metrics in the text format of Prometheus. One that is invalid is omitted and logged once, because Prometheus
    /// would reject all metrics of the scrape.
    pub(super) fn text(&self) -> String {
        let mut all = String::new();
        for metric in &mut self.lock().metrics {
            match encoded(&metric.registry) {
                Ok(text) => all += &text,
                Err(error) if !metric.is_logged => {
                    metric.is_logged = true;
                    tracing::error!(metric = metric.name, error, "a metric is omitted");
                }
                Err(_) => {}
            }
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of one metric, or why it is invalid. Its labels may be encoded by code of the author.
fn encoded(registry: &Registry) -> Result<String, String> {
    let mut text = String::new();
    match caught(|| encode_registry(&mut text, registry)) {
        Ok(Ok(())) => {}
        Ok(Err(_)) => return Err("its labels cannot be encoded".to_owned()),
        Err(panic) => return Err(format!("its labels or values panicked: {panic}")),
    }
    let text = text::from_openmetrics(&text);
    match text.lines().find(|line| !text::has_valid_labels(line)) {
        Some(line) => Err(format!("`{line}` has an invalid label")),
        None => Ok(text),
    }
}

/// Fails if a metric cannot have this name.
fn check(name: &str, kind: MetricType) -> Result<(), String> {
    let word = |at: char| at.is_ascii_alphanumeric() || at == '_' || at == ':';
    if !name.chars().all(word)
        || name.starts_with(|at: char| at.is_ascii_digit())
        || name.is_empty()
    {
        return Err(format!(
            "`{name}` is not a valid name of a metric\n\
             help: use letters, digits and `_`, as in `captains_arrivals`"
        ));
    }
    if let Some(prefix) = RESERVED.iter().find(|prefix| name.starts_with(**prefix)) {
        return Err(format!(
            "the metric `{name}` begins with `{prefix}`, like metrics of the manager\n\
             help: begin it with the name of the operator"
        ));
    }
    match kind {
        MetricType::Counter if name.ends_with("_total") => Err(format!(
            "the metric `{name}` would be called `{name}_total`\n\
             help: leave out `_total`, which each counter gets"
        )),
        MetricType::Counter | MetricType::Gauge | MetricType::Histogram => Ok(()),
        MetricType::Info | MetricType::Unknown => Err(format!(
            "the metric `{name}` has the type `{}`, which Prometheus' text format lacks\n\
             help: use a counter, gauge or histogram",
            kind.as_str()
        )),
    }
}

/// The names of the series of a metric.
fn series(name: &str, kind: MetricType) -> Vec<String> {
    let ends: &[&str] = match kind {
        MetricType::Counter => &["_total"],
        MetricType::Histogram => &["", "_bucket", "_count", "_sum"],
        _ => &[""],
    };
    ends.iter().map(|end| format!("{name}{end}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use kbr_testing::FakeApi;
    use prometheus_client::{
        encoding::{EncodeLabelSet, LabelSetEncoder},
        metrics::{
            counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info,
        },
    };

    use super::*;
    use crate::harness;

    #[tokio::test]
    async fn own_metrics_have_help_type_and_values() {
        let mut manager = harness::on(&FakeApi::new());
        let arrivals = Family::<[(&str, &str); 1], Counter>::default();
        manager.metric("ship_arrivals", "Ships that\narrived", arrivals.clone());
        manager.metric("ship_crew", "Sailors", Gauge::<i64>::default());
        let wait = Histogram::new([0.5]);
        manager.metric("ship_wait_seconds", "Time at anchor", wait.clone());
        arrivals.get_or_create(&[("port", "north")]).inc();
        wait.observe(0.25);
        assert_eq!(manager.mistakes, [""; 0]);
        let text = manager.metrics.text().unwrap();
        let own: Vec<_> = text.lines().filter(|line| line.contains("ship_")).collect();
        let wanted = [
            "# HELP ship_arrivals_total Ships that arrived.",
            "# TYPE ship_arrivals_total counter",
            r#"ship_arrivals_total{port="north"} 1"#,
            "# HELP ship_crew Sailors.",
            "# TYPE ship_crew gauge",
            "ship_crew 0",
            "# HELP ship_wait_seconds Time at anchor.",
            "# TYPE ship_wait_seconds histogram",
            "ship_wait_seconds_sum 0.25",
            "ship_wait_seconds_count 1",
            r#"ship_wait_seconds_bucket{le="0.5"} 1"#,
            r#"ship_wait_seconds_bucket{le="+Inf"} 1"#,
        ];
        assert_eq!(own, wanted);
    }

    #[test]
    fn a_backslash_in_the_help_is_escaped() {
        let own = OwnMetrics::default();
        let gauge = Gauge::<i64>::default();
        own.register("ship_crew", r"Sailors in C:\new", gauge)
            .unwrap();
        let text = "# HELP ship_crew Sailors in C:\\\\new.\n# TYPE ship_crew gauge\nship_crew 0\n";
        assert_eq!(own.text(), text);
    }

    /// Labels that the author encodes.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Labels {
        Fail,
        Panic,
    }

    impl EncodeLabelSet for Labels {
        fn encode(&self, _: &mut LabelSetEncoder<'_>) -> fmt::Result {
            match self {
                Self::Fail => Err(fmt::Error),
                Self::Panic => panic!("no steam"),
            }
        }
    }

    fn one<
        S: EncodeLabelSet + Clone + std::hash::Hash + Eq + std::fmt::Debug + Send + Sync + 'static,
    >(
        labels: &S,
    ) -> impl Metric {
        let family = Family::<S, Gauge>::default();
        family.get_or_create(labels).set(1);
        family
    }

    #[test]
    fn a_metric_with_invalid_labels_is_omitted_and_the_others_are_not() {
        let own = OwnMetrics::default();
        own.register("a", "Fails", one(&Labels::Fail)).unwrap();
        own.register("b", "Valid", one(&[("port", "\\ \"}\n")]))
            .unwrap();
        own.register("c", "Panics", one(&Labels::Panic)).unwrap();
        own.register("d", "Name", one(&[("the port", "x")]))
            .unwrap();
        own.register("e", "Twice", one(&[("port", "x"), ("port", "y")]))
            .unwrap();
        for _ in 0..2 {
            let text = "# HELP b Valid.\n# TYPE b gauge\nb{port=\"\\\\ \\\"}\\n\"} 1\n";
            assert_eq!(own.text(), text);
        }
    }

    #[track_caller]
    fn check(name: &str, metric: impl Metric, mistake: &str) {
        let own = OwnMetrics::default();
        let gauge = Gauge::<i64>::default();
        own.register("ship_crew_count", "Sailors", gauge).unwrap();
        let error = own.register(name, "", metric).unwrap_err();
        assert!(error.starts_with(mistake), "{error}");
    }

    #[test]
    fn a_name_that_collides_or_is_invalid_is_a_mistake() {
        let (counter, gauge) = (Counter::<u64>::default, Gauge::<i64>::default);
        check("ship crew", gauge(), "`ship crew` is not a valid name");
        check("2ships", gauge(), "`2ships` is not a valid name");
        check("", gauge(), "`` is not a valid name");
        let twice = "the metric `ship_crew_count` is registered twice";
        check("ship_crew_count", gauge(), twice);
        check("ship_crew", Histogram::new([1.0]), twice);
        let total = "the metric `ship_total` would be called `ship_total_total`";
        check("ship_total", counter(), total);
        let ours = "the metric `workqueue_depth` begins with `workqueue_`";
        check("workqueue_depth", gauge(), ours);
        let info = Info::new([("version", "1")]);
        check("ship", info, "the metric `ship` has the type `info`");
    }
}
