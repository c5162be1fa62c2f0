//! The cluster of a history, the process of the operator in it, and the time that passes.

use std::{
    collections::BTreeMap,
    future::{pending, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use kube::Client;
use manager::{
    Manager, Options,
    harness::{self, Clock, Controllers, Hooks},
};
use tokio::{
    task::{AbortHandle, JoinHandle},
    time::{Instant, sleep},
};

use super::{
    actors, external,
    history::{Broken, History},
    network::Network,
    plan::Plan,
    replica::Replica,
    replicas,
    scenario::{Operator, Oracle, Scenario},
    state::{self, State},
    trace::Happened,
    who::MANAGER,
};
use crate::{
    FakeApi,
    fake::hooks,
    server::{Gate, Objects, Reviewers, Webhooks},
};

/// How long a process takes to start again.
const RESTART: Duration = Duration::from_secs(1);

/// The same with another replica, which may lead in the meantime.
const REPLACED: Duration = Duration::from_secs(30);

/// By how much the clock of another machine is behind.
const BEHIND: Duration = Duration::from_secs(100);

/// How often it is looked whether everything is idle: while something has changed lately, and later.
const PERIOD: Duration = Duration::from_millis(500);
const RECENT: Duration = Duration::from_secs(4);
const LONG_PERIOD: Duration = Duration::from_secs(10);

/// By how much the clock of tokio is late.
const MOMENT: Duration = Duration::from_millis(50);

/// For how long everything must be idle before watches that are held back deliver again.
const HELD: Duration = Duration::from_secs(2);

/// For how long they are held back at most, if something is never idle without them.
const LONGEST_HELD: Duration = Duration::from_secs(15);

/// A history that takes longer than this makes no progress, nor does one on a schedule after so many periods.
const LONGEST: Duration = Duration::from_secs(6 * 3600);
const MOST_PERIODS: u32 = 20;

/// How the error of a manager that no longer leads begins.
const LOST: &str = "leadership lost";

pub(super) struct Environment {
    pub(super) scenario: Arc<Scenario>,
    pub(super) plan: Plan,
    pub(super) api: FakeApi,
    pub(super) network: Network,
    clock: Clock,
    processes: Vec<Process>,
    actors: Vec<AbortHandle>,
    pub(super) history: History,
}

/// A process of the operator.
struct Process {
    /// The number of the replica.
    number: usize,
    /// None without a manager.
    controllers: Option<Controllers>,
    task: JoinHandle<anyhow::Result<()>>,
}

/// After how long histories are compared again, at the same times: five periods, or one that is long beside any fault.
fn round(period: Duration) -> Duration {
    if period < Duration::from_secs(3600) {
        period * 5
    } else {
        period
    }
}

/// How much time is left until histories are compared next, between two times of the schedule.
fn time_until(period: Duration, elapsed: Duration) -> Duration {
    let (all, now) = (round(period).as_millis(), elapsed.as_millis());
    let gone = (now + all - period.as_millis() / 2) % all;
    // Less than a round.
    Duration::from_millis(u64::try_from(all - gone).unwrap_or(u64::MAX))
}

/// Whether histories are compared now, or would have been a moment ago.
fn is_time(period: Duration, elapsed: Duration) -> bool {
    time_until(period, elapsed) + MOMENT > round(period)
}

/// Waits until one of these processes has ended by itself.
async fn ended(
    processes: &mut [Process],
) -> (usize, Result<anyhow::Result<()>, tokio::task::JoinError>) {
    poll_fn(|cx| {
        for process in &mut *processes {
            if let Poll::Ready(ended) = Pin::new(&mut process.task).poll(cx) {
                return Poll::Ready((process.number, ended));
            }
        }
        Poll::Pending
    })
    .await
}

impl Drop for Environment {
    fn drop(&mut self) {
        external::enter(None);
        self.actors.iter().for_each(AbortHandle::abort);
        self.end();
    }
}

impl Environment {
    pub(super) fn new(scenario: &Arc<Scenario>, plan: &Plan) -> Self {
        let api = scenario.api();
        api.change_quietly(|objects| objects.collects_late = true);
        let network = Network::new(&api, plan, scenario);
        let weak = Arc::downgrade(&network.0);
        api.set_gate(Gate::new(move |path, object| match weak.upgrade() {
            Some(shared) => Network(shared).admit_user(path, object),
            None => Ok(object),
        }));
        external::enter(Some(network.clone()));
        let mut actors = vec![
            tokio::spawn(actors::deliver(api.clone(), network.clone())).abort_handle(),
            tokio::spawn(actors::collect(api.clone(), network.clone())).abort_handle(),
        ];
        if let Some(jobs) = &scenario.kubelet {
            let kubelet = actors::play(api.clone(), network.clone(), jobs.clone());
            actors.push(tokio::spawn(kubelet).abort_handle());
        }
        Self {
            scenario: scenario.clone(),
            plan: plan.clone(),
            // A step of the user may advance it.
            clock: api.clock().late(plan.lateness().unwrap_or_default()),
            api,
            network,
            processes: Vec::new(),
            actors,
            history: History::default(),
        }
    }

    /// Starts the operator: one process, or two with leader election.
    pub(super) fn start(&mut self) -> Result<(), Broken> {
        self.start_one()?;
        if self.plan.has_replicas() {
            self.start_one()?;
        }
        Ok(())
    }

    fn start_one(&mut self) -> Result<(), Broken> {
        match self.scenario.operator.clone() {
            Operator::Manager(register) => self.start_manager(&*register),
            Operator::Client(run) => {
                let connection = Replica::start(&self.network);
                let number = connection.number;
                let client = Client::new(connection, "default");
                self.processes.push(Process {
                    number,
                    controllers: None,
                    task: tokio::spawn(async move {
                        run(client).await;
                        Ok(())
                    }),
                });
                Ok(())
            }
        }
    }

    fn start_manager(&mut self, register: &dyn Fn(&mut Manager)) -> Result<(), Broken> {
        let mut options = Options::default();
        if self.plan.has_replicas() {
            replicas::elect(&mut options, self.plan.is_warm());
        }
        // Here, the API server needs no TLS to ask them.
        options.enable_webhooks = false;
        let address = "0".parse();
        options.health_probe_bind_address = address.map_err(|error| (Oracle::Runs, error))?;
        let connection = Replica::start(&self.network);
        let number = connection.number;
        let mut clock = self.clock.clone();
        if self.plan.starts_behind() && number > 1 {
            clock = clock.behind(BEHIND);
        }
        let mut manager: Manager = harness::manager(options, MANAGER, &connection, clock);
        harness::report_loops(&mut manager);
        register(&mut manager);
        // They answer also while the operator restarts: those of the process that started last.
        let (webhooks, notes) = Webhooks::new(hooks(Hooks::of(&manager)), &self.scenario.webhooks);
        self.api.set_reviewers(Reviewers::Configured(webhooks));
        self.network.lock().notes.extend(notes);
        let controllers = Controllers::of(&manager);
        let controllers = controllers.map_err(|error| (Oracle::Runs, format!("{error:#}")))?;
        self.network.lock().controllers = controllers.names().count();
        self.processes.push(Process {
            number,
            controllers: Some(controllers),
            task: tokio::spawn(async move { manager.run_until(pending()).await }),
        });
        Ok(())
    }

    /// Ends the processes of the operator.
    pub(super) fn end(&mut self) {
        self.end_those(|_| true);
    }

    /// Ends some processes, and returns how many.
    fn end_those(&mut self, are_meant: impl Fn(usize) -> bool) -> usize {
        let meant = |process: &mut Process| are_meant(process.number);
        let ended: Vec<_> = self.processes.extract_if(.., meant).collect();
        for process in &ended {
            let controllers = process.controllers.as_ref();
            self.history.panics += controllers.map_or(0, Controllers::panics);
            process.task.abort();
        }
        ended.len()
    }

    /// Enqueues all objects.
    pub(super) fn enqueue_all(&self) {
        self.controllers().for_each(Controllers::resync);
    }

    /// The objects whose reconciles fail.
    pub(super) fn failing(&self) -> Vec<String> {
        self.controllers().flat_map(Controllers::failing).collect()
    }

    /// The errors of reconciles that failed last.
    pub(super) fn errors(&self) -> BTreeMap<String, String> {
        self.controllers().flat_map(Controllers::errors).collect()
    }

    fn controllers(&self) -> impl Iterator<Item = &Controllers> {
        let processes = self.processes.iter();
        processes.filter_map(|process| process.controllers.as_ref())
    }

    /// Waits until nothing has changed for a while, nothing is due, and nothing is held back; with a schedule, until the next
    /// time at which histories are compared.
    pub(super) async fn idle(&mut self) -> Result<(), Broken> {
        // What happens late is not compared, and perhaps never idle at these times.
        let schedule = self.scenario.period;
        let schedule = schedule.filter(|_| self.plan.lateness().is_none());
        self.idle_at(schedule).await
    }

    /// The same, whatever the time.
    pub(super) async fn settle(&mut self) -> Result<(), Broken> {
        self.idle_at(None).await
    }

    async fn idle_at(&mut self, schedule: Option<Duration>) -> Result<(), Broken> {
        let (quiet, began) = (self.scenario.quiet, Instant::now());
        let (mut last, mut since) = (self.last_change(), began);
        // An operator that asks to be called again before everything due has happened has always something due.
        let polls = self.plan.lateness().map(|by| by * 3 + quiet);
        let mut changed = began;
        loop {
            // Once it is quiet, hardly anything happens.
            let is_recent = since.elapsed() < RECENT;
            let long = LONG_PERIOD.max(quiet / 100);
            let period = if is_recent { PERIOD } else { long };
            let left = schedule.map(|every| time_until(every, self.network.elapsed()));
            let period = period.min(quiet).min(left.unwrap_or(period));
            self.next_moment(period).await?;
            let version = self.last_change();
            if version != last {
                changed = Instant::now();
            }
            let is_idle = self.is_idle() || polls.is_some_and(|it| changed.elapsed() >= it);
            if version != last || !is_idle || self.network.waits() || self.network.elects() {
                (last, since) = (version, Instant::now());
            }
            self.progresses(began)?;
            if self.may_release(since) && self.network.release() {
                since = Instant::now();
            }
            let in_time = schedule.is_none_or(|every| is_time(every, self.network.elapsed()));
            if since.elapsed() >= quiet && in_time {
                self.network.tell(Happened::Idle);
                return Ok(());
            }
        }
    }

    /// Lets the time pass that the author wants.
    pub(super) async fn pass(&mut self) -> Result<(), Broken> {
        let end = Instant::now() + self.scenario.passes;
        while Instant::now() < end {
            self.next_moment(end - Instant::now()).await?;
        }
        Ok(())
    }

    /// Lets some time pass on a schedule: what the user does now is repeated by those who ask for one period from now, and
    /// that must not be at the very time at which histories are compared.
    pub(super) async fn pause(&mut self) -> Result<(), Broken> {
        if let Some(period) = self.scenario.period {
            let end = Instant::now() + period / 16;
            while Instant::now() < end {
                self.next_moment(end - Instant::now()).await?;
            }
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.controllers().all(Controllers::are_idle)
    }

    /// Whether watches that are held back may deliver again, if everything has been idle since then.
    fn may_release(&self, since: Instant) -> bool {
        let held_for = self.network.held_for();
        held_for.is_some() && (since.elapsed() >= HELD || held_for > Some(LONGEST_HELD))
    }

    /// Fails if it takes too long, or too many requests.
    fn progresses(&self, began: Instant) -> Result<(), Broken> {
        let (requests, spent) = (self.network.lock().requests, began.elapsed());
        let periods = self.scenario.period.unwrap_or_default() * MOST_PERIODS;
        let is_flooded = self.network.is_flooded(requests);
        if !is_flooded && spent <= LONGEST.max(periods) {
            return Ok(());
        }
        let loops = self.controllers().flat_map(Controllers::loops);
        let loops: String = loops.flat_map(|found| ["; ".to_owned(), found]).collect();
        let what = format!(
            "it never becomes idle: {requests} requests, the last of them in {spent:?}{loops}"
        );
        Err((Oracle::Idle, what))
    }

    /// Lets time pass; starts the operator again if it has ended.
    async fn next_moment(&mut self, period: Duration) -> Result<(), Broken> {
        if self.processes.is_empty() {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.network.crashed() => {
                let ended = std::mem::take(&mut self.network.lock().replicas.ended);
                self.restart(&ended).await?;
            }
            (number, ended) = ended(&mut self.processes) => {
                let error = match ended {
                    Ok(Ok(())) => "without an error".to_owned(),
                    Ok(Err(error)) => format!("{error:#}"),
                    Err(error) => error.to_string(),
                };
                if !self.plan.has_replicas() || !error.starts_with(LOST) {
                    return Err((Oracle::Runs, format!("the operator ended: {error}")));
                }
                let what = format!("replica {number} ends, because it no longer leads");
                let who = self.network.operator(number);
                self.network.tell(Happened::Ended(who, what));
                self.network.lock().replicas.running.remove(&number);
                self.restart(&[number]).await?;
            }
            () = sleep(period) => {}
        }
        if std::mem::take(&mut self.network.lock().resync) {
            self.enqueue_all();
        }
        Ok(())
    }

    /// Ends these processes, and starts as many.
    async fn restart(&mut self, numbers: &[usize]) -> Result<(), Broken> {
        let count = self.end_those(|number| numbers.contains(&number));
        let pause = if self.plan.has_replicas() {
            REPLACED
        } else {
            RESTART
        };
        sleep(pause).await;
        (0..count).try_for_each(|_| self.start_one())
    }

    fn last_change(&self) -> u64 {
        self.api.change_quietly(|objects| objects.last_change())
    }

    pub(super) fn version(&self) -> u64 {
        self.api.change_quietly(|objects| objects.version())
    }

    /// The current state, of the services outside the cluster, too.
    pub(super) fn state(&self) -> State {
        let mut held = State::new();
        external::add_to(&mut held);
        state::of(&self.api, held)
    }

    /// The URLs of all objects.
    pub(super) fn urls(&self) -> Vec<String> {
        let urls = |objects: &mut Objects| objects.urls();
        self.api.change_quietly(urls)
    }
}
