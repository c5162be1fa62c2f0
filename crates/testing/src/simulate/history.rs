//! One history: a new cluster, an operator in it, what its user does, and the faults of a plan.

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use k8s_openapi::jiff::Timestamp;
use manager::{
    Manager, Options,
    harness::{self, Clock, Controllers, Simulation},
};
use serde_json::Value;
use tokio::{
    runtime::Builder,
    task::{AbortHandle, JoinHandle},
    time::{Instant, sleep},
};

use super::{
    Oracle, actors,
    by_hand::{restore, spoil},
    plan::{Plan, What},
    scenario::Scenario,
    state::{self, State},
    trace::{Event, Happened},
    wire::{MOST, Wire},
};
use crate::{
    FakeApi,
    server::{Objects, Path},
};

/// How long a process takes to start again.
const RESTART: Duration = Duration::from_secs(1);

/// How often it is looked whether everything is idle: while something has changed lately, and later.
const PERIOD: Duration = Duration::from_millis(500);
const RECENT: Duration = Duration::from_secs(4);
const LONG_PERIOD: Duration = Duration::from_secs(10);

/// For how long everything must be idle before watches that are held back deliver again.
const HELD: Duration = Duration::from_secs(2);

/// For how long they are held back at most, if something is never idle without them.
const LONGEST_HELD: Duration = Duration::from_secs(15);

/// More time than this is no progress.
const LONGEST: Duration = Duration::from_secs(6 * 3600);

/// When every history begins.
const BEGIN: i64 = 1_767_225_600;

/// What came of a history.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) events: Vec<Event>,
    /// Each state at rest: after the objects were created, and after each step of the user.
    pub(super) states: Vec<State>,
    /// Whether the user has deleted the objects before the last of these states.
    pub(super) deleted_early: bool,
    /// The state before the operator started.
    pub(super) before: State,
    /// The state after the deletion of the objects.
    pub(super) gone: State,
    /// How many times each object was created and deleted.
    pub(super) counts: BTreeMap<String, [usize; 2]>,
    /// The writes at rest, when all objects are reconciled again.
    pub(super) unstable: Vec<Event>,
    /// The objects whose reconciles fail at rest.
    pub(super) failing: Vec<String>,
    /// The children at rest, by their URLs.
    pub(super) children: Vec<String>,
    pub(super) kinds: Vec<String>,
    /// How many writes the operator has sent: in all, before the deletion, and before each step of the user.
    pub(super) writes: usize,
    pub(super) alive: usize,
    pub(super) steps: Vec<usize>,
    /// Which of these steps have changed nothing but the objects.
    pub(super) undoable: Vec<bool>,
    pub(super) panics: u64,
    /// Why it could not go on.
    pub(super) broken: Option<(Oracle, String)>,
}

/// Runs a history. Nothing in it depends on anything but its arguments, as far as the operator's code allows that.
pub(super) fn run(scenario: &Arc<Scenario>, plan: &Plan, seed: u64) -> History {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime for the simulation");
    runtime.block_on(async {
        // Hours that differ between seeds show what depends on the time.
        let hours = i64::try_from(seed % 1_000).unwrap_or_default() * 3600;
        let start = Timestamp::from_second(BEGIN + hours).unwrap_or_default();
        let _simulation = Simulation::begin(seed, start);
        let mut world = World::new(scenario, plan);
        let broken = world.live().await.err();
        world.ended(broken)
    })
}

type Broken = (Oracle, String);

struct World {
    scenario: Arc<Scenario>,
    plan: Plan,
    api: FakeApi,
    wire: Wire,
    clock: Clock,
    process: Option<Process>,
    actors: Vec<AbortHandle>,
    history: History,
}

/// A process of the operator.
struct Process {
    controllers: Controllers,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.actors.iter().for_each(AbortHandle::abort);
        self.end();
    }
}

impl World {
    fn new(scenario: &Arc<Scenario>, plan: &Plan) -> Self {
        let api = FakeApi::new();
        api.change_quietly(|objects| {
            objects.collects_late = true;
            scenario
                .crds
                .iter()
                .for_each(|crd| objects.define(crd.clone()));
        });
        let wire = Wire::new(&api, plan, scenario);
        let mut actors = vec![
            tokio::spawn(actors::deliver(api.clone(), wire.clone())).abort_handle(),
            tokio::spawn(actors::collect(api.clone(), wire.clone())).abort_handle(),
        ];
        if let Some(jobs) = &scenario.kubelet {
            let kubelet = actors::play(api.clone(), wire.clone(), jobs.clone());
            actors.push(tokio::spawn(kubelet).abort_handle());
        }
        Self {
            scenario: scenario.clone(),
            plan: plan.clone(),
            api,
            wire,
            clock: Clock::for_tests(),
            process: None,
            actors,
            history: History::default(),
        }
    }

