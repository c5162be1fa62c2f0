//! Tries an operator against faults, in virtual time.
//!
//! A history is a new cluster in memory, an operator in it, and what a user does. The reference history has no faults. Each
//! other one has a few, at places where the reference shows that they can matter; what is expected of it is what came of
//! the reference. Everything happens in one thread, whose clock stands still while anything is left to do, so the same
//! plan gives the same history.

mod actors;
mod admitted;
mod authors;
mod children;
mod comparison;
mod delays;
mod environment;
mod explore;
mod external;
mod failure;
mod faults;
mod fields;
mod history;
mod history_run;
mod interference;
mod leadership;
mod network;
mod oracle;
mod ownership;
mod permissions;
mod plan;
mod plans;
mod project;
mod quiescence;
mod replica;
mod replicas;
mod requests;
mod run;
mod scenario;
mod state;
mod story;
mod surroundings;
#[cfg(test)]
mod tests;
mod timeline;
mod trace;
mod unchecked;
mod user;
mod who;

use std::{collections::BTreeMap, fmt, sync::Arc, thread, time::Duration};

use futures_util::FutureExt as _;
use k8s_openapi::api::batch::v1::Job;
use kube::Client;
use manager::{Manager, Object};
use serde::Serialize;

pub use self::{external::External, failure::Failure, run::Summary, scenario::Oracle};
use self::{
    scenario::{Operator, Scenario, Settings},
    timeline::file,
};
use crate::{
    FakeApi,
    jobs::{JobEnd, JobEnds},
    server::{Kinds, path},
};

/// How many histories there are, unless the test says otherwise.
const HISTORIES: usize = 300;

/// Without a change for so long, an operator is idle.
const QUIET: Duration = Duration::from_secs(130);

