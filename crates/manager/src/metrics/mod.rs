//! The metrics of the manager, under the names that controller-runtime and client-go use.

mod migrations;
pub(crate) mod objects;
mod own;
mod process;
mod queues;
mod requests;
mod text;
mod webhooks;

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicU64},
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

pub(crate) use self::{
    migrations::MigrationMetrics,
    own::OwnMetrics,
    queues::QueueMetrics,
    requests::{CountLayer, Requests},
    text::MEDIA_TYPE,
    webhooks::WebhookMetrics,
};
use self::{migrations::Migrations, process::Process, queues::Queues, webhooks::Webhooks};
use crate::{
    cache::caches::Caches,
    causes::{CauseKind, Causes},
};

/// controller-runtime's buckets for the length of a reconcile, in seconds. Dashboards match on them.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

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
struct Caused {
    controller: String,
    cause: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Looped {
    controller: String,
    kind: String,
    field: String,
    writer: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseName {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

type Histograms = Family<Controller, Histogram, fn() -> Histogram>;

/// All metrics, and their registry.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<Outcome, Counter>,
    causes: Family<Caused, Counter>,
    loops: Loops,
    errors: Family<Controller, Counter>,
    terminal_errors: Family<Controller, Counter>,
    panics: Family<Controller, Counter>,
    timeouts: Family<Controller, Counter>,
    seconds: Histograms,
    active: Family<Controller, Gauge>,
    most: Family<Controller, Gauge>,
    leading: Family<LeaseName, Gauge>,
    synced: Family<Kind, Gauge>,
    ages: Family<Kind, Gauge<f64, AtomicU64>>,
    unreadable: Family<Kind, Gauge>,
    caches: Arc<OnceLock<Caches>>,
    certificates: CertificateMetrics,
    requests: Requests,
    queues: Queues,
    webhooks: Webhooks,
    migrations: Migrations,
    own: OwnMetrics,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let seconds: Histograms =
            Family::new_with_constructor(|| Histogram::new(RECONCILE_BUCKETS));
        let mut metrics = Self {
            registry: Arc::default(),
            reconciles: Family::default(),
            causes: Family::default(),
            loops: Loops::default(),
            errors: Family::default(),
            terminal_errors: Family::default(),
            panics: Family::default(),
            timeouts: Family::default(),
            seconds,
            active: Family::default(),
            most: Family::default(),
            leading: Family::default(),
            synced: Family::default(),
            ages: Family::default(),
            unreadable: Family::default(),
            caches: Arc::default(),
            certificates: CertificateMetrics::default(),
            requests: Requests::default(),
            queues: Queues::new(),
            webhooks: Webhooks::new(),
            migrations: Migrations::default(),
            own: OwnMetrics::default(),
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
        let help = "Reconciles that failed and are not retried";
        let terminal = self.terminal_errors.clone();
        r.register("terminal_reconcile_errors", help, terminal);
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
        self.webhooks.register_own(&mut all);

        self.queues
            .register(all.sub_registry_with_prefix("workqueue"));

        let r = all.sub_registry_with_prefix("certwatcher");
        let help = "Times that a certificate was read";
        r.register("read_certificate", help, self.certificates.reads.clone());
        let help = "Times that a certificate could not be read";
        let errors = self.certificates.errors.clone();
        r.register("read_certificate_errors", help, errors);

        self.requests.register(&mut all);
        all.register_collector(Box::new(Process::starting()));
        let help = "1 while this process leads, 0 while it stands by";
        all.register("leader_election_master_status", help, self.leading.clone());
        let help = "Reconciles by their causes, of which one may have several";
        all.register("manager_reconcile_causes", help, self.causes.clone());
        let help = "Writes of one field again and again, which the storm guard has slowed down";
        all.register("manager_reconcile_loops", help, self.loops.0.clone());
        let help = "1 once all objects of a kind have been listed";
        all.register("manager_cache_synced", help, self.synced.clone());
        let help = "Time since the objects of a kind were last known to be all and up to date";
        all.register("manager_cache_age_seconds", help, self.ages.clone());
        let help = "Objects of a kind that cannot be read and are skipped";
        let unreadable = self.unreadable.clone();
        all.register("manager_cache_unreadable_objects", help, unreadable);
        self.migrations.register(&mut all);
        all
    }

    /// The metrics in the text format of Prometheus, [`MEDIA_TYPE`].
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        self.queues.refresh();
        self.refresh();
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text::from_openmetrics(&text) + &self.own.text())
    }