    /// The life of the objects.
    async fn live(&mut self) -> Result<(), Broken> {
        let scenario = self.scenario.clone();
        scenario.world.iter().for_each(|create| create(&self.api));
        let before = self.paths();
        self.history.before = state::of(&self.api);
        self.start()?;
        self.idle(self.scenario.quiet).await?;
        for (path, create) in &scenario.objects {
            self.wire
                .tell(Happened::Deed(format!("the user creates {path}")));
            create(&self.api);
        }
        self.rest().await?;
        while !self.wire.lock().deleted && self.wire.lock().steps < scenario.steps.len() {
            let writes = self.wire.lock().writes;
            self.history.steps.push(writes);
            let (before, version) = (self.specs(), self.version());
            self.wire.step();
            self.history.undoable.push(self.is_undoable(version));
            let undone = self.plan.undone() == Some(self.wire.lock().steps);
            self.rest().await?;
            if !undone {
                continue;
            }
            self.wire
                .tell(Happened::Fault("the user takes that back".to_owned()));
            for (path, object) in before {
                self.api.change(|objects| restore(objects, &path, object));
            }
            self.rest().await?;
            break;
        }
        self.history.deleted_early = self.wire.lock().deleted;
        if !self.history.deleted_early {
            self.history.children = self.children(&before);
            self.meddle().await?;
            self.resync().await?;
            self.history.failing = self.failing();
            self.history.alive = self.wire.lock().writes;
            self.wire.delete();
            self.idle(self.scenario.quiet).await?;
        }
        self.history.gone = state::of(&self.api);
        Ok(())
    }

    /// Whether all that has changed since a version are the objects of the user.
    fn is_undoable(&self, version: u64) -> bool {
        let objects = self.scenario.objects.iter();
        let own: Vec<_> = objects.map(|(path, _)| path.url()).collect();
        let changed = self
            .api
            .change_quietly(|objects| objects.urls_since(version));
        changed.iter().all(|url| own.contains(url))
    }

    /// The objects of the user as they are now; to put them back.
    fn specs(&self) -> Vec<(Path, Value)> {
        let objects = self.scenario.objects.iter();
        let found = |(path, _): &(Path, _)| {
            let found = self
                .api
                .change_quietly(|objects| objects.get(path).cloned());
            found.map(|object| (path.clone(), object))
        };
        objects.filter_map(found).collect()
    }

    /// Waits until everything is idle, and takes a picture.
    async fn rest(&mut self) -> Result<(), Broken> {
        self.idle(self.scenario.quiet).await?;
        if !self.wire.lock().deleted {
            self.history.states.push(state::of(&self.api));
        }
        Ok(())
    }

    /// What someone does by hand at rest; the operator repairs it.
    async fn meddle(&mut self) -> Result<(), Broken> {
        let plan = self.plan.clone();
        for what in plan.at(0) {
            let (path, deleted) = match what {
                What::ChildDeleted(path) => (path, true),
                What::ChildEdited(path) => (path, false),
                _ => continue,
            };
            let Some(path) = Path::parse(path) else {
                continue;
            };
            let deed = if deleted { "deletes" } else { "changes" };
            let what = format!("someone {deed} {path} by hand");
            self.wire.tell(Happened::Fault(what));
            self.api.change(|objects| {
                if deleted {
                    objects.delete_now(&path);
                } else if let Some(mut object) = objects.get(&path).cloned() {
                    spoil(&mut object);
                    object["metadata"]["generation"] = Value::Null;
                    objects.put(&path, object);
                }
            });
            self.idle(self.scenario.quiet).await?;
            let now = state::of(&self.api);
            if let Some(last) = self.history.states.last_mut() {
                *last = now;
            }
        }
        Ok(())
    }

    /// Reconciles everything again, which should change nothing.
    async fn resync(&mut self) -> Result<(), Broken> {
        let what = "everything is reconciled again".to_owned();
        self.wire.tell(Happened::Deed(what));
        let (events, changes) = {
            let state = self.wire.lock();
            (state.events.len(), state.changes)
        };
        if let Some(process) = &self.process {
            process.controllers.resync();
        }
        self.idle(self.scenario.quiet).await?;
        let state = self.wire.lock();
        let new = || state.events[events..].iter();
        let is_deed = |it: &Event| matches!(it.what, Happened::Deed(_) | Happened::Fault(_));
        // What others do meanwhile, the operator has to answer.
        if state.changes > changes && !new().any(is_deed) {
            let new = new();
            let writes = new.filter(|it| matches!(it.what, Happened::Wrote { changed: true, .. }));
            self.history.unstable = writes.cloned().collect();
        }
        Ok(())
    }

    fn failing(&self) -> Vec<String> {
        let process = self.process.as_ref();
        process.map_or_else(Vec::new, |process| process.controllers.failing())
    }

