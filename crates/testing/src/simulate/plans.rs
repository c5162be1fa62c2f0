//! The plans to try: first one fault at each place where the reference history shows that it can matter, then pairs, then random ones.

use std::time::Duration;

use super::{
    faults::{Failover, Refusal},
    history::{Child, History},
    plan::{Fault, Plan, What},
    scenario::Scenario,
    trace,
};
use crate::random::Random;

/// How many histories have random delays and nothing else.
const LATENCIES: u64 = 8;

/// The plans to try.
pub(super) struct Plans {
    /// First those that the history without faults suggests.
    pub(super) chosen: Vec<Plan>,
    /// How many it suggests, also if they are too many.
    pub(super) singles: usize,
}

/// The plans for an operator with this history, whose specs have so many other `changes`, the most telling first. They are as many as
/// wanted, and have no fault of a pattern that the scenario leaves out.
pub(super) fn of(
    reference: &History,
    changes: usize,
    seed: u64,
    wanted: usize,
    scenario: &Scenario,
) -> Plans {
    let mut patterns = systematic(reference, scenario);
    patterns.extend(explored(changes));
    let is_skipped = |fault: &Fault| scenario.skipped.contains_key(fault.what.pattern());
    for plans in &mut patterns {
        plans.retain(|Plan(faults)| !faults.iter().any(is_skipped));
        plans.reverse();
    }
    let mut singles = Vec::new();
    // Each pattern gets its turn, so that none is left out if there are too many.
    while patterns.iter().any(|pattern| !pattern.is_empty()) {
        for pattern in &mut patterns {
            singles.extend(pattern.pop());
        }
    }
    let mut plans = singles.clone();
    plans.truncate(wanted);
    let mut random = Random::new(seed);
    // Some pairs are no plan, or were tried before.
    for _ in 0..wanted * 4 {
        if plans.len() >= wanted || singles.len() < 2 {
            break;
        }
        let mut one = || singles[random.below(singles.len())].0.clone();
        let plan = Plan([one(), one()].concat());
        if is_sensible(&plan) && !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    Plans {
        chosen: plans,
        singles: singles.len(),
    }
}

/// Two ends of the objects, or the same fault twice, are no more than one.
fn is_sensible(Plan(faults): &Plan) -> bool {
    let ends = |fault: &&Fault| {
        matches!(
            fault.what,
            What::Delete
                | What::Recreate
                | What::Undo(_)
                | What::ChildDeleted(_)
                | What::ChildEdited(_)
                | What::ChildLabeled(_)
                | What::ChildScaled(_)
                | What::Expired(_)
                | What::Drift(_)
                | What::Vanish
                | What::VanishAtRead(_)
                | What::WorldEdited(_)
                | What::WorldDeleted(_)
                | What::Neighbour
                | What::Namesake
        )
    };
    let is = |wanted: fn(&What) -> bool| faults.iter().any(|fault| wanted(&fault.what));
    let steps = |what: &What| matches!(what, What::Step(_) | What::AtOnce);
    // Only a step that the user takes in its turn can be taken back.
    let undoes = is(|what| matches!(what, What::Undo(_))) && is(steps);
    let explored = faults
        .iter()
        .filter(|it| matches!(it.what, What::Explore(_)));
    let distinct = (1..faults.len()).all(|at| !faults[..at].contains(&faults[at]));
    distinct && !undoes && explored.count() < 2 && faults.iter().filter(ends).count() < 2
}

/// Plans by pattern.
fn systematic(reference: &History, scenario: &Scenario) -> Vec<Vec<Plan>> {
    let all = 1..=reference.writes;
    let each = |whats: &[What]| -> Vec<Plan> {
        let at = |what: &What| {
            let what = what.clone();
            all.clone().map(move |at| one(what.clone(), at))
        };
        whats.iter().flat_map(at).collect()
    };
    let kinds = |what: fn(String) -> What| -> Vec<What> {
        reference.kinds.iter().cloned().map(what).collect()
    };
    let at_rest =
        |whats: Vec<What>| -> Vec<Plan> { whats.into_iter().map(|what| one(what, 0)).collect() };
    let actions = actions(reference);
    let (vanished, vanished_at_reads) = vanished(reference, scenario);
    vec![
        at_rest(vec![What::Restart]),
        each(&[What::CrashAfter, What::CrashBefore]),
        [each(&Failover::ALL.map(What::Failover)), late(&actions)].concat(),
        refused(reference.writes),
        each(&[Refusal::Unanswered, Refusal::TimeoutApplied].map(What::Refused)),
        each(&[Refusal::Conflicts, Refusal::Conflict].map(What::Refused)),
        each(&kinds(What::Hold)),
        each(&kinds(What::Miss)),
        lagging(reference, &actions),
        alone(&actions),
        unseen(reference, &actions),
        unknown(reference, &actions),
        unconfirmed(reference),
        overlooked(reference, &actions),
        each(&[What::SlowRequest, What::SlowAnswer]),
        overtaken(&actions),
        trickling(reference, &actions),
        ended(&actions),
        vanished,
        vanished_at_reads,
        at_rest(by_hand(reference)),
        at_rest(owned_by_others(reference)),
        at_rest(written_back(reference)),
        at_rest(around(reference, scenario)),
        at_rest(at_once(reference)),
        at_rest(undone(reference)),
        behind(reference, scenario),
        each(&[What::Resync]),
        delayed(&actions),
        at_rest(latenesses(scenario.period).map(What::Late).into()),
    ]
}

/// The next process runs on a machine whose clock is behind. On a schedule, its times are others.
fn behind(reference: &History, scenario: &Scenario) -> Vec<Plan> {
    let writes = (1..=reference.writes).filter(|_| scenario.period.is_none());
    writes.map(|at| one(What::CrashBehind, at)).collect()
}

/// Each change of a spec, which is taken back, or made before the operator sees the object. These are three turns of each round: they find
/// the commonest bugs.
fn explored(changes: usize) -> [Vec<Plan>; 3] {
    let plans = |what: What| {
        let explored = (1..=changes).map(What::Explore);
        explored.map(move |it| two(it, what.clone(), 0))
    };
    let undone = || plans(What::Undo(1));
    [
        undone().step_by(2).collect(),
        undone().skip(1).step_by(2).collect(),
        plans(What::AtOnce).collect(),
    ]
}

/// The refusals of writes that are not stored, other than conflicts: each write is refused before any is refused in another way, and those
/// in a row are refused in different ways.
fn refused(writes: usize) -> Vec<Plan> {
    let all = Refusal::ALL.into_iter();
    let unstored: Vec<_> = all.filter(|one| one.unapplied().is_some()).collect();
    let count = unstored.len();
    let turns = (0..count).flat_map(|turn| (1..=writes).map(move |at| ((at + turn) % count, at)));
    turns
        .map(|(how, at)| one(What::Refused(unstored[how]), at))
        .collect()
}

fn one(what: What, at: usize) -> Plan {
    Plan(vec![Fault { what, at }])
}

fn two(a: What, b: What, at: usize) -> Plan {
    Plan(vec![Fault { what: a, at }, Fault { what: b, at }])
}

/// A list that is older than a write, in the same process and in the next one, or older than what the user does. Only if the
/// operator asks for such lists.
fn lagging(reference: &History, actions: &[Fault]) -> Vec<Plan> {
    if !reference.reads_old {
        return Vec::new();
    }
    let crash = |at| two(What::Lag, What::CrashAfter, at);
    let action = |Fault { what, at }: &Fault| two(What::Lag, what.clone(), *at);
    let writes = 1..=reference.writes;
    writes
        .map(crash)
        .chain(actions.iter().map(action))
        .collect()
}

/// What the user may do earlier than in the reference: at any write before the deletion, or before the step.
fn actions(reference: &History) -> Vec<Fault> {
    let ends = (1..=reference.alive).flat_map(|at| {
        let ends = [What::Delete, What::Recreate];
        ends.map(|what| Fault { what, at })
    });
    let mut from = 1;
    let steps = (1..).zip(&reference.steps).flat_map(|(step, before)| {
        let writes = from..=*before;
        from = before + 1;
        writes.map(move |at| Fault {
            what: What::Step(step),
            at,
        })
    });
    ends.chain(steps).collect()
}

fn steps_and_ends(actions: &[Fault]) -> (Vec<Fault>, Vec<Fault>) {
    let is_step = |action: &Fault| matches!(action.what, What::Step(_));
    actions.iter().cloned().partition(is_step)
}

fn alone(actions: &[Fault]) -> Vec<Plan> {
    let actions = actions.iter().cloned();
    actions.map(|action| Plan(vec![action])).collect()
}

/// The same, and then the process ends.
fn ended(actions: &[Fault]) -> Vec<Plan> {
    let end = |Fault { what, at }: &Fault| two(what.clone(), What::CrashAfter, *at);
    actions.iter().map(end).collect()
}

/// The same, while the operator does not see what happens to a kind.
fn unseen(reference: &History, actions: &[Fault]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for Fault { what, at } in actions {
        for kind in &reference.kinds {
            plans.push(two(What::Hold(kind.clone()), what.clone(), *at));
            plans.push(two(What::Miss(kind.clone()), what.clone(), *at));
        }
    }
    plans
}

/// The same, if the answer of the write is lost and the watch lags: the operator does not know what it has stored.
fn unknown(reference: &History, actions: &[Fault]) -> Vec<Plan> {
    let lost = |Fault { what, at }: &Fault| {
        let kind = trace::written(&reference.events, *at)?.to_owned();
        if !reference.kinds.contains(&kind) {
            return None;
        }
        let whats = [
            What::Hold(kind),
            What::Refused(Refusal::Unanswered),
            what.clone(),
        ];
        Some(Plan(whats.map(|what| Fault { what, at: *at }).into()))
    };
    actions.iter().filter_map(lost).collect()
}

/// A write whose answer is lost, while the operator does not see what happens to its kind.
fn unconfirmed(reference: &History) -> Vec<Plan> {
    let lost = |at| {
        let kind = trace::written(&reference.events, at)?.to_owned();
        let is_watched = reference.kinds.contains(&kind);
        let plan = two(What::Hold(kind), What::Refused(Refusal::Unanswered), at);
        is_watched.then_some(plan)
    };
    (1..=reference.writes).filter_map(lost).collect()
}

/// By how many seconds everything due is late. On a schedule, it is done halfway between two times.
fn latenesses(period: Option<Duration>) -> [u64; 2] {
    let period = period.map(|period| period.as_secs());
    period.map_or([90, 600], |period| [period * 3 / 2, period * 7 / 2])
}

/// What the user does while a request, or an answer, is on its way; the steps come first, because they differ most.
fn overtaken(actions: &[Fault]) -> Vec<Plan> {
    let (steps, ends) = steps_and_ends(actions);
    let slow = |Fault { what, at }: Fault| {
        [What::SlowRequest, What::SlowAnswer].map(|slow| two(slow, what.clone(), at))
    };
    steps.into_iter().chain(ends).flat_map(slow).collect()
}

/// Each state of a kind is seen, but late; what the user does early, or at once, is not coalesced.
fn trickling(reference: &History, actions: &[Fault]) -> Vec<Plan> {
    let kinds = reference.kinds.iter();
    let trickling: Vec<_> = kinds.cloned().map(What::Trickle).collect();
    let at_once = at_once(reference)
        .into_iter()
        .map(|what| Fault { what, at: 0 });
    let (steps, ends) = steps_and_ends(actions);
    let actions = at_once.chain(steps).chain(ends);
    let mut plans: Vec<_> = trickling.iter().map(|what| one(what.clone(), 0)).collect();
    for action in actions {
        for what in &trickling {
            let what = what.clone();
            plans.push(Plan(vec![Fault { what, at: 0 }, action.clone()]));
        }
    }
    plans
}

/// What the user does before the operator sees what it has written last of a kind, and what follows from that.
fn overlooked(reference: &History, actions: &[Fault]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for action in actions {
        // A rest of the history ends what is held back.
        let rests = reference.steps.iter();
        let rested = rests.filter(|rest| **rest < action.at).max().unwrap_or(&0);
        for kind in &reference.kinds {
            let writes = rested + 1..action.at;
            let is_of = |at: &usize| trace::written(&reference.events, *at) == Some(kind);
            let Some(at) = writes.rev().find(is_of) else {
                continue;
            };
            let held = Fault {
                what: What::Hold(kind.clone()),
                at,
            };
            plans.push(Plan(vec![held, action.clone()]));
        }
    }
    plans
}

/// What the user does while a write of the leader is on its way, which arrives after the next leader has answered that.
fn late(actions: &[Fault]) -> Vec<Plan> {
    let steps = actions.iter();
    let steps = steps.filter(|action| matches!(action.what, What::Step(_)));
    let late = What::Failover(Failover::LateWrite);
    steps
        .map(|Fault { what, at }| two(late.clone(), what.clone(), *at))
        .collect()
}

/// Random delays, and what the user does while requests are on their way.
fn delayed(actions: &[Fault]) -> Vec<Plan> {
    let alone = (1..=LATENCIES).map(|seed| one(What::Latency(seed), 0));
    let delay = |seed| Fault {
        what: What::Latency(seed),
        at: 0,
    };
    let seeds = (1..=LATENCIES).cycle();
    let acted = actions.iter().zip(seeds);
    let acted = acted.map(|(action, seed)| Plan(vec![delay(seed), action.clone()]));
    alone.chain(acted).collect()
}

/// All steps at once, if none of them needs what the operator does.
fn at_once(reference: &History) -> Vec<What> {
    let independent = reference.undoable.iter().all(|is_undoable| *is_undoable);
    let is_sensible = independent && !reference.undoable.is_empty();
    is_sensible.then_some(What::AtOnce).into_iter().collect()
}

/// The steps that the user can take back.
fn undone(reference: &History) -> Vec<What> {
    let steps = (1..).zip(&reference.undoable);
    let steps = steps.filter(|(_, is_undoable)| **is_undoable);
    steps.map(|(step, _)| What::Undo(step)).collect()
}

/// What the user may read and write back in another version.
fn written_back(reference: &History) -> Vec<What> {
    let paths = reference.versions.iter().cloned();
    paths.map(What::WriteBack).collect()
}

/// The children that the operator watches or applies: others it leaves to others.
fn kept(reference: &History) -> impl Iterator<Item = &Child> {
    let children = reference.children.iter();
    children.filter(|child| child.is_applied || reference.kinds.contains(&child.kind))
}

/// What someone may do by hand that the operator repairs. A Job or a Pod that has ended is removed by others as well, and need not come
/// back.
fn by_hand(reference: &History) -> Vec<What> {
    let drifts = (1..=reference.drifts.len()).map(What::Drift);
    let children = kept(reference).flat_map(|child| {
        let edited = child.owned.iter();
        let edited = edited.map(|field| What::ChildEdited(format!("{}#{field}", child.url)));
        let removed = if child.has_ended {
            What::Expired
        } else {
            What::ChildDeleted
        };
        [removed(child.url.clone())].into_iter().chain(edited)
    });
    children.chain(drifts).collect()
}

/// What others may own of the operator's objects.
fn owned_by_others(reference: &History) -> Vec<What> {
    let owned = |child: &Child| {
        let scaled = child
            .is_scalable
            .then(|| What::ChildScaled(child.url.clone()));
        scaled
            .into_iter()
            .chain([What::ChildLabeled(child.url.clone())])
    };
    kept(reference).flat_map(owned).collect()
}

/// Each write, and each read, of an object that is gone when it arrives, other than those of the user. What an operator does not
/// watch, it cannot repair.
fn vanished(reference: &History, scenario: &Scenario) -> (Vec<Plan>, Vec<Plan>) {
    let objects = scenario.objects.iter();
    let spared: Vec<_> = objects.map(|(path, _)| path.to_string()).collect();
    let is_meant = |kind: &str, object: &str| {
        let is_watched = reference.kinds.iter().any(|watched| watched == kind);
        is_watched && !spared.iter().any(|spared| spared == object)
    };
    let events = &reference.events;
    let writes = trace::writes(events).filter(|(at, action)| {
        let mut verbs = ["changes ", "deletes "].iter();
        let object = verbs.find_map(|verb| action.strip_prefix(verb));
        let kind = trace::written(events, *at).unwrap_or_default();
        object.is_some_and(|object| is_meant(kind, object))
    });
    let reads = trace::reads(events).filter(|(_, kind, object)| is_meant(kind, object));
    (
        writes.map(|(at, _)| one(What::Vanish, at)).collect(),
        reads
            .map(|(read, ..)| one(What::VanishAtRead(read), 0))
            .collect(),
    )
}

/// What others may do around the objects of the user: to what was there before the operator and that it reads, and beside them.
fn around(reference: &History, scenario: &Scenario) -> Vec<What> {
    let world = || reference.world.iter().cloned();
    let edited = world().map(What::WorldEdited);
    let deleted = world().map(What::WorldDeleted);
    // On a schedule, states at different times differ.
    let namesake = scenario.period.is_none().then_some(What::Namesake);
    [What::Neighbour]
        .into_iter()
        .chain(namesake)
        .chain(edited)
        .chain(deleted)
        .collect()
}
