//! What connects the operator with the API server: the requests it has sent, the watches it has, and what others do meanwhile.

use std::{
    collections::BTreeSet,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, sleep_until},
};

use super::{
    plan::Plan,
    replicas::Replicas,
    scenario::Scenario,
    trace::{Event, Happened},
    who::{Stored, Who},
};
use crate::{
    fake::FakeApi,
    random::Random,
    server::{BOOKMARKS, LAST_BOOKMARK, Objects, Path, Watch, line},
};

/// A history with more requests than this, and than so many a minute, makes no progress.
const MOST: usize = 1_500;
const A_MINUTE: u64 = 10;

/// The API server, with the faults of a plan.
#[derive(Clone)]
pub(super) struct Network(pub(super) Arc<Shared>);

impl Deref for Network {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

pub(super) struct Shared {
    pub(super) api: FakeApi,
    pub(super) plan: Plan,
    pub(super) scenario: Arc<Scenario>,
    began: Instant,
    state: Mutex<State>,
    /// Notified when the process ends.
    pub(super) crashed: Notify,
    /// Notified when something is stored.
    stored: [Notify; 2],
    /// Notified when requests and answers that were on their way arrive.
    pub(super) arrived: Notify,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) replicas: Replicas,
    /// How many writes the operator has sent.
    pub(super) writes: usize,
    /// How many objects it has read by their names.
    pub(super) reads: usize,
    /// How many requests it has sent, and how many have changed something.
    pub(super) requests: usize,
    pub(super) changes: usize,
    /// How many faults have happened at its writes.
    pub(super) faults: usize,
    pub(super) held: Vec<Hold>,
    pub(super) lag: Lag,
    /// Since when a request or an answer is on its way.
    pub(super) slow: Option<Instant>,
    /// The object that someone else changes before each write, and how many times.
    pub(super) contended: Option<(Path, usize)>,
    pub(super) watches: Vec<Subscriber>,
    pub(super) events: Vec<Event>,
    /// Who has stored what.
    pub(super) authors: Vec<Stored>,
    /// How many controllers the operator has.
    pub(super) controllers: usize,
    /// The kinds that it watches.
    pub(super) kinds: BTreeSet<String>,
    /// How many steps the user has taken.
    pub(super) steps: usize,
    /// Whether the user has created the objects, and deleted them.
    pub(super) created: bool,
    pub(super) deleted: bool,
    /// What the user has created in steps, by its URLs.
    pub(super) created_in_steps: Vec<String>,
    /// The steps of the user, from 1, that could not be taken where the plan has them, and those that have changed nothing.
    pub(super) misplaced_steps: Vec<usize>,
    pub(super) idle_steps: Vec<usize>,
    /// What the user will create once it is gone.
    pub(super) recreated: Vec<(Path, Value)>,
    pub(super) resync: bool,
    /// The first permission that the operator needed and does not have.
    pub(super) denied: Option<String>,
    /// The first write of a replica that did not lead.
    pub(super) unled: Option<String>,
    /// The first invariant that did not hold.
    pub(super) violated: Option<String>,
    pub(super) latency: Option<Random>,
    /// What webhooks have rejected of the user's writes.
    pub(super) rejected: Vec<String>,
    /// What the author should know.
    pub(super) notes: BTreeSet<String>,
    /// The last version that the watches have seen.
    delivered: u64,
}

/// How the API server lags.
#[derive(Default)]
pub(super) struct Lag {
    /// Since when.
    pub(super) since: Option<Instant>,
    /// Whether the operator has sent reads that may be answered with what was stored before.
    pub(super) is_allowed: bool,
}

/// The kind of a watch that is held back, and the version up to which it delivers.
pub(super) struct Hold {
    pub(super) kind: String,
    pub(super) until: u64,
    pub(super) how: How,
    pub(super) since: Instant,
}

/// How watches are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Until everything else is idle, they deliver nothing.
    Stopped,
    /// The same, and then they must list again.
    Missed,
    /// Whenever everything else is idle, they deliver one event, to the end of the history.
    Trickling,
}

pub(super) struct Subscriber {
    pub(super) replica: usize,
    pub(super) kind: String,
    pub(super) watch: Watch,
    pub(super) lines: mpsc::UnboundedSender<Bytes>,
    /// When it was sent its last bookmark.
    pub(super) bookmarked: Instant,
    /// Whether it began with a list that may be out of date: then it lags with the API server.
    pub(super) lags: bool,
    /// Whether its connection is dead, which its client cannot see.
    pub(super) is_dead: bool,
    /// When the API server ends it; only if it was asked for a short one.
    pub(super) end: Option<Instant>,
}

impl Subscriber {
    /// Sends a bookmark.
    fn bookmark(&mut self) {
        self.bookmarked = Instant::now();
        if let Some(bookmark) = self.watch.bookmark() {
            // A client that has gone needs none.
            let _ = self.lines.send(line(&bookmark));
        }
    }
}