    /// From now on, reports whether these caches have synced.
    pub(crate) fn show(&self, caches: &Caches) {
        // A manager has one set of caches.
        let _ = self.caches.set(caches.clone());
    }

    fn refresh(&self) {
        for (kind, state) in self.caches.get().map(Caches::states).unwrap_or_default() {
            let (kind, synced) = (Kind { kind }, state.cache.is_complete());
            self.synced.get_or_create(&kind).set(i64::from(synced));
            self.ages.get_or_create(&kind).set(state.age.as_secs_f64());
            let unreadable = i64::try_from(state.unreadable).unwrap_or(i64::MAX);
            self.unreadable.get_or_create(&kind).set(unreadable);
        }
    }

    /// The metrics of requests to the API server.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// The metrics of the operator's author.
    pub(crate) fn own(&self) -> &OwnMetrics {
        &self.own
    }

    /// The metrics of reading certificates.
    pub(crate) fn certificates(&self) -> &CertificateMetrics {
        &self.certificates
    }

    pub(crate) fn lead(&self, lease: &str, leading: bool) {
        let name = lease.to_owned();
        self.leading
            .get_or_create(&LeaseName { name })
            .set(i64::from(leading));
    }

    /// The metrics of the webhook at this path, starting at zero.
    pub(crate) fn webhook(&self, path: &str) -> WebhookMetrics {
        self.webhooks.at(path)
    }

    /// The metrics of the storage migration of a kind, starting at zero.
    pub(crate) fn migration(&self, kind: &str) -> MigrationMetrics {
        self.migrations.of(kind)
    }

    /// The metrics of a controller, starting at zero.
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
        let caused = |kind: CauseKind| {
            let (controller, cause) = (name.to_owned(), kind.as_str());
            self.causes
                .get_or_create_owned(&Caused { controller, cause })
        };
        // A storm has a series of its own; this one only shows that there is such a metric.
        let controller = name.to_owned();
        drop(self.loops.0.get_or_create(&Looped {
            controller,
            ..Looped::default()
        }));
        ControllerMetrics {
            causes: CauseKind::ALL.map(caused),
            loops: self.loops.clone(),
            name: name.to_owned(),
            success: result("success"),
            requeue: result("requeue"),
            requeue_after: result("requeue_after"),
            error: result("error"),
            errors: self.errors.get_or_create_owned(&labels),
            terminal_errors: self.terminal_errors.get_or_create_owned(&labels),
            panics: self.panics.get_or_create_owned(&labels),
            timeouts: self.timeouts.get_or_create_owned(&labels),
            seconds: self.seconds.get_or_create_owned(&labels),
            active: self.active.get_or_create_owned(&labels),
        }
    }

    /// The metrics of a controller's queue, starting at zero.
    pub(crate) fn queue(&self, controller: &str) -> QueueMetrics {
        self.queues.of(controller)
    }
}

/// How often certificates were read from their files, and how often that failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateMetrics {
    pub(crate) reads: Counter,
    pub(crate) errors: Counter,
}

/// The metrics of one controller.
#[derive(Debug)]
pub(crate) struct ControllerMetrics {
    /// In the order of [`CauseKind::ALL`].
    causes: [Counter; CauseKind::ALL.len()],
    loops: Loops,
    name: String,
    pub(crate) success: Counter,
    pub(crate) requeue: Counter,
    pub(crate) requeue_after: Counter,
    pub(crate) error: Counter,
    pub(crate) errors: Counter,
    pub(crate) terminal_errors: Counter,
    pub(crate) panics: Counter,
    pub(crate) timeouts: Counter,
    pub(crate) seconds: Histogram,
    pub(crate) active: Gauge,
}

