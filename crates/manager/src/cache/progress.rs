//! The progress of the watches of one cache.

use std::fmt;

use tokio::sync::watch;

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

/// The watches of one cache, one for each namespace; empty before they start.
pub(crate) struct Progress(watch::Sender<Vec<Watch>>);

#[derive(Clone, Default)]
struct Watch {
    /// Whether all its objects have been listed once, or there cannot be any.
    listed: bool,
    /// Whether the API server does not serve the kind, which is optional. Until it is listed again.
    absent: bool,
    /// Whether changes may be missing.
    doubted: bool,
    trouble: Option<Trouble>,
}

impl Watch {
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
        Self(watch::Sender::new(Vec::new()))
    }

    /// Starts with `count` watches, which are identified by their index from now on.
    pub(crate) fn start(&self, count: usize) {
        self.0.send_replace(vec![Watch::default(); count]);
    }

    /// Records that a watch has listed all its objects. Returns whether the kind was absent before.
    pub(crate) fn listed(&self, watch: usize) -> bool {
        let mut installed = false;
        self.0.send_if_modified(|watches| {
            watches.get_mut(watch).is_some_and(|watch| {
                installed = std::mem::take(&mut watch.absent);
                installed | !std::mem::replace(&mut watch.listed, true)
            })
        });
        installed
    }

    /// Records that the API server does not serve the kind, and that this is all right. Returns whether that is new.
    pub(crate) fn set_absent(&self, watch: usize) -> bool {
        self.0.send_if_modified(|watches| {
            watches.get_mut(watch).is_some_and(|watch| {
                watch.trouble = None;
                watch.listed = true;
                !std::mem::replace(&mut watch.absent, true)
            })
        })
    }

    /// Whether a watch has found that the API server does not serve the kind.
    pub(crate) fn is_absent(&self) -> bool {
        self.0.borrow().iter().any(|watch| watch.absent)
    }

    /// Doubts that the watches which have started have delivered everything, until each has [proved](Self::prove) it.
    pub(crate) fn doubt(&self) {
        self.0.send_if_modified(|watches| {
            watches.iter_mut().for_each(|watch| watch.doubted = true);
            !watches.is_empty()
        });
    }

    /// Waits until a watch is doubted.
    pub(crate) async fn doubted(&self, watch: usize) {
        let doubted = |watches: &Vec<Watch>| watches.get(watch).is_some_and(|it| it.doubted);
        // The sender is in `self`, so it still exists.
        let _ = self.0.subscribe().wait_for(doubted).await;
    }

    /// Records that a watch has delivered everything that was there when it was doubted.
    pub(crate) fn prove(&self, watch: usize) {
        self.0.send_if_modified(|watches| {
            let watch = watches.get_mut(watch);
            watch.is_some_and(|watch| std::mem::take(&mut watch.doubted))
        });
    }

    /// Records that a watch fails, or has recovered. Returns whether that is new, and not just another failed attempt.
    pub(crate) fn set_trouble(&self, watch: usize, trouble: Option<Trouble>) -> bool {
        self.0.send_if_modified(|watches| {
            watches.get_mut(watch).is_some_and(|watch| {
                let changed = watch.trouble != trouble;
                watch.trouble = trouble;
                changed
            })
        })
    }

    pub(crate) fn state(&self) -> CacheState {
        let watches = self.0.borrow();
        let all = watches.iter().map(Watch::state).reduce(CacheState::and);
        all.unwrap_or(CacheState::Waiting)
    }

    /// Whether all objects have been listed once, or the kind is absent.
    pub(crate) fn is_complete(&self) -> bool {
        all_listed(&self.0.borrow())
    }

    /// Waits until all objects have been listed once, or the kind is found to be absent; and until no watch is doubted.
    pub(crate) async fn current(&self) {
        let proved = |watches: &Vec<Watch>| watches.iter().all(|watch| !watch.doubted);
        let all = |watches: &Vec<Watch>| all_listed(watches) && proved(watches);
        // The sender is in `self`, so it still exists.
        let _ = self.0.subscribe().wait_for(all).await;
    }
}

fn all_listed(watches: &[Watch]) -> bool {
    !watches.is_empty() && watches.iter().all(|watch| watch.listed)
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
        progress.doubted(1).await;
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
