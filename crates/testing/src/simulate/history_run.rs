//! One history: a new cluster, an operator in it, the faults of a plan, and a user, who creates the objects, takes each step,
//! and deletes them.

use std::{
    cell::RefCell,
    panic::{self, PanicHookInfo},
    sync::{Arc, Once},
};

use k8s_openapi::jiff::Timestamp;
use manager::harness::Simulation;
use serde_json::Value;
use tokio::runtime::Builder;

use super::{
    actors,
    environment::Environment,
    external,
    history::{Broken, Created, History},
    interference::restored,
    network::How,
    plan::{Plan, What},
    scenario::{Oracle, Scenario},
    state,
    surroundings::ELSEWHERE,
    trace::Happened,
    who::Who,
};
use crate::server::{Objects, Path};

/// When every history begins.
const BEGIN: i64 = 1_767_225_600;

impl Environment {
    /// The life of the objects.
    pub(super) async fn live(&mut self) -> Result<(), Broken> {
        let scenario = self.scenario.clone();
        scenario.world.iter().for_each(|create| create(&self.api));
        let before = self.urls();
        self.history.existing.clone_from(&before);
        self.history.before = self.state();
        if let Some(by) = self.plan.lateness() {
            let what = format!("everything due happens {} s late", by.as_secs());
            self.network.tell(Happened::Fault(Who::Others, what));
        }
        for what in self.plan.at(0) {
            if let What::Trickle(kind) = what {
                self.network.hold(kind, How::Trickling);
            }
        }
        self.start()?;
        self.idle().await?;
        self.pause().await?;
        for (path, create) in &scenario.objects {
            self.network.tell(Happened::User(format!("creates {path}")));
            create(&self.api);
            self.network.stored_by(Who::User);
        }
        self.network.lock().created = true;
        if self.plan.at_once() {
            scenario.steps.iter().for_each(|_| self.network.step());
        }
        self.rest().await?;
        self.history.created = self.with_schemas();
        self.history.versions = self.other_versions();
        self.steps().await?;
        if !self.scenario.passes.is_zero() {
            let days = self.scenario.passes.as_secs() / 86_400;
            let what = format!("{days} days pass");
            self.network.tell(Happened::Action(Who::Others, what));
            self.pass().await?;
            self.rest().await?;
        }
        self.history.deleted_early = self.network.lock().deleted;
        if !self.history.deleted_early {
            self.history.children = self.children(&before);
            self.history.drifts = external::drifts();
            self.history.world = self.read_in_the_world(&before);
            self.change_by_hand().await?;
            self.write_back().await?;
            self.have_neighbours().await?;
            let namesakes = self.have_namesakes().await?;
            self.change_world().await?;
            // Otherwise, the history is told up to there.
            if self.history.unstable.is_empty() {
                self.resync().await?;
            }
            self.history.failing = self.failing();
            self.history.failing.retain(|key| !key.contains(ELSEWHERE));
            self.history.errors_at_rest = self.errors();
            self.history.alive = self.network.lock().writes;
            self.network.delete();
            self.idle().await?;
            self.outlive(&namesakes).await?;
        }
        if self.network.delete_created() {
            self.idle().await?;
        }
        self.history.gone = self.state();
        if self.plan.has_vanished() {
            self.history.world_deleted = self.lost(&self.history.gone);
        }
        Ok(())
    }

    /// The steps of the user that are left.
    async fn steps(&mut self) -> Result<(), Broken> {
        while !self.network.lock().deleted && self.network.lock().steps < self.scenario.steps.len()
        {
            let writes = self.network.lock().writes;
            self.history.steps.push(writes);
            let (before, version) = (self.specs(), self.version());
            let mut deleted = self.state();
            self.network.step();
            let left = self.state();
            deleted.retain(|title, _| !left.contains_key(title));
            self.history.deleted_by_user.extend(deleted.into_keys());
            let undoable = self.is_undoable(version, &before);
            self.history.undoable.push(undoable);
            let undone = self.plan.undone() == Some(self.network.lock().steps);
            self.rest().await?;
            if undone {
                return self.undo(before).await;
            }
        }
        Ok(())
    }

    async fn undo(&mut self, before: Vec<(Path, Value)>) -> Result<(), Broken> {
        let what = "the user takes that back".to_owned();
        self.network.tell(Happened::Fault(Who::User, what));
        for (path, object) in before {
            if let Some(now) = self.api.stored(&path) {
                self.api.write(&path, restored(&now, object));
            }
        }
        self.rest().await
    }

    /// Waits until everything is idle, and takes a picture.
    async fn rest(&mut self) -> Result<(), Broken> {
        self.idle().await?;
        if !self.network.lock().deleted {
            self.history.states.push(self.state());
            self.history.seen.push(self.network.lock().events.len());
        }
        self.pause().await
    }

