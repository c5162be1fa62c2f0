//! Runs the histories of a simulation, and checks them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{IsTerminal as _, Write as _, stderr},
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::{Duration, Instant},
};

use manager::harness::{Controllers, ReconciledKind};
use serde_json::Value;
use tokio::runtime::Builder;

use super::{
    comparison::Comparison,
    failure::Failure,
    history_run,
    plan::Plan,
    project::{self, Project},
    scenario::{Operator, Scenario, Settings},
    unchecked::unchecked,
};
use crate::{
    FakeApi,
    fake::conversions,
    server::{Configured, Conversions, Kinds, Path},
};

/// The environment variable with a plan to replay, or the time to go on for.
pub(super) const VARIABLE: &str = "KBR_SIMULATE";

/// What a simulation has tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of histories, that without faults included.
    pub histories: usize,
    /// How many had a fault of each pattern.
    pub patterns: BTreeMap<&'static str, usize>,
    /// What the author should know.
    pub notes: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns = self.patterns.iter();
        let patterns: Vec<_> = patterns.map(|(name, n)| format!("{name} {n}")).collect();
        write!(f, "{} histories: {}", self.histories, patterns.join(", "))?;
        self.notes
            .iter()
            .try_for_each(|note| write!(f, "\nnote: {note}"))
    }
}

/// Runs all histories until one fails: then with its story, which names the `test`. `asked` is the value of the variable.
pub(super) fn all(
    scenario: Scenario,
    settings: &Settings,
    test: Option<&str>,
    asked: Option<&str>,
) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    let run = || tried(scenario, settings, test, asked, &mut summary);
    let ended = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let panic = history_run::first_panic().unwrap_or_default();
        let why = format!("the simulation itself panicked, or a step of its user: {panic}");
        Err(Failure::unable(&why))
    });
    match ended {
        Ok(()) => Ok(summary),
        Err(failure) => Err(Failure {
            histories: summary.histories + failure.histories,
            ..failure
        }),
    }
}

/// Runs all histories until one fails, and counts those that do not.
fn tried(
    scenario: Scenario,
    settings: &Settings,
    test: Option<&str>,
    asked: Option<&str>,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let time = asked.and_then(duration);
    let replay = if let Some(asked) = asked.filter(|_| time.is_none()) {
        vec![plan_of(asked)?]
    } else {
        let pinned = settings.replay.iter().map(|plan| plan_of(plan));
        pinned.collect::<Result<_, _>>()?
    };
    let (scenario, notes) = prepared(scenario).map_err(|error| Failure::unable(&error))?;
    summary.notes = notes;
    let comparison = Comparison::new(Arc::new(scenario), settings.seed, test, &mut summary.notes);
    comparison.check_reference(&Plan::default())?;
    summary.histories = 1;
    if replay.is_empty() {
        try_all(&comparison, settings, time, summary)?;
    }
    for plan in &replay {
        comparison.run(plan)?;
        summary.count(plan);
    }
    summary.notes.extend(comparison.rejected());
    let rules = comparison.scenario.kinds.unevaluated().into_iter();
    let notes = rules.map(|(rule, name)| format!("the rule `{rule}` of {name} is not evaluated"));
    summary.notes.extend(notes);
    let conditions = comparison.scenario.webhooks.iter();
    let conditions: BTreeSet<_> = conditions.flat_map(Configured::unevaluated).collect();
    let without = if cfg!(feature = "cel") {
        ""
    } else {
        ", without the feature `cel` of kbr-testing"
    };
    let notes = conditions.iter();
    let notes = notes
        .map(|it| format!("the match condition `{it}` of a webhook is not evaluated{without}"));
    summary.notes.extend(notes);
    Ok(())
}

/// Runs the histories that follow from the one without faults: so many, or for this time.
fn try_all(
    comparison: &Comparison<'_>,
    settings: &Settings,
    time: Option<Duration>,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let (began, wanted) = (Instant::now(), settings.histories.saturating_sub(1));
    let is_over = || time.is_some_and(|time| began.elapsed() > time);
    let mut progress = time.map(Progress::begin);
    let (mut done, mut left) = (Vec::new(), 0);
    for round in 0.. {
        let plans = comparison.plans(settings.seed + round, wanted);
        if round == 0 {
            left = plans.singles;
        }
        for plan in &plans.chosen {
            comparison.run(plan)?;
            summary.count(plan);
            if let Some(progress) = &mut progress {
                progress.show(comparison.test, summary.histories);
            }
            done.push(plan.clone());
            if is_over() {
                break;
            }
        }
        if time.is_none() || plans.chosen.is_empty() || is_over() {
            break;
        }
    }
    let left = left.saturating_sub(done.len());
    if left > 0 {
        let more = format!("{left} more faults are tried with more `.histories(…)`");
        summary.notes.push(more);
    }
    let unreached = comparison.unreached(&done, &summary.patterns);
    summary.notes.extend(unreached);
    Ok(())
}