    /// Starts a process of the operator.
    fn start(&mut self) -> Result<(), Broken> {
        let mut options = Options::default();
        let address = "0".parse();
        options.health_probe_bind_address = address.map_err(|error| (Oracle::Runs, error))?;
        let connection = self.wire.next_replica();
        let mut manager: Manager =
            harness::manager(options, "test.example.com", &connection, self.clock.clone());
        (self.scenario.register)(&mut manager);
        let controllers = Controllers::of(&manager);
        let controllers = controllers.map_err(|error| (Oracle::Runs, format!("{error:#}")))?;
        self.process = Some(Process {
            controllers,
            task: tokio::spawn(async move { manager.run_until(pending()).await }),
        });
        Ok(())
    }

    fn end(&mut self) {
        if let Some(process) = self.process.take() {
            self.history.panics += process.controllers.panics();
            process.task.abort();
        }
    }

    /// Waits until nothing has changed for `quiet`, nothing is due, and nothing is held back.
    async fn idle(&mut self, quiet: Duration) -> Result<(), Broken> {
        let began = Instant::now();
        let (mut last, mut since) = (self.version(), began);
        loop {
            // Once it is quiet, hardly anything happens.
            let quiet_for = since.elapsed();
            let period = if quiet_for < RECENT {
                PERIOD
            } else {
                LONG_PERIOD
            };
            self.next_moment(period.min(quiet)).await?;
            let version = self.version();
            let process = self.process.as_ref();
            let idle = process.is_none_or(|process| process.controllers.are_idle());
            if version != last || !idle || self.wire.waits() {
                (last, since) = (version, Instant::now());
            }
            self.progresses(began)?;
            let held_for = self.wire.held_for();
            let is_due = since.elapsed() >= HELD || held_for > Some(LONGEST_HELD);
            if held_for.is_some() && is_due && self.wire.release() {
                since = Instant::now();
            }
            if since.elapsed() >= quiet {
                self.wire.tell(Happened::Idle);
                return Ok(());
            }
        }
    }

    /// Fails if it takes too long, or too many requests.
    fn progresses(&self, began: Instant) -> Result<(), Broken> {
        let (requests, spent) = (self.wire.lock().requests, began.elapsed());
        if requests <= MOST && spent <= LONGEST {
            return Ok(());
        }
        Err((
            Oracle::Idle,
            format!("it never becomes idle: {requests} requests, the last of them in {spent:?}"),
        ))
    }

    /// Lets time pass; starts the operator again if it has ended.
    async fn next_moment(&mut self, period: Duration) -> Result<(), Broken> {
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        tokio::select! {
            biased;
            () = self.wire.crashed() => {
                self.end();
                sleep(RESTART).await;
                self.start()?;
            }
            ended = &mut process.task => {
                let error = match ended {
                    Ok(Ok(())) => "without an error".to_owned(),
                    Ok(Err(error)) => format!("{error:#}"),
                    Err(error) => error.to_string(),
                };
                return Err((Oracle::Runs, format!("the manager ended: {error}")));
            }
            () = sleep(period) => {}
        }
        if std::mem::take(&mut self.wire.lock().resync)
            && let Some(process) = &self.process
        {
            process.controllers.resync();
        }
        Ok(())
    }

    fn version(&self) -> u64 {
        self.api.change_quietly(|objects| objects.version())
    }

    fn paths(&self) -> Vec<String> {
        let urls = |objects: &mut Objects| objects.urls();
        self.api.change_quietly(urls)
    }

    /// The objects at rest that have an owner, and neither the user has created nor were there before.
    fn children(&self, before: &[String]) -> Vec<String> {
        let objects = self.scenario.objects.iter();
        let own: Vec<_> = objects.map(|(path, _)| path.url()).collect();
        let is_owned = |url: &String| {
            let path = Path::parse(url)?;
            let owners = |objects: &mut Objects| {
                let object = objects.get(&path)?;
                object["metadata"]["ownerReferences"].as_array().cloned()
            };
            self.api.change_quietly(owners)
        };
        let mut paths = self.paths();
        paths.retain(|url| !before.contains(url) && !own.contains(url) && is_owned(url).is_some());
        paths
    }

    fn ended(mut self, broken: Option<Broken>) -> History {
        self.end();
        let mut history = std::mem::take(&mut self.history);
        history.broken = broken;
        history.counts = state::counts(&self.api);
        let mut state = self.wire.lock();
        if let Some(what) = state.violated.take() {
            history.broken = Some((Oracle::Always, format!("«{what}» does not hold")));
        }
        history.events = std::mem::take(&mut state.events);
        history.kinds = state.kinds.iter().cloned().collect();
        history.writes = state.writes;
        drop(state);
        history
    }
}