impl Network {
    pub(super) fn new(api: &FakeApi, plan: &Plan, scenario: &Arc<Scenario>) -> Self {
        Self(Arc::new(Shared {
            api: api.clone(),
            plan: plan.clone(),
            scenario: scenario.clone(),
            began: Instant::now(),
            state: Mutex::new(State {
                latency: plan.latency().map(Random::new),
                ..State::default()
            }),
            crashed: Notify::new(),
            stored: [Notify::new(), Notify::new()],
            arrived: Notify::new(),
        }))
    }

    /// Waits until the process ends.
    pub(super) async fn crashed(&self) {
        self.crashed.notified().await;
    }

    /// Waits until something is stored; each actor has a number.
    pub(super) async fn stored(&self, actor: usize) {
        self.stored[actor].notified().await;
    }

    /// Ends the process of the operator, of two that of the leader.
    pub(super) fn crash(&self, what: String) {
        let mut state = self.lock();
        let number = state.replicas.working();
        state.replicas.running.remove(&number);
        state.replicas.ended.push(number);
        let ended = Happened::Ended(self.operator(number), what);
        self.record(&mut state, ended);
        self.crashed.notify_one();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self, state: &mut State, what: Happened) {
        let after = self.began.elapsed();
        state.events.push(Event { after, what });
    }

    /// The time since the beginning of the history.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Whether so many requests come from an operator that makes no progress.
    pub(super) fn is_flooded(&self, requests: usize) -> bool {
        let minutes = self.elapsed().as_secs() / 60;
        let allowed = usize::try_from(minutes * A_MINUTE).unwrap_or(usize::MAX);
        requests > allowed.saturating_add(MOST)
    }

    /// Records what others than the operator do.
    pub(super) fn tell(&self, what: Happened) {
        self.record(&mut self.lock(), what);
    }

    /// Sends what has changed to the watches that are not held back.
    pub(super) fn deliver(&self) {
        let recreated = self.api.change_quietly(|objects| {
            let mut state = self.lock();
            let State { watches, held, .. } = &mut *state;
            watches.retain_mut(|one| {
                if one.is_dead {
                    return !one.lines.is_closed();
                }
                if one.lines.is_closed() || !objects.serves(one.watch.path()) {
                    return false;
                }
                let hold = held.iter().find(|hold| hold.kind == one.kind);
                let until = match hold {
                    Some(hold) => hold.until,
                    None if one.lags => objects.lags_at.unwrap_or(objects.version()),
                    None => objects.version(),
                };
                for event in objects.news_until(&mut one.watch, until) {
                    // The receiver was there above.
                    let _ = one.lines.send(line(&event));
                }
                if one.bookmarked.elapsed() >= BOOKMARKS {
                    one.bookmark();
                }
                true
            });
            // One may have to go before another can.
            let mut waiting = state.recreated.iter();
            let all_gone = waiting.all(|(path, _)| objects.get(path).is_none());
            let recreated = if all_gone {
                std::mem::take(&mut state.recreated)
            } else {
                Vec::new()
            };
            let last = objects.last_change();
            if state.delivered != last {
                state.delivered = last;
                self.stored.iter().for_each(Notify::notify_one);
            }
            recreated
        });
        self.stored_by_the_last();
        for (path, object) in recreated {
            self.tell(Happened::User(format!("creates {path} again")));
            self.api.write(&path, object);
            self.stored_by(Who::User);
        }
        self.check_invariants();
    }

    fn check_invariants(&self) {
        let broken = self.scenario.always.iter();
        let broken = broken.filter(|(_, holds)| !holds(&self.api));
        for (what, _) in broken {
            let mut state = self.lock();
            if state.violated.is_none() {
                state.violated = Some(what.clone());
                self.record(&mut state, Happened::Violated(what.clone()));
            }
        }
    }

    /// From now on, reads that may be out of date see what is stored now.
    pub(super) fn lag(&self) {
        let now = |objects: &mut Objects| objects.lags_at = Some(objects.version());
        self.api.change_quietly(now);
        self.lock().lag.since = Some(Instant::now());
        let what = "from now on, the API server lags: lists with resourceVersion=0 show what is stored now";
        self.tell(Happened::Fault(Who::ApiServer, what.to_owned()));
    }

    /// Ends the lag of the API server; returns whether it did.
    pub(super) fn catch_up(&self) -> bool {
        let lagged = self.lock().lag.since.take().is_some();
        if lagged {
            let current = |objects: &mut Objects| objects.lags_at = None;
            self.api.change_quietly(current);
            let what = "the API server no longer lags".to_owned();
            self.tell(Happened::Action(Who::ApiServer, what));
        }
        lagged
    }

    /// Sends a watch its last bookmark, and ends it once its time is up.
    pub(super) async fn end_watch(self, end: Instant) {
        sleep_until(end - LAST_BOOKMARK).await;
        self.deliver();
        {
            let mut state = self.lock();
            let live = state.watches.iter_mut().filter(|one| !one.is_dead);
            let ending = live.filter(|one| one.end == Some(end));
            ending.for_each(Subscriber::bookmark);
        }
        sleep_until(end).await;
        let is_over = |one: &mut Subscriber| one.end.is_some_and(|end| end <= Instant::now());
        self.lock().watches.extract_if(.., is_over).for_each(drop);
    }

    /// Whether the user has yet to create something again.
    pub(super) fn waits(&self) -> bool {
        !self.lock().recreated.is_empty()
    }
}
