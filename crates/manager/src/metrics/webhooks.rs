//! The metrics of webhooks. Those of the API server's side are `apiserver_admission_webhook_*`.

use std::time::Instant;

use hyper::StatusCode;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::queues::exponential_buckets;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Path {
    webhook: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    webhook: String,
    code: u16,
}

/// The metrics of all webhooks.
#[derive(Clone, Debug)]
pub(super) struct Webhooks {
    requests: Family<Code, Counter>,
    seconds: Family<Path, Histogram, fn() -> Histogram>,
    in_flight: Family<Path, Gauge>,
    panics: Counter,
    conversion_panics: Counter,
    unreadable: Family<Path, Counter>,
}

impl Webhooks {
    pub(super) fn new() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets())),
            in_flight: Family::default(),
            panics: Counter::default(),
            conversion_panics: Counter::default(),
            unreadable: Family::default(),
        }
    }

    pub(super) fn register(&self, r: &mut Registry) {
        let help = "Requests of the API server, by the code of the answer";
        r.register("webhook_requests", help, self.requests.clone());
        let help = "Length of time per request";
        r.register_with_unit("webhook_latency", help, Unit::Seconds, self.seconds.clone());
        let help = "Requests that are being answered";
        r.register("webhook_requests_in_flight", help, self.in_flight.clone());
        let help = "Requests for admission whose webhook panicked";
        r.register("webhook_panics", help, self.panics.clone());
        let help = "Requests for conversion that panicked";
        let conversion = self.conversion_panics.clone();
        r.register("conversion_webhook_panics", help, conversion);
    }

    /// Registers the metrics that controller-runtime does not have.
    pub(super) fn register_own(&self, r: &mut Registry) {
        let help = "Stored objects in requests that their type cannot read";
        let unreadable = self.unreadable.clone();
        r.register("manager_webhook_unreadable_objects", help, unreadable);
    }

    /// The metrics of the webhook at this path, starting at zero.
    pub(super) fn at(&self, path: &str) -> WebhookMetrics {
        let labels = Path {
            webhook: path.to_owned(),
        };
        let metrics = WebhookMetrics {
            seconds: self.seconds.get_or_create_owned(&labels),
            in_flight: self.in_flight.get_or_create_owned(&labels),
            unreadable: self.unreadable.get_or_create_owned(&labels),
            path: path.to_owned(),
            all: self.clone(),
        };
        // The usual codes exist from the start, as in controller-runtime.
        for code in [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR] {
            metrics.requests(code);
        }
        metrics
    }
}

/// The metrics of the webhook at one path.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    path: String,
    seconds: Histogram,
    in_flight: Gauge,
    unreadable: Counter,
    all: Webhooks,
}

impl WebhookMetrics {
    /// Counts a request as in flight, until it is [answered](WebhookRequest::answered) or dropped.
    pub(crate) fn started(&self) -> WebhookRequest {
        self.in_flight.inc();
        WebhookRequest {
            metrics: self.clone(),
            started: Instant::now(),
        }
    }

    /// Counts a panic of a defaulter or validator.
    pub(crate) fn panicked(&self) {
        self.all.panics.inc();
    }

    /// Counts a panic of a conversion.
    pub(crate) fn conversion_panicked(&self) {
        self.all.conversion_panics.inc();
    }

    /// Counts a stored object that its type cannot read.
    pub(crate) fn unreadable(&self) {
        self.unreadable.inc();
    }

    fn requests(&self, code: StatusCode) -> Counter {
        self.all.requests.get_or_create_owned(&Code {
            webhook: self.path.clone(),
            code: code.as_u16(),
        })
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct WebhookRequest {
    metrics: WebhookMetrics,
    started: Instant,
}

impl WebhookRequest {
    /// Counts the answer and its duration. The code is the HTTP status: a rejected object is a 200.
    pub(crate) fn answered(self, code: StatusCode) {
        let took = self.started.elapsed().as_secs_f64();
        self.metrics.seconds.observe(took);
        self.metrics.requests(code).inc();
    }
}

impl Drop for WebhookRequest {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
    }
}
