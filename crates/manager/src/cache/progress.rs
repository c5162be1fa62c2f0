//! The progress of the watches of one cache.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

/// Why a watch fails, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) cause: String,
    pub(crate) help: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause, self.help)
    }
}

/// The state of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CacheState {
    /// Its watches have not started yet.
    Waiting,
    /// Some objects have not been listed yet.
    Listing(Option<Trouble>),
    /// All objects have been listed once.
    Complete(Option<Trouble>),
    /// All objects have been listed once, but changes since then may be missing.
    Doubted(Option<Trouble>),
    /// The API server does not serve the kind, which is optional.
    Absent,
}

impl CacheState {
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Complete(_) | Self::Doubted(_) | Self::Absent)
    }

    /// The remark in a probe, unless all is well. `elects` means that only the leader fills the cache, and this process
    /// may not be the leader.
    pub(crate) fn remark(&self, elects: bool) -> Option<String> {
        Some(match self {
            Self::Waiting if elects => "not complete; it is filled once this replica leads".into(),
            Self::Waiting => "not complete; its watch has yet to be started".into(),
            Self::Listing(None) => "not complete; its objects are being listed".into(),
            Self::Listing(Some(trouble)) => format!("not complete; {trouble}"),
            Self::Complete(Some(trouble)) => format!("complete, but its watch fails; {trouble}"),
            Self::Doubted(None) => "complete; it is being brought up to date".into(),
            Self::Doubted(Some(trouble)) => {
                format!("complete, but it cannot be brought up to date; {trouble}")
            }
            Self::Absent => "optional, and not installed".into(),
            Self::Complete(None) => return None,
        })
    }

    /// The combined state of two caches that are shown as one.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Waiting, _) | (_, Self::Waiting) => Self::Waiting,
            (Self::Listing(a), Self::Listing(b)) => Self::Listing(a.or(b)),
            (Self::Listing(trouble), _) | (_, Self::Listing(trouble)) => Self::Listing(trouble),
            (Self::Absent, other) | (other, Self::Absent) => other,
            (Self::Doubted(a), Self::Doubted(b) | Self::Complete(b))
            | (Self::Complete(a), Self::Doubted(b)) => Self::Doubted(a.or(b)),
            (Self::Complete(a), Self::Complete(b)) => Self::Complete(a.or(b)),
        }
    }
}

/// The watches of one cache.
pub(crate) struct Progress {
    watches: Mutex<Watches>,
    /// Notified of every change. Its waiters are woken in the order in which they wait, unlike those of tokio's `watch`.
    changed: Notify,
    /// Cancelled once the watches are doubted. A signal of its own, because each watch waits for it.
    doubt: CancellationToken,
}

/// One watch for each namespace; none before they start. There may be a thousand, so that it is counted how they are.
#[derive(Default)]
struct Watches {
    all: Vec<Watch>,
    unlisted: usize,
    absent: usize,
    doubted: usize,
}

impl Watches {
    /// Changes a watch; returns whether `change` has done so.
    fn change(&mut self, watch: usize, change: impl FnOnce(&mut Watch) -> bool) -> bool {
        let Some(watch) = self.all.get_mut(watch) else {
            return false;
        };
        let before = watch.clone();
        let changed = change(watch);
        let recount = |count: &mut usize, before: bool, after: bool| match (before, after) {
            (false, true) => *count += 1,
            (true, false) => *count -= 1,
            _ => {}
        };
        recount(&mut self.unlisted, !before.listed, !watch.listed);
        recount(&mut self.absent, before.absent, watch.absent);
        recount(&mut self.doubted, before.doubted, watch.doubted);
        changed
    }

    fn are_complete(&self) -> bool {
        !self.all.is_empty() && self.unlisted == 0
    }
}