/// Adds what the project of the test says, and notes what the author should know.
fn prepared(mut scenario: Scenario) -> anyhow::Result<(Scenario, Vec<String>)> {
    let project = Project::of_test()?;
    let mut notes: Vec<String> = project::note_without_cargo(&project).into_iter().collect();
    scenario.crds.splice(0..0, project.definitions.clone());
    scenario.kinds = Kinds::read(&scenario.crds);
    if scenario.permissions.is_none() {
        scenario.permissions.clone_from(&project.permissions);
    }
    scenario.webhooks.clone_from(&project.webhooks);
    let (kinds, conversions) = registered(&scenario)?;
    scenario.conversions = conversions;
    let api = scenario.api();
    if scenario.objects.is_empty() {
        for (path, object) in project.samples_of(&kinds) {
            add_sample(&mut scenario, &api, &kinds, path, object, &mut notes);
        }
    }
    for (path, _) in &mut scenario.objects {
        *path = api.change_quietly(|objects| objects.stored_path(path));
    }
    anyhow::ensure!(
        !scenario.objects.is_empty(),
        "nothing to simulate: the project has no sample of the controllers' kinds\n\
         help: `.object(&captain)` adds an object that the user creates"
    );
    notes.extend(scenario.crds.iter().filter_map(unchecked));
    for (pattern, reason) in &scenario.skipped {
        notes.push(format!("`{pattern}` is not tried: {reason}"));
    }
    for (oracle, reason) in &scenario.without {
        notes.push(format!("{oracle:?} is not checked: {reason}"));
    }
    Ok((scenario, notes))
}

/// Adds a sample to what the user creates, unless no controller would see it.
fn add_sample(
    scenario: &mut Scenario,
    api: &FakeApi,
    kinds: &[ReconciledKind],
    path: Path,
    object: Value,
    notes: &mut Vec<String>,
) {
    let stored_at = api.change_quietly(|objects| objects.stored_path(&path));
    let mut kinds = kinds.iter();
    if !kinds.any(|kind| *kind.api_version == *stored_at.api_version()) {
        let version = path.version();
        let why = format!("no conversion from {version} is registered");
        notes.push(format!("the sample {path} is left out: {why}"));
        return;
    }
    notes.push(format!("the user creates the sample {path}"));
    let at = path.clone();
    let create = move |api: &FakeApi| api.write(&at, object.clone());
    scenario.objects.push((path, Arc::new(create)));
}

/// The kinds that the operator's controllers reconcile, and its conversions.
fn registered(scenario: &Scenario) -> anyhow::Result<(Vec<ReconciledKind>, Option<Conversions>)> {
    let Operator::Manager(register) = &scenario.operator else {
        return Ok((Vec::new(), None));
    };
    let runtime = Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut manager = FakeApi::new().manager();
        register(&mut manager);
        let kinds = Controllers::of(&manager)?.kinds();
        Ok((kinds, conversions(&manager)))
    })
}

impl Summary {
    fn count(&mut self, plan: &Plan) {
        self.histories += 1;
        for fault in &plan.0 {
            *self.patterns.entry(fault.what.pattern()).or_default() += 1;
        }
    }
}

/// Reads a plan.
pub(super) fn plan_of(text: &str) -> Result<Plan, Failure> {
    let plan: Result<Plan, _> = text.parse();
    plan.map_err(|error| {
        let help =
            format!("`{VARIABLE}` is a plan, as a failure prints it, or a time such as `10m`");
        Failure::unable(&format!("{error}\nhelp: {help}"))
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

/// How often it is shown.
const PERIOD: Duration = Duration::from_millis(500);

/// The line that says how far a run is. It vanishes when this is dropped.
struct Progress {
    time: Duration,
    began: Instant,
    /// When it was shown last; `None` before.
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    /// The progress of a run that goes on for so long.
    fn begin(time: Duration) -> Self {
        Self {
            time,
            began: Instant::now(),
            shown: None,
            is_terminal: stderr().is_terminal(),
        }
    }

    /// Shows how many histories were tried, now and then.
    fn show(&mut self, test: Option<&str>, histories: usize) {
        if !self.is_terminal || self.shown.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.shown = Some(Instant::now());
        let line = line(test, histories, self.began.elapsed(), self.time);
        // Not by a macro, whose output a test keeps to itself. If it cannot be shown, nothing is lost.
        let _ = write!(stderr(), "\r\x1b[2K{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }
}

fn line(test: Option<&str>, histories: usize, spent: Duration, time: Duration) -> String {
    let test = test.map(|test| format!("{test}: ")).unwrap_or_default();
    let (spent, time) = (spent.as_secs(), time.as_secs());
    format!("{test}{histories} histories, {spent} s of {time} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let seconds = Duration::from_secs;
        let text = line(Some("captains"), 12, seconds(3), seconds(600));
        assert_eq!(text, "captains: 12 histories, 3 s of 600 s");
    }
}
