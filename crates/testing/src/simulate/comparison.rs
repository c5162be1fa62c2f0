//! An operator, and how its histories compare with the one without faults.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    explore::{self, Change},
    failure::Failure,
    history::{Created, History},
    history_run,
    oracle::{self, Finding, Reference},
    plan::{Fault, PATTERNS, Plan, What},
    plans::{self, Plans},
    scenario::Scenario,
    state, story, timeline, trace,
};
use crate::{FakeApi, server::Path};

/// How many writes a note shows.
const SHOWN: usize = 5;

/// An operator, and what it does without faults.
pub(super) struct Comparison<'a> {
    pub(super) scenario: Arc<Scenario>,
    pub(super) reference: Reference,
    seed: u64,
    pub(super) test: Option<&'a str>,
    /// The changes of specs that the definitions allow, each with the path of its object.
    changes: Vec<(Path, Change)>,
    /// The same with one step, the change with this number from 1, for those that were tried.
    explored: Mutex<BTreeMap<usize, Arc<Explored<'a>>>>,
}

/// An operator whose user makes a change of a spec.
struct Explored<'a> {
    comparison: Comparison<'a>,
    /// Why the operator rejects the changed spec, if it does.
    rejected: Option<String>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        scenario: Arc<Scenario>,
        seed: u64,
        test: Option<&'a str>,
        notes: &mut Vec<String>,
    ) -> Self {
        let reference = reference(&scenario, seed);
        let first = &reference.history;
        if first.broken.is_none() {
            let found = first.notes.iter().chain(&first.rejected);
            notes.extend(found.chain(&first.unplayed).cloned());
            notes.extend(unequal(&scenario, seed, first));
        }
        let changes = changes(first);
        Self::with(scenario, reference, seed, test, changes)
    }

    fn with(
        scenario: Arc<Scenario>,
        reference: Reference,
        seed: u64,
        test: Option<&'a str>,
        changes: Vec<(Path, Change)>,
    ) -> Self {
        Self {
            scenario,
            reference,
            seed,
            test,
            changes,
            explored: Mutex::default(),
        }
    }

    /// Fails if the operator has a defect even without faults; `plan` is what leads to this scenario.
    pub(super) fn check_reference(&self, plan: &Plan) -> Result<(), Failure> {
        match oracle::check_reference(&self.scenario, &self.reference) {
            Some(finding) => Err(self.failure(plan, &finding, &self.reference.history)),
            None => Ok(()),
        }
    }

    pub(super) fn plans(&self, seed: u64, wanted: usize) -> Plans {
        let history = &self.reference.history;
        plans::of(history, self.changes.len(), seed, wanted, &self.scenario)
    }

    /// What these plans have not tried: patterns, and writes at which no process ended.
    pub(super) fn unreached(
        &self,
        plans: &[Plan],
        patterns: &BTreeMap<&'static str, usize>,
    ) -> Vec<String> {
        let is_skipped = |pattern: &str| self.scenario.skipped.contains_key(pattern);
        let mut untried = PATTERNS.to_vec();
        untried.retain(|pattern| !is_skipped(pattern) && !patterns.contains_key(pattern));
        if self.reference.history.versions.is_empty() {
            untried.retain(|pattern| *pattern != "converted");
        }
        if self.reference.history.world.is_empty() {
            untried.retain(|pattern| *pattern != "world");
        }
        if self.changes.is_empty() {
            untried.retain(|pattern| *pattern != "explored");
        }
        let mut notes = Vec::new();
        let is_guaranteed = !self.scenario.operator.is_client();
        if is_guaranteed && untried.contains(&"lagging") {
            untried.retain(|pattern| *pattern != "lagging");
            let what = "`lagging` is not tried: the library never asks for lists that may be old";
            notes.push(what.to_owned());
        }
        if !untried.is_empty() {
            let list = untried.join(", ");
            notes.push(format!("no history has a fault of these patterns: {list}"));
        }
        let writes = self.uncrashed(plans);
        if !writes.is_empty() && !is_skipped("crash") {
            let (shown, more) = writes.split_at(writes.len().min(SHOWN));
            let more = (!more.is_empty()).then(|| format!("\n    and {} more", more.len()));
            let (shown, more) = (shown.join("\n"), more.unwrap_or_default());
            notes.push(format!("no process ended at these writes:\n{shown}{more}"));
        }
        notes
    }

    /// The writes of the history without faults at which none of these plans ends the process.
    fn uncrashed(&self, plans: &[Plan]) -> Vec<String> {
        let is_crash = |what: &What| matches!(what, What::CrashBefore | What::CrashAfter);
        let faults = plans.iter().flat_map(|plan| &plan.0);
        let mut writes: BTreeMap<_, _> = trace::writes(&self.reference.history.events).collect();
        writes.retain(|write, _| {
            !faults
                .clone()
                .any(|it| it.at == *write && is_crash(&it.what))
        });
        let lines = writes.iter();
        lines
            .map(|(number, action)| format!("    {number}: the operator {action}"))
            .collect()
    }

    /// The same with one step: this change of a spec, from 1. Fails if the operator has a defect then.
    fn explored(&self, number: usize) -> Result<Arc<Explored<'a>>, Failure> {
        let known = || self.explored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(explored) = known().get(&number) {
            return Ok(explored.clone());
        }
        let change = number.checked_sub(1).and_then(|at| self.changes.get(at));
        let Some((path, change)) = change.cloned() else {
            let count = self.changes.len();
            let why = format!("the specs have {count} changes, and not a change {number}");
            return Err(Failure::unable(&why));
        };
        let mut scenario = (*self.scenario).clone();
        let title = change.title();
        let step = move |api: &FakeApi| {
            let Some(mut object) = api.stored(&path) else {
                return;
            };
            change.make(&mut object);
            // The server counts.
            object["metadata"]["generation"] = Value::Null;
            api.write(&path, object);
        };
        scenario.steps = vec![(title, Arc::new(step))];
        let scenario = Arc::new(scenario);
        let mut reference = reference(&scenario, self.seed);
        let history = &mut reference.history;
        // An operator rejects a spec with a webhook or an error, not with a panic.
        let is_own = history.panics == 0 && history.denied.is_none();
        let failing = history.failing.first().filter(|_| is_own);
        let failing = failing.map(|key| oracle::failure(history, key));
        let rejected = history.rejected.first().cloned().or(failing);
        if rejected.is_some() {
            // Once it is taken back, no more fails than before.
            history.failing.clone_from(&self.reference.history.failing);
        }
        let comparison = Comparison::with(scenario, reference, self.seed, self.test, Vec::new());
        if rejected.is_none() {
            comparison.check_reference(&Plan(vec![Fault {
                what: What::Explore(number),
                at: 0,
            }]))?;
        }
        let explored = Arc::new(Explored {
            comparison,
            rejected,
        });
        known().insert(number, explored.clone());
        Ok(explored)
    }

    /// The changes of specs that the operator has rejected, as a note.
    pub(super) fn rejected(&self) -> Option<String> {
        let explored = self.explored.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = explored.iter().filter_map(|(number, explored)| {
            let why = explored.rejected.as_ref()?;
            let title = self.changes[number - 1].1.title();
            Some(format!(
                "\n    the user {title}: {}",
                why.replace('\n', "\n    ")
            ))
        });
        let list: String = lines.collect();
        let note = || format!("the operator rejects these changes of a spec:{list}");
        (!list.is_empty()).then(note)
    }

    /// Runs the history of a plan.
    pub(super) fn run(&self, plan: &Plan) -> Result<(), Failure> {
        let Some(change) = plan.explored() else {
            return self.run_history(plan);
        };
        let explored = self.explored(change)?;
        // A spec that is rejected leads to no state of its own. Taken back, it leaves none behind.
        if explored.rejected.is_some() && plan.undone().is_none() {
            return Ok(());
        }
        explored.comparison.run_history(plan)
    }

    /// Runs the history of a plan, whose change of a spec is a step of this scenario.
    fn run_history(&self, plan: &Plan) -> Result<(), Failure> {
        let (history, finding) = self.checked(plan);
        let Some(finding) = finding else {
            return Ok(());
        };
        let (plan, history, finding) = self.shrunk(plan.clone(), history, finding);
        Err(self.failure(&plan, &finding, &history))
    }

    fn checked(&self, plan: &Plan) -> (History, Option<Finding>) {
        let history = history_run::run(&self.scenario, plan, self.seed);
        let finding = oracle::check(&self.scenario, &self.reference, plan, &history);
        (history, finding)
    }

    /// The same failure with as few faults as possible.
    fn shrunk(
        &self,
        mut plan: Plan,
        mut history: History,
        mut finding: Finding,
    ) -> (Plan, History, Finding) {
        let mut at = 0;
        while at < plan.0.len() && plan.0.len() > 1 {
            // Without it, this is not the scenario of the plan.
            if matches!(plan.0[at].what, What::Explore(_)) {
                at += 1;
                continue;
            }
            let mut fewer = plan.clone();
            fewer.0.remove(at);
            if let (shorter, Some(found)) = self.checked(&fewer) {
                (plan, history, finding) = (fewer, shorter, found);
            } else {
                at += 1;
            }
        }
        (plan, history, finding)
    }

    /// How a history fails; how many there were is not known here.
    fn failure(&self, plan: &Plan, finding: &Finding, history: &History) -> Failure {
        Failure {
            story: story::of(self.test, plan, finding, history),
            histories: 1,
            oracle: Some(finding.oracle),
            plan: plan.to_string(),
            timeline: Some(timeline::page(self.test, plan, finding, history)),
        }
    }
}

