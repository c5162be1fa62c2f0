//! Caches whose watches deliver nothing, in any way, while lists work.

use kube::api::PartialObjectMeta;
use tokio::time::timeout;

use super::{
    faulty::{Fault, Faulty, Line, Streamed, map},
    *,
};
use crate::{
    cache::{caches::Caches, progress::CacheState},
    key::Key,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// One operator beside an API server with a fault.
struct Trial {
    server: Faulty,
    caches: Caches,
    metrics: Metrics,
    seen: Arc<Mutex<Vec<String>>>,
    running: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl Trial {
    /// Begins with a fault, in all namespaces or in one.
    fn begin(fault: Fault, streams: Streamed, namespace: Option<&str>) -> Self {
        let server = Faulty::new(streams);
        server.set(fault);
        let options = Options {
            watch_namespace: namespace.into_iter().map(str::to_owned).collect(),
            ..patient()
        };
        let (manager, seen) = server.manager(options);
        Self {
            server,
            caches: manager.caches.clone(),
            metrics: manager.metrics.clone(),
            seen,
            running: run(manager),
        }
    }

    /// Whether both caches of the kind contain an object, or neither does.
    fn have(&self, name: &str) -> [bool; 2] {
        let has = |keys: Vec<Key>| keys.iter().any(|key| key.name() == name);
        let metadata = self.caches.of::<PartialObjectMeta<ConfigMap>>();
        [
            has(self.caches.of::<ConfigMap>().keys()),
            has(metadata.keys()),
        ]
    }

    /// Fails unless a new object is reconciled, and a deleted one forgotten, each within this time.
    async fn notices(&self, name: &str, within: Duration) -> Result<(), String> {
        self.server.api.put(&map(name));
        let reconciled = || self.seen.lock().unwrap().iter().any(|it| it == name);
        let created = until(|| reconciled() && self.have(name) == [true; 2]);
        let created = timeout(within, created).await;
        created.map_err(|_| format!("a new object is not noticed within {within:?}"))?;
        self.server.api.delete::<ConfigMap>("default", name);
        let deleted = timeout(within, until(|| self.have(name) == [false; 2])).await;
        deleted.map_err(|_| format!("a deletion is not noticed within {within:?}"))
    }

    /// The value of the metric of the age.
    fn age(&self) -> f64 {
        let text = self.metrics.text().unwrap();
        let mut lines = text.lines();
        let line =
            lines.find_map(|it| it.strip_prefix("manager_cache_age_seconds{kind=\"ConfigMap\"} "));
        line.unwrap().parse().unwrap()
    }

    /// Tries the fault, and how it ends.
    async fn check(&self, fault: Fault, within: Duration) -> Result<(), String> {
        let synced = timeout(MINUTE * 3, self.caches.synced()).await;
        synced.map_err(|_| "the caches do not sync".to_owned())?;
        self.server.set(fault);
        self.notices("a", within).await?;
        self.notices("b", within).await?;
        self.server.asked();
        sleep(MINUTE * 5).await;
        // Two caches, and each list may take two requests.
        let (lists, watches) = self.server.asked();
        if lists > 2 * 2 * 5 * 4 || watches > 2 * 5 * 20 {
            return Err(format!(
                "{lists} lists and {watches} watches in five minutes"
            ));
        }
        if self.age() > 240.0 {
            return Err(format!("its age is {} s", self.age()));
        }
        self.server.set(Fault::None);
        sleep(MINUTE * 2).await;
        self.server.asked();
        self.notices("z", SECOND * 5).await?;
        sleep(MINUTE * 5).await;
        let (lists, _) = self.server.asked();
        if lists > 0 || self.running.is_finished() {
            return Err(format!("{lists} lists once the watch works again"));
        }
        Ok(())
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Waits until something holds.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        sleep(SECOND).await;
    }
}

/// Tries faults, each with the time within which changes must be noticed all the same.
async fn check(faults: impl IntoIterator<Item = (Fault, Duration)>) {
    let mut failed = Vec::new();
    let all = [Streamed::Rejected, Streamed::Faulty, Streamed::Sent];
    let trials = faults
        .into_iter()
        .flat_map(|fault| all.map(|streams| (fault, streams)));
    for (at, ((fault, within), streams)) in trials.enumerate() {
        // It is there from the start, or comes later.
        let (first, namespace) = match at % 2 {
            0 => (fault, Some("default")),
            _ => (Fault::None, None),
        };
        let trial = Trial::begin(first, streams, namespace);
        if let Err(error) = trial.check(fault, within).await {
            failed.push(format!(
                "{fault:?}, streamed lists are {streams:?}, at first {first:?}: {error}"
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_age_grows_while_nothing_is_heard() {
    let trial = Trial::begin(Fault::None, Streamed::Sent, None);
    for _ in 0..40 {
        sleep(MINUTE).await;
        assert!(trial.age() < 100.0, "{} s", trial.age());
    }
    trial.server.fail_all(true);
    trial.server.set(Fault::Status(503));
    sleep(MINUTE * 20).await;
    assert!((1200.0..1300.0).contains(&trial.age()), "{} s", trial.age());
    trial.server.fail_all(false);
    // Lists are enough.
    sleep(MINUTE).await;
    assert!(trial.age() < 60.0, "{} s", trial.age());
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_watches_are_answered_with_an_error_or_not_at_all_is_listed_again() {
    let codes = [400, 401, 403, 404, 405, 410, 422, 429, 500, 503, 504];
    check(codes.map(|code| (Fault::Status(code), MINUTE * 2))).await;
    check([Fault::Unanswered, Fault::Refused].map(|fault| (fault, MINUTE * 4))).await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_watches_end_without_a_change_is_listed_again() {
    for lines in [&[][..], &[Line::Garbage]] {
        for after in [Duration::ZERO, SECOND * 10, MINUTE * 4] {
            let ends = [Fault::Ends(lines, after), Fault::Breaks(lines, after)];
            check(ends.map(|fault| (fault, MINUTE * 5))).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_watches_end_with_an_error_is_listed_again() {
    for lines in [
        &[Line::Error(410)][..],
        &[Line::Error(403)],
        &[Line::Error(500)],
        &[Line::Bookmark, Line::Error(500)],
    ] {
        for after in [Duration::ZERO, SECOND * 10] {
            check([(Fault::Ends(lines, after), MINUTE * 5)]).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_expired_fails_only_if_the_next_one_has_too() {
    for fault in [
        Fault::Status(410),
        Fault::Ends(&[Line::Error(410)], Duration::ZERO),
    ] {
        let trial = Trial::begin(fault, Streamed::Rejected, None);
        let state = || trial.caches.states()["ConfigMap"].cache.clone();
        sleep(Duration::from_millis(100)).await;
        assert!(trial.server.asked().1 > 0, "{fault:?}: nothing was watched");
        assert_eq!(state(), CacheState::Complete(None), "{fault:?}");
        sleep(MINUTE).await;
        let is_reported = matches!(state(), CacheState::Complete(Some(_)));
        assert!(is_reported, "{fault:?}: {:?}", state());
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_watches_stay_silent_is_listed_again() {
    check([(Fault::Silent(&[]), MINUTE * 5)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_which_only_bookmarks_arrive_is_listed_again_within_half_an_hour() {
    check([(Fault::Bookmarks, MINUTE * 31)]).await;
    for lines in [&[Line::Bookmark][..], &[Line::Old]] {
        let faults = [
            Fault::Silent(lines),
            Fault::Ends(lines, SECOND * 10),
            Fault::Breaks(lines, MINUTE),
        ];
        check(faults.map(|fault| (fault, MINUTE * 31))).await;
        check([(Fault::Ends(lines, Duration::ZERO), MINUTE * 5)]).await;
    }
}