#[derive(Clone)]
struct Watch {
    /// When a list, an event or a bookmark last arrived, or the watch was started.
    heard: Instant,
    /// Whether all its objects have been listed once, or there cannot be any.
    listed: bool,
    /// Whether the API server does not serve the kind, which is optional. Until it is listed again.
    absent: bool,
    /// Whether changes may be missing.
    doubted: bool,
    trouble: Option<Trouble>,
}

impl Watch {
    fn new() -> Self {
        Self {
            heard: Instant::now(),
            listed: false,
            absent: false,
            doubted: false,
            trouble: None,
        }
    }

    fn state(&self) -> CacheState {
        let trouble = self.trouble.clone();
        if self.absent && trouble.is_none() && !self.doubted {
            CacheState::Absent
        } else if self.listed && self.doubted {
            CacheState::Doubted(trouble)
        } else if self.listed {
            CacheState::Complete(trouble)
        } else {
            CacheState::Listing(trouble)
        }
    }
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            watches: Mutex::default(),
            changed: Notify::new(),
            doubt: CancellationToken::new(),
        }
    }

    /// Starts with `count` watches, which are identified by their index from now on.
    pub(crate) fn start(&self, count: usize) {
        *self.lock() = Watches {
            all: vec![Watch::new(); count],
            unlisted: count,
            ..Watches::default()
        };
        self.changed.notify_waiters();
    }

    /// Records that a watch knows of every change up to now.
    pub(crate) fn heard(&self, watch: usize) {
        if let Some(watch) = self.lock().all.get_mut(watch) {
            watch.heard = Instant::now();
        }
    }

    /// For how long some watch may have missed changes: the time since it last heard anything.
    pub(crate) fn age(&self) -> Duration {
        let watches = self.lock();
        let ages = watches.all.iter().map(|watch| watch.heard.elapsed());
        ages.max().unwrap_or_default()
    }

    /// Records that a watch has listed all its objects. Returns whether the kind was absent before.
    pub(crate) fn listed(&self, watch: usize) -> bool {
        let mut installed = false;
        self.change(watch, |watch| {
            installed = std::mem::take(&mut watch.absent);
            installed | !std::mem::replace(&mut watch.listed, true)
        });
        installed
    }

    /// Records that the API server does not serve the kind, and that this is all right. Returns whether that is new.
    pub(crate) fn set_absent(&self, watch: usize) -> bool {
        self.change(watch, |watch| {
            watch.trouble = None;
            watch.listed = true;
            !std::mem::replace(&mut watch.absent, true)
        })
    }

    /// Whether a watch has found that the API server does not serve the kind.
    pub(crate) fn is_absent(&self) -> bool {
        self.lock().absent > 0
    }

    /// Doubts that the watches which have started have delivered everything, until each has [proved](Self::prove) it.
    pub(crate) fn doubt(&self) {
        let started = {
            let mut watches = self.lock();
            watches.doubted = watches.all.len();
            let all = watches.all.iter_mut();
            all.for_each(|watch| watch.doubted = true);
            watches.doubted > 0
        };
        if started {
            self.changed.notify_waiters();
            self.doubt.cancel();
        }
    }

    /// Waits until the watches are doubted.
    pub(crate) async fn doubted(&self) {
        self.doubt.cancelled().await;
    }

    /// Records that a watch has delivered everything that was there when it was doubted.
    pub(crate) fn prove(&self, watch: usize) {
        self.change(watch, |watch| std::mem::take(&mut watch.doubted));
    }

    /// Records that a watch fails, or has recovered. Returns whether that is new, and not just another failed attempt.
    pub(crate) fn set_trouble(&self, watch: usize, trouble: Option<Trouble>) -> bool {
        self.change(watch, |watch| {
            let changed = watch.trouble != trouble;
            watch.trouble = trouble;
            changed
        })
    }

    fn change(&self, watch: usize, change: impl FnOnce(&mut Watch) -> bool) -> bool {
        let changed = self.lock().change(watch, change);
        if changed {
            self.changed.notify_waiters();
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> CacheState {
        let watches = self.lock();
        let all = watches.all.iter().map(Watch::state);
        let all = all.reduce(CacheState::and);
        all.unwrap_or(CacheState::Waiting)
    }

    /// Whether all objects have been listed once, or the kind is absent.
    pub(crate) fn is_complete(&self) -> bool {
        self.lock().are_complete()
    }

    /// Waits until all objects have been listed once, or the kind is found to be absent.
    pub(crate) async fn complete(&self) {
        self.until(Watches::are_complete).await;
    }

    /// Waits until the cache is [complete](Self::complete), and no watch is doubted.
    pub(crate) async fn current(&self) {
        self.until(|watches| watches.are_complete() && watches.doubted == 0)
            .await;
    }

    async fn until(&self, holds: impl Fn(&Watches) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if holds(&self.lock()) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn trouble(cause: &str) -> Trouble {
        Trouble {
            cause: cause.to_owned(),
            help: String::new(),
        }
    }

    #[test]
    fn a_cache_is_complete_when_each_namespace_is_listed() {
        let progress = Progress::new();
        assert_eq!(progress.state(), CacheState::Waiting);
        progress.start(2);
        assert_eq!(progress.state(), CacheState::Listing(None));
        progress.listed(1);
        progress.set_trouble(0, Some(trouble("a")));
        assert_eq!(progress.state(), CacheState::Listing(Some(trouble("a"))));
        progress.listed(0);
        assert_eq!(progress.state(), CacheState::Complete(Some(trouble("a"))));
        progress.set_trouble(0, None);
        assert_eq!(progress.state(), CacheState::Complete(None));
    }

    #[test]
    fn a_cause_is_new_only_when_it_changes() {
        let progress = Progress::new();
        progress.start(1);
        assert!(!progress.set_trouble(0, None));
        assert!(progress.set_trouble(0, Some(trouble("a"))));
        assert!(!progress.set_trouble(0, Some(trouble("a"))));
        assert!(progress.set_trouble(0, Some(trouble("b"))));
        assert!(progress.set_trouble(0, None));
    }

    #[test]
    fn an_absent_kind_is_complete_until_its_watch_fails_otherwise() {
        let progress = Progress::new();
        progress.start(1);
        assert!(progress.set_absent(0) && !progress.set_absent(0));
        assert_eq!(progress.state(), CacheState::Absent);
        assert!(progress.state().is_complete() && progress.is_absent());
        progress.set_trouble(0, Some(trouble("a")));
        assert_eq!(progress.state(), CacheState::Complete(Some(trouble("a"))));
        progress.set_trouble(0, None);
        assert!(progress.listed(0) && !progress.listed(0));
        assert_eq!(progress.state(), CacheState::Complete(None));
        assert!(!progress.is_absent());
    }

    #[tokio::test]
    async fn a_doubted_cache_is_complete_and_becomes_current_when_each_watch_has_proved_it() {
        let progress = Progress::new();
        progress.doubt();
        assert_eq!(progress.state(), CacheState::Waiting);
        progress.start(2);
        progress.listed(0);
        progress.listed(1);
        progress.current().await;
        progress.doubt();
        progress.prove(0);
        progress.doubted().await;
        assert!(progress.is_complete());
        assert_eq!(progress.state(), CacheState::Doubted(None));
        assert!(progress.current().now_or_never().is_none());
        progress.prove(1);
        assert_eq!(progress.state(), CacheState::Complete(None));
        progress.current().await;
    }

    #[test]
    fn two_cache_states_combine_to_the_worse_one() {
        let complete = CacheState::Complete(Some(trouble("a")));
        assert_eq!(
            CacheState::Listing(None).and(complete.clone()),
            CacheState::Listing(None)
        );
        assert_eq!(complete.clone().and(CacheState::Complete(None)), complete);
        assert_eq!(complete.and(CacheState::Waiting), CacheState::Waiting);
    }
}
