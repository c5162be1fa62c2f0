//! Publishes events in the background.
//!
//! Events are distributed over lanes, each of which sends one event after the other. A repeated event goes to the same
//! lane as before, so it is counted in order. A burst is sent as fast as controllers publish it.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Client, Resource};
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{chain, cut},
    request, simulated,
};

/// How many events are sent at once: as many as the objects that a controller reconciles at once by default, so that
/// events keep up with reconciles that send at least one request.
const LANES: usize = 10;

/// How many events may wait in each lane; further ones are dropped. All lanes together hold ten times as many as
/// client-go, in at most 5 MB.
const WAITING: usize = 1000;

/// How long a repeated event counts as the same, as in client-go.
const SERIES: Duration = Duration::from_secs(6 * 60);

/// How long after an event its repetitions are only counted. Objects are often reconciled twice within a moment, because
/// of a change and because of what the reconcile itself wrote.
const SETTLED: Duration = Duration::from_secs(10);

/// How many series each lane remembers.
const REMEMBERED: usize = 400;

/// Limits of the API server, in bytes.
const LONGEST_NOTE: usize = 1024;
const LONGEST_REASON: usize = 128;
const LONGEST_NAME: usize = 253;

/// The action of an event that has no other: the API server requires one.
pub(crate) const RECONCILE: &str = "Reconcile";

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Severity {
    Normal,
    Warning,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// One event on an object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) regarding: ObjectReference,
    /// The second object that it involves.
    pub(crate) related: Option<ObjectReference>,
    pub(crate) severity: Severity,
    pub(crate) action: String,
    pub(crate) reason: String,
    pub(crate) note: String,
    /// The controller that publishes it.
    pub(crate) controller: String,
}

impl Event {
    /// Equal for events that count as the same.
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.regarding.uid, &self.reason, &self.note, self.severity).hash(&mut hasher);
        (
            &self.regarding.name,
            &self.regarding.namespace,
            &self.controller,
        )
            .hash(&mut hasher);
        let related = self.related.as_ref();
        let related = related.map(|related| (&related.kind, &related.namespace, &related.name));
        (&self.action, related).hash(&mut hasher);
        hasher.finish()
    }
}

/// Accepts events; never waits and never fails.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    lanes: Arc<[mpsc::Sender<Event>]>,
    dropped: Arc<AtomicUsize>,
}

/// Sends the events that a [`Recorder`] accepts.
#[derive(Debug)]
pub(crate) struct Publisher {
    lanes: Vec<Lane>,
}

/// Sends the events of one lane, one after the other.
#[derive(Debug)]
struct Lane {
    events: mpsc::Receiver<Event>,
    /// How many dropped events have not been logged yet; shared by all lanes.
    dropped: Arc<AtomicUsize>,
    instance: String,
    series: HashMap<u64, Series>,
}

/// An event that was sent, and how often it was repeated.
#[derive(Debug)]
struct Series {
    path: String,
    count: u32,
    created: Instant,
    /// When the count was last sent; at first, when the event was created.
    sent: Instant,
    last: Instant,
}

impl Series {
    /// Counts a repetition, and returns whether to send the count: after [`SETTLED`], and then each time the series has
    /// become twice as old, so that an object that keeps failing does not fill the API server.
    fn repeat(&mut self, now: Instant) -> bool {
        (self.count, self.last) = (self.count.saturating_add(1), now);
        let wait = SETTLED.max(self.sent.duration_since(self.created));
        let due = now.duration_since(self.sent) >= wait;
        if due {
            self.sent = now;
        }
        due
    }
}

impl Recorder {
    /// A recorder, and the publisher that must run for it. `instance` is the name of this process.
    pub(crate) fn new(instance: &str) -> (Self, Publisher) {
        let dropped = Arc::new(AtomicUsize::new(0));
        let lane = |_| {
            let (sender, events) = mpsc::channel(WAITING);
            let lane = Lane {
                events,
                dropped: dropped.clone(),
                instance: cut(instance, LONGEST_REASON).to_owned(),
                series: HashMap::new(),
            };
            (sender, lane)
        };
        let (senders, lanes): (Vec<_>, _) = (0..LANES).map(lane).unzip();
        let recorder = Self {
            lanes: senders.into(),
            dropped,
        };
        (recorder, Publisher { lanes })
    }