/// The history without faults. What differs in another one, at another time and with other random numbers, is ignored.
fn reference(scenario: &Arc<Scenario>, seed: u64) -> Reference {
    let run = |seed| history_run::run(scenario, &Plan::default(), seed);
    let mut ignored = scenario.ignored.clone();
    let history = run(seed);
    let other = history.broken.is_none().then(|| run(seed + 1).states);
    for (one, two) in history.states.iter().zip(other.iter().flatten()) {
        for (title, at) in state::differences(one, two, &ignored) {
            if !at.pointer.is_empty() {
                ignored.push(format!("{title} {}", at.pointer));
            }
        }
    }
    Reference { history, ignored }
}

/// The changes of the specs of a history that their definitions allow, each with the path of its object.
fn changes(history: &History) -> Vec<(Path, Change)> {
    let changes = |created: &Created| {
        let changes = explore::changes(&created.object, &created.schema, &created.rules);
        let path = &created.path;
        let changes = changes.into_iter().map(|change| (path.clone(), change));
        changes.collect::<Vec<_>>()
    };
    history.created.iter().flat_map(changes).collect()
}

/// What differs in another run of the same history.
fn unequal(scenario: &Arc<Scenario>, seed: u64, first: &History) -> Option<String> {
    let again = history_run::run(scenario, &Plan::default(), seed);
    let (one, two) = first_difference(first, &again)?;
    Some(format!(
        "two equal histories differ, so a replay may, too: first\n    {one}\n    {two}"
    ))
}

fn first_difference(one: &History, two: &History) -> Option<(String, String)> {
    let (one, two) = (trace::text(&one.events), trace::text(&two.events));
    let mut lines = one.lines().zip(two.lines());
    let differs = lines.find(|(one, two)| one != two);
    differs.map(|(one, two)| (one.to_owned(), two.to_owned()))
}