    /// Whether objects of the user have changed since a version, and nothing else. One that is deleted cannot be brought back.
    fn is_undoable(&self, version: u64, before: &[(Path, Value)]) -> bool {
        let is_kept = |(path, _): &(Path, Value)| {
            let found = self
                .api
                .change_quietly(|objects| objects.get(path).cloned());
            found.is_some_and(|it| it["metadata"]["deletionTimestamp"].is_null())
        };
        if !before.iter().all(is_kept) {
            return false;
        }
        let objects = self.scenario.objects.iter();
        let own: Vec<_> = objects.map(|(path, _)| path.url()).collect();
        let changed = self
            .api
            .change_quietly(|objects| objects.urls_since(version));
        !changed.is_empty() && changed.iter().all(|url| own.contains(url))
    }

    /// The objects of the user as they are now; to put them back.
    pub(super) fn specs(&self) -> Vec<(Path, Value)> {
        let objects = self.scenario.objects.iter();
        let found = |(path, _): &(Path, _)| {
            let found = self
                .api
                .change_quietly(|objects| objects.get(path).cloned());
            found.map(|object| (path.clone(), object))
        };
        objects.filter_map(found).collect()
    }

    /// The objects of the user whose kinds have definitions, with their schemas.
    fn with_schemas(&self) -> Vec<Created> {
        let specs = self.specs().into_iter();
        let with_schema = |(path, object): (Path, Value)| {
            let (schema, rules) = self.api.change_quietly(|objects| objects.schema(&path))?;
            Some(Created {
                path,
                object,
                schema,
                rules,
            })
        };
        specs.filter_map(with_schema).collect()
    }

    /// Waits until everything is idle again, and takes the last picture once more.
    pub(super) async fn rest_again(&mut self) -> Result<(), Broken> {
        self.idle().await?;
        let state = self.state();
        if let Some(last) = self.history.states.last_mut() {
            *last = state;
        }
        if let Some(last) = self.history.seen.last_mut() {
            *last = self.network.lock().events.len();
        }
        self.pause().await
    }
}

/// Runs a history. Nothing in it depends on anything but its arguments, as far as the operator's code allows that.
pub(super) fn run(scenario: &Arc<Scenario>, plan: &Plan, seed: u64) -> History {
    record_panics();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime for the simulation");
    runtime.block_on(async {
        // Hours that differ between seeds show what depends on the time.
        let hours = i64::try_from(seed % 1_000).unwrap_or_default() * 3600;
        let start = Timestamp::from_second(BEGIN + hours).unwrap_or_default();
        let simulation = Simulation::begin(seed, start);
        let mut environment = Environment::new(scenario, plan);
        let network = environment.network.clone();
        simulation.on_failure(move |reconcile, error| network.reconcile_failed(reconcile, error));
        let broken = environment.live().await.err();
        ended(environment, broken)
    })
}

fn ended(mut environment: Environment, broken: Option<Broken>) -> History {
    environment.history.errors_at_end = environment.errors();
    environment.end();
    let mut history = std::mem::take(&mut environment.history);
    history.broken = broken;
    history.panicked = first_panic();
    history.counts = state::counts(&environment.api);
    if environment.scenario.kubelet.is_none() {
        history.unplayed = history.states.first().and_then(actors::unplayed);
    }
    let mut state = environment.network.lock();
    if let Some(what) = state.violated.take() {
        history.broken = Some((Oracle::Always, format!("«{what}» does not hold")));
    }
    let unled = state.unled.take().map(|what| (Oracle::Leads, what));
    history.broken = history.broken.or(unled);
    history.rejected = std::mem::take(&mut state.rejected);
    history.notes = std::mem::take(&mut state.notes).into_iter().collect();
    history.denied = state.denied.take();
    history.misplaced_steps = std::mem::take(&mut state.misplaced_steps);
    history.idle_steps = std::mem::take(&mut state.idle_steps);
    history.events = std::mem::take(&mut state.events);
    history.authors = std::mem::take(&mut state.authors);
    history.kinds = state.kinds.iter().cloned().collect();
    history.reads_old = state.lag.is_allowed;
    history.writes = state.writes;
    drop(state);
    history.changes = environment.api.change_quietly(Objects::take_changes);
    history
}

thread_local! {
    /// The panics of the history on this thread; `None` on other threads, whose panics are printed as ever.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// From now on, the panics on this thread belong into the story: printed for each history, with a backtrace each, they would hide it.
fn record_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // A value of the thread may be gone already.
            let recorded = PANICS.try_with(|panics| {
                let mut panics = panics.borrow_mut();
                panics.as_mut().map(|panics| panics.push(text_of(panic)))
            });
            if recorded.ok().flatten().is_none() {
                print(panic);
            }
        }));
    });
    PANICS.replace(Some(Vec::new()));
}

/// Where it was, and what it said.
fn text_of(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|&text| text.to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "a value that is not text".to_owned());
    let place = panic.location().map(|place| format!("{place}: "));
    place.unwrap_or_default() + &text
}

/// The first panic since the history began: where, and with what text.
pub(super) fn first_panic() -> Option<String> {
    PANICS.with_borrow(|panics| panics.as_ref()?.first().cloned())
}