    pub(crate) fn publish(&self, event: Event) {
        let lane = usize::try_from(event.hash() % LANES as u64).unwrap_or_default();
        if self.lanes[lane].try_send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Publisher {
    /// Sends events until `end` is cancelled and all earlier events are sent.
    ///
    /// Each lane is a task: in one future, each response would poll all of them, on the thread of the manager.
    pub(crate) async fn run(&mut self, client: &Client, end: &CancellationToken) {
        let run = |mut lane: Lane| {
            let (client, end) = (client.clone(), end.clone());
            async move { lane.run(&client, &end).await }
        };
        let lanes: JoinSet<()> = self.lanes.drain(..).map(run).collect();
        lanes.join_all().await;
    }

    /// Sends the waiting events.
    pub(crate) async fn flush(&mut self, client: &Client) {
        let end = CancellationToken::new();
        end.cancel();
        for lane in &mut self.lanes {
            lane.run(client, &end).await;
        }
    }
}

impl Lane {
    async fn run(&mut self, client: &Client, end: &CancellationToken) {
        loop {
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event,
                () = end.cancelled() => None,
            };
            let Some(event) = event else { break };
            self.send(client, &event).await;
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(dropped, "events were dropped: too many waited to be sent");
            }
        }
    }

    async fn send(&mut self, client: &Client, event: &Event) {
        if let Err(error) = self.try_send(client, event).await {
            tracing::warn!(
                error = chain(&error),
                kind = event.regarding.kind,
                namespace = event.regarding.namespace,
                object = event.regarding.name,
                reason = event.reason,
                "cannot publish an event"
            );
        }
    }

    /// Creates an event, or updates the count of a recent one.
    async fn try_send(&mut self, client: &Client, event: &Event) -> kube::Result<()> {
        let (hash, now) = (event.hash(), Instant::now());
        if let Some(series) = self.series.get_mut(&hash)
            && now.duration_since(series.last) < SERIES
        {
            if !series.repeat(now) {
                return Ok(());
            }
            let body = json!({"series": {"count": series.count, "lastObservedTime": micro_time()}});
            match request::merge_patch::<IgnoredAny>(client, &series.path, &body).await {
                Err(kube::Error::Api(error)) if error.code == 404 => {}
                result => return result.map(drop),
            }
        }
        let body = self.body(event);
        let path = v1::Event::url_path(&(), body.metadata.namespace.as_deref());
        request::post::<IgnoredAny>(client, &path, &body).await?;
        // The oldest one makes room: most repetitions follow soon.
        if self.series.len() >= REMEMBERED
            && let Some((&oldest, _)) = self.series.iter().min_by_key(|(_, series)| series.last)
        {
            self.series.remove(&oldest);
        }
        let name = body.metadata.name.unwrap_or_default();
        let series = Series {
            path: format!("{path}/{name}"),
            count: 1,
            created: now,
            sent: now,
            last: now,
        };
        self.series.insert(hash, series);
        Ok(())
    }

    fn body(&self, event: &Event) -> v1::Event {
        let namespace = event.regarding.namespace.as_deref().unwrap_or("default");
        let short = |text, longest| Some(cut(text, longest).to_owned());
        v1::Event {
            metadata: ObjectMeta {
                name: Some(name(event)),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(micro_time()),
            reporting_controller: short(&event.controller, LONGEST_REASON),
            reporting_instance: Some(self.instance.clone()),
            action: short(&event.action, LONGEST_REASON),
            reason: short(&event.reason, LONGEST_REASON),
            regarding: Some(event.regarding.clone()),
            related: event.related.clone(),
            note: short(&event.note, LONGEST_NOTE),
            type_: Some(event.severity.as_str().to_owned()),
            ..v1::Event::default()
        }
    }
}

/// A name for an event: the name of its object, reduced to the characters allowed in names of events, and the time.
fn name(event: &Event) -> String {
    let object = event
        .regarding
        .name
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || "-.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let object: String = object.chars().map(allowed).collect();
    let nanos = simulated::now().as_nanosecond();
    let object = cut(&object, LONGEST_NAME - 33).trim_matches(['-', '.']);
    let object = if object.is_empty() { "event" } else { object };
    format!("{object}.{nanos:x}")
}

fn micro_time() -> MicroTime {
    MicroTime(simulated::now())
}

#[cfg(test)]
mod tests;
