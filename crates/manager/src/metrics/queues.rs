//! The metrics of work queues, like client-go's.
//!
//! Source: `k8s.io/client-go/util/workqueue/metrics.go`, `sigs.k8s.io/controller-runtime/pkg/internal/metrics`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use tokio::time::Instant;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    controller: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DepthLabels {
    controller: String,
    name: String,
    /// 0 or -100, as in controller-runtime.
    priority: i8,
}

type Histograms = Family<Labels, Histogram, fn() -> Histogram>;
type Seconds = Gauge<f64, AtomicU64>;

/// The metrics of all queues.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    depth: Family<DepthLabels, Gauge>,
    adds: Family<Labels, Counter>,
    retries: Family<Labels, Counter>,
    waited: Histograms,
    worked: Histograms,
    unfinished: Family<Labels, Seconds>,
    longest: Family<Labels, Seconds>,
    all: Arc<Mutex<Vec<QueueMetrics>>>,
}

impl Queues {
    pub(super) fn new() -> Self {
        let histograms: fn() -> Histogram = || Histogram::new(exponential_buckets());
        Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(histograms),
            worked: Family::new_with_constructor(histograms),
            unfinished: Family::default(),
            longest: Family::default(),
            all: Arc::default(),
        }
    }

    pub(super) fn register(&self, r: &mut Registry) {
        let help = "Objects that wait for a worker";
        r.register("depth", help, self.depth.clone());
        let help = "Objects added to the queue";
        r.register("adds", help, self.adds.clone());
        let help = "Objects added again, after a delay";
        r.register("retries", help, self.retries.clone());
        let help = "How long an object waits for a worker";
        r.register_with_unit("queue_duration", help, Unit::Seconds, self.waited.clone());
        let help = "How long a worker works on an object";
        r.register_with_unit("work_duration", help, Unit::Seconds, self.worked.clone());
        let help = "How long workers have been at what they are working on, summed up";
        let unfinished = self.unfinished.clone();
        r.register_with_unit("unfinished_work", help, Unit::Seconds, unfinished);
        let help = "How long the worker has been at it that began first";
        let longest = self.longest.clone();
        r.register_with_unit("longest_running_processor", help, Unit::Seconds, longest);
    }

    /// The metrics of a controller's queue, starting at zero.
    pub(super) fn of(&self, controller: &str) -> QueueMetrics {
        let labels = Labels {
            controller: controller.to_owned(),
            name: controller.to_owned(),
        };
        let depth = |priority| {
            let controller = controller.to_owned();
            let name = controller.clone();
            self.depth.get_or_create_owned(&DepthLabels {
                controller,
                name,
                priority,
            })
        };
        let metrics = QueueMetrics {
            depth: depth(0),
            low_depth: depth(-100),
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            waited: self.waited.get_or_create_owned(&labels),
            worked: self.worked.get_or_create_owned(&labels),
            unfinished: self.unfinished.get_or_create_owned(&labels),
            longest: self.longest.get_or_create_owned(&labels),
            under_way: Arc::default(),
        };
        self.lock().push(metrics.clone());
        metrics
    }

    /// Updates the metrics that change as time passes.
    pub(super) fn refresh(&self) {
        let now = Instant::now();
        for queue in self.lock().iter() {
            queue.refresh(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<QueueMetrics>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The metrics of one queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueMetrics {
    depth: Gauge,
    low_depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
    unfinished: Seconds,
    longest: Seconds,
    /// The start of each item in progress, one for each busy worker.
    under_way: Arc<Mutex<Vec<Instant>>>,
}

/// controller-runtime's buckets for fast operations, in seconds: 10 ns to 1,000 s, each ten times the previous one.
pub(super) fn exponential_buckets() -> impl Iterator<Item = f64> {
    // Multiplied step by step as in Go, where 10 µs becomes 9.999999999999999e-06: dashboards match on it.
    std::iter::successors(Some(10e-9), |bound| Some(bound * 10.0)).take(12)
}

impl Default for QueueMetrics {
    /// Metrics that no one scrapes.
    fn default() -> Self {
        Queues::new().of("")
    }
}

impl QueueMetrics {
    /// This many keys of normal and of low priority wait.
    pub(crate) fn depth(&self, normal: usize, low: usize) {
        let count = |keys| i64::try_from(keys).unwrap_or(i64::MAX);
        self.depth.set(count(normal));
        self.low_depth.set(count(low));
    }

    pub(crate) fn added(&self) {
        self.adds.inc();
    }

    pub(crate) fn retried(&self) {
        self.retries.inc();
    }

    /// A worker takes an item that was added at `added`. Pass the returned value to [`done`](Self::done).
    pub(crate) fn taken(&self, added: Instant) -> Instant {
        let now = Instant::now();
        self.waited.observe((now - added).as_secs_f64());
        self.lock().push(now);
        now
    }

    /// A worker has finished the item that it took at `taken`.
    pub(crate) fn done(&self, taken: Instant) {
        self.worked.observe(taken.elapsed().as_secs_f64());
        let mut under_way = self.lock();
        if let Some(at) = under_way.iter().position(|began| *began == taken) {
            under_way.swap_remove(at);
        }
    }

    fn refresh(&self, now: Instant) {
        let under_way = self.lock();
        let seconds = under_way
            .iter()
            .map(|began| now.saturating_duration_since(*began).as_secs_f64());
        self.unfinished.set(seconds.clone().sum());
        self.longest.set(seconds.fold(0.0, f64::max));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unfinished_work_is_measured_until_it_is_done() {
        let queues = Queues::new();
        let queue = queues.of("captain");
        let seen = || {
            queues.refresh();
            (queue.unfinished.get(), queue.longest.get())
        };
        assert_eq!(seen(), (0.0, 0.0));
        let first = queue.taken(Instant::now());
        advance(Duration::from_secs(2)).await;
        let second = queue.taken(Instant::now());
        advance(Duration::from_secs(1)).await;
        assert_eq!(seen(), (4.0, 3.0));
        queue.done(first);
        assert_eq!(seen(), (1.0, 1.0));
        queue.done(second);
        assert_eq!(seen(), (0.0, 0.0));
    }
}
