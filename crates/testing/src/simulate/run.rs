//! Runs the histories of a simulation, and checks them.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Simulation, Summary, VARIABLE,
    history::{self, History},
    oracle::{self, Finding, Reference},
    plan::Plan,
    plans,
    scenario::Scenario,
    state, story, trace,
};

/// Runs all histories until one fails: then with its story, which names the `test`. `asked` is the value of the variable.
pub(super) fn all(
    simulation: Simulation,
    test: Option<&str>,
    asked: Option<&str>,
) -> anyhow::Result<Summary> {
    anyhow::ensure!(
        !simulation.scenario.objects.is_empty(),
        "nothing to simulate\nhelp: `.object(&captain)` adds an object that the user creates"
    );
    let time = asked.and_then(duration);
    let asked = asked.filter(|_| time.is_none());
    let replay = asked.into_iter().chain(
        simulation
            .replay
            .iter()
            .map(String::as_str)
            .filter(|_| asked.is_none()),
    );
    let replay = replay.map(plan_of).collect::<anyhow::Result<Vec<_>>>()?;
    let (histories, seed) = (simulation.histories, simulation.seed);
    let scenario = Arc::new(simulation.scenario);
    let (reference, notes) = reference(&scenario, seed);
    let tried = Tried {
        scenario,
        reference,
        seed,
        test,
    };
    let mut summary = Summary {
        histories: 1,
        patterns: BTreeMap::new(),
        notes,
    };
    if let Some(finding) = oracle::check_reference(&tried.scenario, &tried.reference) {
        let history = &tried.reference.history;
        return Err(tried.error(&Plan::default(), &finding, history));
    }
    for (oracle, reason) in &tried.scenario.without {
        let note = format!("{oracle:?} is not checked: {reason}");
        summary.notes.push(note);
    }
    let began = Instant::now();
    for round in 0.. {
        let plans = match &replay[..] {
            [] => {
                let others = histories.saturating_sub(1);
                plans::of(&tried.reference.history, seed + round, others)
            }
            replay => replay.to_vec(),
        };
        for plan in &plans {
            tried.run(plan)?;
            summary.count(plan);
            if time.is_some_and(|time| began.elapsed() > time) {
                return Ok(summary);
            }
        }
        if time.is_none() || plans.is_empty() {
            break;
        }
    }
    Ok(summary)
}

/// An operator, and what it does without faults.
struct Tried<'a> {
    scenario: Arc<Scenario>,
    reference: Reference,
    seed: u64,
    test: Option<&'a str>,
}

impl Tried<'_> {
    /// Runs the history of a plan.
    fn run(&self, plan: &Plan) -> anyhow::Result<()> {
        let (history, finding) = self.checked(plan);
        let Some(finding) = finding else {
            return Ok(());
        };
        let (plan, history, finding) = self.shrunk(plan.clone(), history, finding);
        Err(self.error(&plan, &finding, &history))
    }

    fn checked(&self, plan: &Plan) -> (History, Option<Finding>) {
        let history = history::run(&self.scenario, plan, self.seed);
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

impl Summary {
    fn count(&mut self, plan: &Plan) {
        self.histories += 1;
        for fault in &plan.0 {
            *self.patterns.entry(fault.what.pattern()).or_default() += 1;
        }
    }
}

/// The history without faults. What differs in another one, at another time and with other random numbers, is ignored.
fn reference(scenario: &Arc<Scenario>, seed: u64) -> (Reference, Vec<String>) {
    let run = |seed| history::run(scenario, &Plan::default(), seed);
    let (mut ignored, mut notes) = (scenario.ignored.clone(), Vec::new());
    let first = run(seed);
    if first.broken.is_some() {
        let reference = Reference {
            history: first,
            ignored,
        };
        return (reference, notes);
    }
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

/// Reads a plan.
pub(super) fn plan_of(text: &str) -> anyhow::Result<Plan> {
    let plan: Result<Plan, _> = text.parse();
    plan.map_err(|error| {
        anyhow::anyhow!(
            "{error}\nhelp: `{VARIABLE}` is a plan, as a failure prints it, or a time such as `10m`"
        )
    })
}

/// A time such as `90s`, `10m` or `2h`.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    Some(Duration::from_secs(number * seconds))
}