/// A simulation that has yet to [`run`](Self::run); made by [`simulate`].
#[must_use = "end it with `.run()`"]
pub struct Simulation {
    scenario: Scenario,
    settings: Settings,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Prepares the simulation of an operator, whose controllers `register` adds to a manager.
///
/// The operator runs again and again in a small cluster in memory, each time with other faults: its process ends between two
/// writes, requests are refused or their answers lost, watches lag behind, the user changes their mind. Afterwards
/// the cluster must be as it is without faults.
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_testing::simulate;
/// use manager::{Action, Context, Manager, metadata};
///
/// fn register(manager: &mut Manager) {
///     let greeter = manager.controller::<ConfigMap>("greeter");
///     greeter.owns(metadata::<ConfigMap>()).reconcile(greet);
/// }
///
/// async fn greet(map: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
///     if cx.key().name() == "captain" {
///         let mut greeting = ConfigMap::default();
///         greeting.metadata.name = Some("greeting".to_owned());
///         greeting.data = map.data.clone();
///         cx.apply(&greeting).await?;
///     }
///     Ok(Action::await_change())
/// }
///
/// let mut captain = ConfigMap::default();
/// captain.metadata.name = Some("captain".to_owned());
/// simulate(register).object(&captain).histories(20).run();
/// ```
pub fn simulate(register: impl Fn(&mut Manager) + Send + Sync + 'static) -> Simulation {
    Simulation::of(Operator::Manager(Arc::new(register)))
}

/// Prepares the simulation of a controller that is not on kbr-manager, such as one of [`kube::runtime`], or of any other program that
/// uses a client: `run` runs it, until it is dropped.
///
/// It is tried as [`simulate`] tries an operator, but for what takes a manager: `failover` and `late` are left out, and neither panics nor
/// reconciles that fail are noticed. To reconcile everything again, its process starts again.
///
/// Equal histories must be equal: time is that of tokio, which stands still while anything is left to do. What depends on
/// something else, on the time of day, the order of a `HashMap`, or the jitter of a back-off, is named by the run in which it differs.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use futures_util::StreamExt as _;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_testing::simulate_client;
/// use kube::{
///     Api, Client,
///     api::{Patch, PatchParams},
///     runtime::{Controller, controller::Action, watcher},
/// };
/// use serde_json::json;
///
/// async fn greet(map: Arc<ConfigMap>, client: Arc<Client>) -> Result<Action, kube::Error> {
///     if map.metadata.name.as_deref() == Some("captain") {
///         let owner = kube::Resource::controller_owner_ref(&*map, &());
///         let greeting = json!({
///             "apiVersion": "v1", "kind": "ConfigMap",
///             "metadata": { "name": "greeting", "ownerReferences": [owner] }, "data": map.data,
///         });
///         let maps: Api<ConfigMap> = Api::default_namespaced((*client).clone());
///         let ours = PatchParams::apply("greeter").force();
///         maps.patch("greeting", &ours, &Patch::Apply(greeting)).await?;
///     }
///     Ok(Action::await_change())
/// }
///
/// async fn run(client: Client) {
///     let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
///     let retry = |_, _: &kube::Error, _| Action::requeue(Duration::from_secs(1));
///     let controller = Controller::new(maps.clone(), watcher::Config::default())
///         .owns(maps, watcher::Config::default())
///         .run(greet, retry, Arc::new(client));
///     controller.for_each(async |_| ()).await;
/// }
///
/// let mut captain = ConfigMap::default();
/// captain.metadata.name = Some("captain".to_owned());
/// simulate_client(run).object(&captain).histories(20).run();
/// ```
pub fn simulate_client<F>(run: impl Fn(Client) -> F + Send + Sync + 'static) -> Simulation
where
    F: Future<Output = ()> + Send + 'static,
{
    let run = Arc::new(move |client| run(client).boxed());
    let mut simulation = Simulation::of(Operator::Client(run));
    let skipped = &mut simulation.scenario.skipped;
    for (pattern, reason) in [
        (
            "failover",
            "only a manager has a leader election that is known",
        ),
        ("late", "only a manager has a clock that can be late"),
        (
            "resync",
            "only a manager reconciles everything again when asked to",
        ),
    ] {
        skipped.insert(pattern.to_owned(), reason.to_owned());
    }
    simulation
}

impl Simulation {
    fn of(operator: Operator) -> Self {
        Self {
            scenario: Scenario {
                operator,
                crds: Vec::new(),
                kinds: Kinds::default(),
                conversions: None,
                permissions: None,
                webhooks: Vec::new(),
                world: Vec::new(),
                objects: Vec::new(),
                steps: Vec::new(),
                kubelet: None,
                always: Vec::new(),
                ignored: Vec::new(),
                without: BTreeMap::new(),
                skipped: BTreeMap::new(),
                period: None,
                passes: Duration::ZERO,
                quiet: QUIET,
            },
            settings: Settings {
                histories: HISTORIES,
                seed: 1,
                replay: Vec::new(),
            },
        }
    }

    /// An object that the user creates, once the operator runs, and deletes at the end. A namespaced object without a
    /// namespace goes to `default`.
    ///
    /// # Panics
    /// If it has no name.
    pub fn object<K>(mut self, object: &K) -> Self
    where
        K: Object + Clone + Send + Sync + 'static,
    {
        let (meta, object) = (object.meta(), object.clone());
        let name = meta.name.as_deref().expect("an object has a name");
        let path = path::<K>(meta.namespace.as_deref().unwrap_or("default"), name);
        let create = Arc::new(move |api: &FakeApi| api.put(&object));
        self.scenario.objects.push((path, create));
        self
    }

    /// An object that exists before the operator starts, and stays.
    pub fn world<K>(mut self, object: &K) -> Self
    where
        K: Object + Clone + Send + Sync + 'static,
    {
        let object = object.clone();
        let create = move |api: &FakeApi| api.put(&object);
        self.scenario.world.push(Arc::new(create));
        self
    }

    /// Registers a kind, as [`FakeApi::define`] does.
    ///
    /// # Panics
    /// If `crd` cannot be written as JSON.
    pub fn define(mut self, crd: &impl Serialize) -> Self {
        let crd = serde_json::to_value(crd).expect("a definition can be written as JSON");
        self.scenario.crds.push(crd);
        self
    }

    /// A step of the user, after the objects were created and the steps before: `what` completes the sentence *the user
    /// …*. In some histories it comes before the operator is idle.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kbr_testing::simulate;
    /// # use manager::Manager;
    /// # fn test(register: fn(&mut Manager)) {
    /// simulate(register).user("changes the greeting", |api| {
    ///     api.edit::<ConfigMap>("default", "captain", |captain| {
    ///         captain.data.get_or_insert_default().insert("greeting".to_owned(), "ahoy".to_owned());
    ///     });
    /// });
    /// # }
    /// ```
    pub fn user(mut self, what: &str, step: impl Fn(&FakeApi) + Send + Sync + 'static) -> Self {
        self.scenario.steps.push((what.to_owned(), Arc::new(step)));
        self
    }

    /// Runs a fake kubelet: Deployments and `StatefulSet`s become available, Pods run, and Jobs succeed,
    /// as do Pods that are not restarted.
    pub fn kubelet(self) -> Self {
        self.kubelet_with(|_| Some(JobEnd::Succeeded))
    }

    /// Runs a fake kubelet that ends Jobs as `decide` decides, as [`Kubelet::finish_jobs`](super::Kubelet::finish_jobs)
    /// does.
    pub fn kubelet_with(
        mut self,
        decide: impl Fn(&Job) -> Option<JobEnd> + Send + Sync + 'static,
    ) -> Self {
        let jobs = JobEnds::default();
        jobs.set(decide);
        self.scenario.kubelet = Some(jobs);
        self
    }

    /// Something that holds after every change: `what` says it.
    pub fn always(
        mut self,
        what: &str,
        holds: impl Fn(&FakeApi) -> bool + Send + Sync + 'static,
    ) -> Self {
        let invariant = (what.to_owned(), Arc::new(holds) as scenario::Invariant);
        self.scenario.always.push(invariant);
        self
    }

    /// A field that may differ between two histories, and all that is in it: a JSON pointer, in which `*` stands for any
    /// one field, such as `/status/attempts` or `/spec/ports/*/nodePort`. Before it may stand an object, as in reports:
    /// `ConfigMap default/a /data/random`; without a pointer, the whole object may be
    /// missing. It must not be left after the deletion.
    pub fn ignore(mut self, pointer: &str) -> Self {
        self.scenario.ignored.push(pointer.to_owned());
        self
    }

    /// Switches an oracle off. The summary prints the reason.
    pub fn without(mut self, oracle: Oracle, reason: &str) -> Self {
        self.scenario.without.insert(oracle, reason.to_owned());
        self
    }

    /// Leaves out the faults of a pattern, as the summary names it, such as `by hand`. The summary prints the reason.
    pub fn skip(mut self, pattern: &str, reason: &str) -> Self {
        let skipped = &mut self.scenario.skipped;
        skipped.insert(pattern.to_owned(), reason.to_owned());
        self
    }

    /// The number of histories; 300 by default.
    pub fn histories(mut self, histories: usize) -> Self {
        self.settings.histories = histories;
        self
    }

    /// The time without a change after which the operator counts as idle; 130 s by default. An operator that writes
    /// something each minute needs a shorter one.
    pub fn idle_after(mut self, quiet: Duration) -> Self {
        self.scenario.quiet = quiet;
        self
    }

    /// Simulates an operator that acts on a schedule: for ever, once in each `period`, at a multiple of it since midnight.
    /// Between two of these times it counts as idle.
    ///
    /// Histories are compared at the same times of day, every five periods. Where something happens later than in the
    /// history without faults, as after a step of the user or in another replica, what was done on schedule meanwhile
    /// rightly differs; then only the other oracles judge.
    ///
    /// # Panics
    /// If `period` is shorter than a minute.
    pub fn every(mut self, period: Duration) -> Self {
        assert!(
            period >= Duration::from_secs(60),
            "a period is a minute or longer"
        );
        self.scenario.period = Some(period);
        self.scenario.quiet = period / 4;
        self
    }

    /// Lets so many days pass, and some hours, once the user has taken all steps: what the operator has asked to be called again for happens.
    /// The state is compared before and after.
    pub fn days(mut self, days: u32) -> Self {
        // What comes every hour, or every day, does not come right at the end.
        self.scenario.passes = Duration::from_secs(86_400) * days + Duration::from_secs(20_220);
        self
    }

    /// The seed of everything random; 1 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Runs the history of this plan alone, as a failure prints it: a regression test. Called again, those of several.
    pub fn replay(mut self, plan: &str) -> Self {
        self.settings.replay.push(plan.to_owned());
        self
    }

    /// Runs the simulation, and prints what it has tried.
    ///
    /// With `KBR_SIMULATE=10m` in the environment it goes on for ten minutes, and with a plan, as a failure prints it, it
    /// runs that history alone.
    ///
    /// # Panics
    /// At the first history that fails, with its story. It also writes the [timeline](Failure::timeline) of the history to
    /// `target/simulate/`, in a file with the name of the test, and the story says where; without a failure, the file is removed.
    #[track_caller]
    pub fn run(self) {
        match self.check() {
            Ok(summary) => {
                file::remove();
                println!("{summary}");
            }
            Err(failure) => {
                let page = failure.timeline.as_deref().and_then(file::keep);
                let line = page.map(|page| format!("\ntimeline: {page}"));
                panic!("{failure}{}", line.unwrap_or_default());
            }
        }
    }

    /// Runs the simulation like [`run`](Self::run), and returns what it has tried.
    ///
    /// # Errors
    /// The first history that fails; or why nothing can be simulated.
    pub fn check(self) -> Result<Summary, Failure> {
        let test = thread::current().name().map(str::to_owned);
        let asked = std::env::var(run::VARIABLE)
            .ok()
            .filter(|asked| !asked.is_empty());
        // In a thread of its own, because the caller may be inside a runtime.
        let Self { scenario, settings } = self;
        let run = move || run::all(scenario, &settings, test.as_deref(), asked.as_deref());
        let thread = thread::Builder::new().name("simulation".to_owned());
        let started = thread.spawn(run).map_err(|error| Failure::unable(&error))?;
        let ended = started.join();
        ended.unwrap_or_else(|_| Err(Failure::unable(&"the simulation panicked")))
    }

    /// The trace of the history without faults, for tests that compare two runs.
    #[doc(hidden)]
    #[must_use]
    pub fn trace(self, plan: &str, seed: u64) -> String {
        let run = move || {
            let plan = run::plan_of(plan).unwrap_or_default();
            history_run::run(&Arc::new(self.scenario), &plan, seed)
        };
        let ended = thread::scope(|scope| scope.spawn(run).join());
        ended.map_or_else(|_| "it panicked".to_owned(), |it| trace::text(&it.events))
    }
}
