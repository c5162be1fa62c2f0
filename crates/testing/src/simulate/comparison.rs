//! An operator, and how its histories compare with the one without faults.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    explore::{self, Change},
    history::{Created, History},
    history_run,
    oracle::{self, Finding, Reference},
    plan::{Fault, PATTERNS, Plan, What},
    plans::{self, Plans},
    scenario::Scenario,
    state, story, trace,
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
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        scenario: Arc<Scenario>,
        seed: u64,
        test: Option<&'a str>,
        notes: &mut Vec<String>,
    ) -> Self {
        let (reference, found) = reference(&scenario, seed);
        notes.extend(found);
        Self {
            scenario,
            reference,
            seed,
            test,
        }
    }

    /// Fails if the operator has a defect even without faults; `plan` is what leads to this scenario.
    pub(super) fn check_reference(&self, plan: &Plan) -> anyhow::Result<()> {
        match oracle::check_reference(&self.scenario, &self.reference) {
            Some(finding) => Err(self.error(plan, &finding, &self.reference.history)),
            None => Ok(()),
        }
    }

    pub(super) fn plans(&self, seed: u64, wanted: usize) -> Plans {
        let history = &self.reference.history;
        plans::of(history, seed, wanted, &self.scenario)
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
        let is_disturbed = self.scenario.is_disturbed;
        if !is_disturbed || self.reference.history.world.is_empty() {
            untried.retain(|pattern| *pattern != "world");
        }
        if !is_disturbed {
            untried.retain(|pattern| *pattern != "neighbour");
        }
        let mut notes = Vec::new();
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

    /// The changes of specs that the definitions allow, each with the path of its object.
    pub(super) fn changes(&self) -> Vec<(Path, Change)> {
        let changes = |created: &Created| {
            let changes = explore::changes(&created.object, &created.schema, &created.rules);
            let path = &created.path;
            let changes = changes.into_iter().map(|change| (path.clone(), change));
            changes.collect::<Vec<_>>()
        };
        self.reference
            .history
            .created
            .iter()
            .flat_map(changes)
            .collect()
    }

    /// The same with one step: this change of a spec, from 1. Instead, why the operator rejects the changed spec.
    pub(super) fn explored(&self, number: usize) -> anyhow::Result<Result<Self, String>> {
        let mut changes = self.changes();
        anyhow::ensure!(
            (1..=changes.len()).contains(&number),
            "a spec has {} changes, and not a change {number}",
            changes.len()
        );
        let (path, change) = changes.swap_remove(number - 1);
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
        let explored = Self::new(Arc::new(scenario), self.seed, self.test, &mut Vec::new());
        let history = &explored.reference.history;
        // An operator rejects a spec with a webhook or an error, not with a panic.
        let is_own = history.panics == 0 && history.denied.is_none();
        let failing = history.failing.first().filter(|_| is_own);
        let failing = failing.map(|key| oracle::failure(history, key));
        if let Some(why) = history.rejected.first().cloned().or(failing) {
            return Ok(Err(why));
        }
        explored.check_reference(&Plan(vec![Fault {
            what: What::Explore(number),
            at: 0,
        }]))?;
        Ok(Ok(explored))
    }

    /// Runs the history of a plan.
    pub(super) fn run(&self, plan: &Plan) -> anyhow::Result<()> {
        match plan.explored().map(|change| self.explored(change)) {
            Some(explored) => explored?.map_or(Ok(()), |explored| explored.run_history(plan)),
            None => self.run_history(plan),
        }
    }

    /// Runs the history of a plan, whose change of a spec is a step of this scenario.
    pub(super) fn run_history(&self, plan: &Plan) -> anyhow::Result<()> {
        let (history, finding) = self.checked(plan);
        let Some(finding) = finding else {
            return Ok(());
        };
        let (plan, history, finding) = self.shrunk(plan.clone(), history, finding);
        Err(self.error(&plan, &finding, &history))
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

    fn error(&self, plan: &Plan, finding: &Finding, history: &History) -> anyhow::Error {
        anyhow::Error::msg(story::of(self.test, plan, finding, history))
    }
}

/// The history without faults. What differs in another one, at another time and with other random numbers, is ignored.
fn reference(scenario: &Arc<Scenario>, seed: u64) -> (Reference, Vec<String>) {
    let run = |seed| history_run::run(scenario, &Plan::default(), seed);
    let (mut ignored, mut notes) = (scenario.ignored.clone(), Vec::new());
    let first = run(seed);
    if first.broken.is_some() {
        let reference = Reference {
            history: first,
            ignored,
        };
        return (reference, notes);
    }
    let found = first.notes.iter().chain(&first.rejected);
    notes.extend(found.chain(&first.unplayed).cloned());
    let (again, other) = (run(seed), run(seed + 1));
    if let Some((one, two)) = first_difference(&first, &again) {
        notes.push(format!(
            "two equal histories differ, so a replay may, too: first\n    {one}\n    {two}"
        ));
    }
    for (one, two) in first.states.iter().zip(&other.states) {
        for (title, at) in state::differences(one, two, &ignored) {
            if !at.pointer.is_empty() {
                ignored.push(format!("{title} {}", at.pointer));
            }
        }
    }
    let reference = Reference {
        history: first,
        ignored,
    };
    (reference, notes)
}

fn first_difference(one: &History, two: &History) -> Option<(String, String)> {
    let (one, two) = (trace::text(&one.events), trace::text(&two.events));
    let mut lines = one.lines().zip(two.lines());
    let differs = lines.find(|(one, two)| one != two);
    differs.map(|(one, two)| (one.to_owned(), two.to_owned()))
}