impl ControllerMetrics {
    /// Counts a reconcile as active until the returned value is dropped.
    pub(crate) fn started(&self) -> Active<'_> {
        self.active.inc();
        Active(&self.active)
    }

    /// Counts a write of a storm.
    pub(crate) fn looped(&self, kind: &str, field: &str, writer: &str) {
        self.loops.count(Looped {
            controller: self.name.clone(),
            kind: kind.to_owned(),
            field: field.to_owned(),
            writer: writer.to_owned(),
        });
    }

    /// Counts the causes of a reconcile.
    pub(crate) fn caused(&self, causes: &Causes) {
        causes.count(|kind| {
            self.causes[kind as usize].inc();
        });
    }

    /// How many reconciles have panicked.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.get()
    }
}

/// How many storms have a series of their own. The key of a map may be in the name of a field, so there could be any number.
const MOST_LOOPS: usize = 100;

/// The writes of storms.
#[derive(Clone, Debug, Default)]
struct Loops(Family<Looped, Counter>, Arc<Mutex<HashSet<Looped>>>);

impl Loops {
    fn count(&self, mut labels: Looped) {
        let mut known = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_LOOPS && !known.contains(&labels) {
            "other".clone_into(&mut labels.field);
            labels.writer = String::new();
        }
        self.0.get_or_create(&labels).inc();
        known.insert(labels);
    }
}

pub(crate) struct Active<'a>(&'a Gauge);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper::StatusCode;

    use super::*;
    use crate::controller::{
        action::Action,
        outcome::{Done, Failure, count},
    };

    #[test]
    fn names_and_labels_match_controller_runtime() {
        let metrics = Metrics::new();
        let controller = metrics.controller("captain", 10);
        let queue = metrics.queue("captain");
        queue.added();
        queue.depth(1, 0);
        metrics.lead("captains.example.com", true);
        let second = Duration::from_secs(1);
        count(
            &controller,
            &Ok(Done::Asked(Action::await_change())),
            second,
        );
        count(
            &controller,
            &Ok(Done::Asked(Action::requeue(second))),
            second,
        );
        count(&controller, &Err(Failure::Panic(String::new())), second);
        let error = crate::terminal(anyhow::anyhow!("no such harbor"));
        count(&controller, &Err(error.into()), second);
        count(&controller, &Ok(Done::Asked(Action::again())), second);
        let wait = crate::waiting("NoWind", "no wind");
        count(&controller, &Err(wait.into()), second);
        let _active = controller.started();
        controller.caused(&CauseKind::Start.into());
        let text = metrics.text().unwrap();
        for line in [
            r#"controller_runtime_reconcile_total{controller="captain",result="success"} 1"#,
            r#"controller_runtime_reconcile_total{controller="captain",result="requeue_after"} 2"#,
            r#"controller_runtime_reconcile_total{controller="captain",result="error"} 2"#,
            r#"controller_runtime_reconcile_total{controller="captain",result="requeue"} 1"#,
            r#"controller_runtime_reconcile_errors_total{controller="captain"} 2"#,
            r#"controller_runtime_terminal_reconcile_errors_total{controller="captain"} 1"#,
            r#"controller_runtime_reconcile_panics_total{controller="captain"} 1"#,
            r#"controller_runtime_reconcile_timeouts_total{controller="captain"} 0"#,
            r#"controller_runtime_reconcile_time_seconds_bucket{le="1",controller="captain"} 6"#,
            r#"manager_reconcile_causes_total{controller="captain",cause="start"} 1"#,
            r#"manager_reconcile_causes_total{controller="captain",cause="poke"} 0"#,
            r#"controller_runtime_active_workers{controller="captain"} 1"#,
            r#"controller_runtime_max_concurrent_reconciles{controller="captain"} 10"#,
            r#"workqueue_depth{controller="captain",name="captain",priority="0"} 1"#,
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
    fn a_webhook_measures_responses_latency_and_requests_in_flight() {
        let metrics = Metrics::new();
        let webhook = metrics.webhook("/convert");
        webhook.started().answered(StatusCode::OK);
        drop(webhook.started());
        let _waiting = webhook.started();
        webhook.panicked();
        webhook.conversion_panicked();
        let text = metrics.text().unwrap();
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
