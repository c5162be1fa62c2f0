//! What the manager counts, under the names that controller-runtime and client-go use.

#[allow(dead_code, reason = "the webhook server is to use it")]
mod webhooks;

use std::{fmt, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

pub(crate) use self::webhooks::WebhookMetrics;
use self::webhooks::Webhooks;
use crate::reconcile::{Done, Failure};

/// controller-runtime's buckets for the length of a reconcile, in seconds.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// Its buckets for what is usually quick, in seconds: 10 ns to 1,000 s, each ten times the one before.
fn exponential_buckets() -> impl Iterator<Item = f64> {
    // Multiplied one by one as in Go, where 10 us come out as 9.999999999999999e-06: dashboards match on it.
    std::iter::successors(Some(10e-9), |bound| Some(bound * 10.0)).take(12)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    controller: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueName {
    controller: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseName {
    name: String,
}

type Histograms = Family<Controller, Histogram, fn() -> Histogram>;

/// Everything that is counted, and the registry that it is published from.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<Outcome, Counter>,
    errors: Family<Controller, Counter>,
    panics: Family<Controller, Counter>,
    timeouts: Family<Controller, Counter>,
    seconds: Histograms,
    active: Family<Controller, Gauge>,
    most: Family<Controller, Gauge>,
    depth: Family<QueueName, Gauge>,
    adds: Family<QueueName, Counter>,
    retries: Family<QueueName, Counter>,
    leading: Family<LeaseName, Gauge>,
    webhooks: Webhooks,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let seconds: Histograms =
            Family::new_with_constructor(|| Histogram::new(RECONCILE_BUCKETS));
        let mut metrics = Self {
            registry: Arc::default(),
            reconciles: Family::default(),
            errors: Family::default(),
            panics: Family::default(),
            timeouts: Family::default(),
            seconds,
            active: Family::default(),
            most: Family::default(),
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            leading: Family::default(),
            webhooks: Webhooks::new(),
        };
        metrics.registry = Arc::new(metrics.register());
        metrics
    }

    fn register(&self) -> Registry {
        let mut all = Registry::default();
        let r = all.sub_registry_with_prefix("controller_runtime");
        r.register("reconcile", "Reconciles", self.reconciles.clone());
        let help = "Reconciles that failed";
        r.register("reconcile_errors", help, self.errors.clone());
        let help = "Reconciles that panicked";
        r.register("reconcile_panics", help, self.panics.clone());
        let help = "Reconciles that took too long";
        r.register("reconcile_timeouts", help, self.timeouts.clone());
        let help = "Length of time per reconcile";
        r.register_with_unit("reconcile_time", help, Unit::Seconds, self.seconds.clone());
        let help = "Reconciles under way";
        r.register("active_workers", help, self.active.clone());
        let help = "The most reconciles that may be under way";
        r.register("max_concurrent_reconciles", help, self.most.clone());
        self.webhooks.register(r);

        let r = all.sub_registry_with_prefix("workqueue");
        let help = "Objects that wait for a worker";
        r.register("depth", help, self.depth.clone());
        let help = "Objects added to the queue";
        r.register("adds", help, self.adds.clone());
        let help = "Objects added again, after a delay";
        r.register("retries", help, self.retries.clone());

        let help = "1 while this process leads, 0 while it stands by";
        all.register("leader_election_master_status", help, self.leading.clone());
        all
    }

    /// The metrics in the text format of `OpenMetrics`.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    pub(crate) fn lead(&self, lease: &str, leading: bool) {
        let name = lease.to_owned();
        self.leading
            .get_or_create(&LeaseName { name })
            .set(i64::from(leading));
    }

    /// The metrics of the webhook that is served at this path, at nought.
    #[allow(dead_code, reason = "the webhook server is to use it")]
    pub(crate) fn webhook(&self, path: &str) -> WebhookMetrics {
        self.webhooks.at(path)
    }

    /// The metrics of a controller, at nought.
    pub(crate) fn controller(&self, name: &str, concurrency: usize) -> ControllerMetrics {
        let labels = Controller {
            controller: name.to_owned(),
        };
        let most = i64::try_from(concurrency).unwrap_or(i64::MAX);
        self.most.get_or_create(&labels).set(most);
        let result = |result| {
            let controller = name.to_owned();
            self.reconciles
                .get_or_create_owned(&Outcome { controller, result })
        };
        ControllerMetrics {
            success: result("success"),
            requeue_after: result("requeue_after"),
            error: result("error"),
            errors: self.errors.get_or_create_owned(&labels),
            panics: self.panics.get_or_create_owned(&labels),
            timeouts: self.timeouts.get_or_create_owned(&labels),
            seconds: self.seconds.get_or_create_owned(&labels),
            active: self.active.get_or_create_owned(&labels),
        }
    }

    /// The metrics of a controller's queue, at nought.
    pub(crate) fn queue(&self, controller: &str) -> QueueMetrics {
        let labels = QueueName {
            controller: controller.to_owned(),
            name: controller.to_owned(),
        };
        QueueMetrics {
            depth: self.depth.get_or_create_owned(&labels),
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
        }
    }
}

/// The metrics of one controller.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    success: Counter,
    requeue_after: Counter,
    error: Counter,
    errors: Counter,
    panics: Counter,
    timeouts: Counter,
    seconds: Histogram,
    active: Gauge,
}

impl ControllerMetrics {
    /// Counts a reconcile as under way for as long as what is returned lives.
    pub(crate) fn started(&self) -> Active<'_> {
        self.active.inc();
        Active(&self.active)
    }

    pub(crate) fn ended(&self, done: &Result<Done, Failure>, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        match done {
            Ok(Done::Asked(action)) if action.after.is_some() => self.requeue_after.inc(),
            Ok(_) => self.success.inc(),
            Err(failure) => {
                match failure {
                    Failure::Error(_) => {}
                    Failure::Panic(_) => drop(self.panics.inc()),
                    Failure::Timeout(_) => drop(self.timeouts.inc()),
                }
                self.errors.inc();
                self.error.inc()
            }
        };
    }
}

pub(crate) struct Active<'a>(&'a Gauge);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The metrics of one queue.
#[derive(Debug, Default)]
pub(crate) struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
}

impl QueueMetrics {
    pub(crate) fn depth(&self, depth: usize) {
        self.depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub(crate) fn added(&self) {
        self.adds.inc();
    }

    pub(crate) fn retried(&self) {
        self.retries.inc();
    }
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;

    use super::*;
    use crate::action::Action;

    #[test]
    fn names_and_labels_are_those_of_controller_runtime() {
        let metrics = Metrics::new();
        let controller = metrics.controller("captain", 10);
        let queue = metrics.queue("captain");
        queue.added();
        queue.depth(1);
        metrics.lead("captains.example.com", true);
        let second = Duration::from_secs(1);
        controller.ended(&Ok(Done::Asked(Action::await_change())), second);
        controller.ended(&Ok(Done::Asked(Action::requeue(second))), second);
        controller.ended(&Err(Failure::Panic(String::new())), second);
        let _active = controller.started();
        let text = metrics.encode().unwrap();
        for line in [
            r#"controller_runtime_reconcile_total{controller="captain",result="success"} 1"#,
            r#"controller_runtime_reconcile_total{controller="captain",result="requeue_after"} 1"#,
            r#"controller_runtime_reconcile_total{controller="captain",result="error"} 1"#,
            r#"controller_runtime_reconcile_errors_total{controller="captain"} 1"#,
            r#"controller_runtime_reconcile_panics_total{controller="captain"} 1"#,
            r#"controller_runtime_reconcile_timeouts_total{controller="captain"} 0"#,
            r#"controller_runtime_reconcile_time_seconds_bucket{le="1.0",controller="captain"} 3"#,
            r#"controller_runtime_active_workers{controller="captain"} 1"#,
            r#"controller_runtime_max_concurrent_reconciles{controller="captain"} 10"#,
            r#"workqueue_depth{controller="captain",name="captain"} 1"#,
            r#"workqueue_adds_total{controller="captain",name="captain"} 1"#,
            r#"workqueue_retries_total{controller="captain",name="captain"} 0"#,
            r#"leader_election_master_status{name="captains.example.com"} 1"#,
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "no `{line}` in\n{text}"
            );
        }
    }

    #[test]
    fn a_webhook_counts_answers_their_time_and_what_is_in_flight() {
        let metrics = Metrics::new();
        let webhook = metrics.webhook("/convert");
        webhook.started().answered(StatusCode::OK);
        drop(webhook.started());
        let _waiting = webhook.started();
        webhook.panicked();
        webhook.conversion_panicked();
        let text = metrics.encode().unwrap();
        for line in [
            r#"controller_runtime_webhook_requests_total{webhook="/convert",code="200"} 1"#,
            r#"controller_runtime_webhook_requests_total{webhook="/convert",code="500"} 0"#,
            r#"controller_runtime_webhook_requests_in_flight{webhook="/convert"} 1"#,
            r#"controller_runtime_webhook_latency_seconds_count{webhook="/convert"} 1"#,
            "controller_runtime_webhook_panics_total 1",
            "controller_runtime_conversion_webhook_panics_total 1",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "no `{line}` in\n{text}"
            );
        }
    }
}
