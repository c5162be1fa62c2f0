//! What must hold at the end of a history.

use serde_json::Value;

use super::{
    history::History,
    plan::{Plan, What},
    scenario::{Oracle, Scenario},
    state::{self, Difference, State, differences},
};

/// What the state of the history without faults is, and the other one.
const EXPECTED: [&str; 2] = ["expected", "found"];

/// How many differences a report shows.
const SHOWN: usize = 8;

/// The history that all others are compared with.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) history: History,
    /// What differs between two histories without faults, and what the author ignores.
    pub(super) ignored: Vec<String>,
}

/// What is wrong with a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) oracle: Oracle,
    pub(super) what: String,
    /// Expected and found.
    pub(super) details: Vec<String>,
    /// How many events had happened; all, if it was found at the end.
    pub(super) until: Option<usize>,
}

/// What is wrong with a history without faults.
pub(super) fn check_reference(scenario: &Scenario, reference: &Reference) -> Option<Finding> {
    let history = &reference.history;
    let left = || {
        let (before, gone) = (&history.before, &history.gone);
        let left = gone.keys().filter(|title| !before.contains_key(*title));
        let is_lost = |title: &&String| {
            !gone.contains_key(*title) && !history.deleted_by_user.contains(title)
        };
        let lost = before.keys().filter(is_lost);
        let left = left.map(|title| format!("left: {title}"));
        let lost = lost.map(|title| format!("missing, but existed before: {title}"));
        let what = "after the deletion, the objects are not those from before the creation";
        finding(Oracle::NothingLeft, what, left.chain(lost).collect())
    };
    alone(scenario, history)
        .or_else(|| chosen(scenario, left()))
        .or_else(|| chosen(scenario, stability(history)))
        .or_else(|| chosen(scenario, errors(history, &[])))
        .or_else(|| chosen(scenario, current(history)))
        .map(|found| explained(found, history, &History::default()))
}

/// What is wrong with a history.
pub(super) fn check(
    scenario: &Scenario,
    reference: &Reference,
    plan: &Plan,
    history: &History,
) -> Option<Finding> {
    let is_early = |step: &usize| !reference.history.idle_steps.contains(step);
    // A step that changes nothing here, and something in its turn, came before what it needs.
    if !history.misplaced_steps.is_empty() || history.idle_steps.iter().any(is_early) {
        return None;
    }
    alone(scenario, history)
        .or_else(|| {
            // What happens too late may rightly be skipped.
            if plan.is_late() {
                return chosen(scenario, stability(history));
            }
            compared(scenario, reference, plan, history)
        })
        .map(|found| explained(found, history, &reference.history))
        .map(|found| with_unwatched(found, plan, &reference.history))
}

/// Adds that the operator does not watch what someone has changed by hand.
fn with_unwatched(mut found: Finding, plan: &Plan, reference: &History) -> Finding {
    let touched: Vec<_> = plan.at(0).filter_map(What::child).collect();
    let children = reference.children.iter();
    let children = children.filter(|child| touched.contains(&&*child.url));
    for kind in children.map(|child| &child.kind) {
        if !reference.kinds.contains(kind) {
            let help = format!("help: the operator does not watch {kind}: `.owns(…)` does");
            found.details.push(help);
        }
    }
    found
}

/// What is wrong with a history, compared with the one without faults.
fn compared(
    scenario: &Scenario,
    reference: &Reference,
    plan: &Plan,
    history: &History,
) -> Option<Finding> {
    let wanted = &reference.history;
    let ignored = &reference.ignored;
    // What depends on an object that was there before may rightly differ without it.
    let is_lost = plan.has_vanished() && !history.world_deleted.is_empty();
    None.or_else(|| {
        let is_late = plan.has_other_actions() || plan.has_replicas();
        if is_late && scenario.period.is_some() || is_lost || history.has_expired {
            return None;
        }
        chosen(scenario, at_rest(reference, plan, history))
    })
    .or_else(|| chosen(scenario, ownership(history)))
    .or_else(|| chosen(scenario, namesakes(reference, history)))
    .or_else(|| chosen(scenario, current(history)))
    .or_else(|| chosen(scenario, nothing_left(wanted, history, ignored)))
    .or_else(|| chosen(scenario, stability(history)))
    .or_else(|| {
        if plan.deletes_world() || is_lost {
            return None;
        }
        chosen(scenario, errors(history, &wanted.failing))
    })
    .or_else(|| {
        let is_late = plan.has_replicas() && scenario.period.is_some();
        if plan.has_other_actions() || is_late || !lasts_as_long(scenario, wanted, history) {
            return None;
        }
        chosen(scenario, counts(wanted, history))
    })
}

/// Whether an operator on a schedule has had as many times to act: faults delay the moments at which histories are compared.
fn lasts_as_long(scenario: &Scenario, wanted: &History, history: &History) -> bool {
    scenario.period.is_none_or(|period| {
        let periods = |history: &History| {
            let end = history.events.last().map(|event| event.after.as_millis());
            end.unwrap_or_default() / period.as_millis()
        };
        periods(wanted) == periods(history)
    })
}

/// The first state at rest that differs from that without faults.
fn at_rest(reference: &Reference, plan: &Plan, history: &History) -> Option<Finding> {
    // What the user could not write is not in the state.
    if history.deleted_early || history.rejected != reference.history.rejected {
        return None;
    }
    let wanted = &reference.history.states;
    let found: Vec<_> = history.states.iter().zip(&history.seen).collect();
    let pairs: Vec<_> = match plan.undone() {
        // Before the first step there is the state after the creation.
        Some(step) => wanted
            .get(step - 1)
            .zip(found.last().copied())
            .into_iter()
            .collect(),
        // A step that was taken early has no state at rest of its own.
        None if wanted.len() != found.len() || plan.has_other_actions() => wanted
            .last()
            .zip(found.last().copied())
            .into_iter()
            .collect(),
        None => wanted.iter().zip(found).collect(),
    };
    let (what, ways) = if plan.is_another_way() {
        // Neither is right by itself.
        let what = "two ways to the same specs end in different states";
        (what, ["after one step at a time", "at once"])
    } else {
        let what = "at rest, the state differs from that without faults";
        (what, EXPECTED)
    };
    pairs.into_iter().find_map(|(wanted, (found, &seen))| {
        let all = differences(wanted, found, &reference.ignored);
        let lines = all.iter().map(|(title, one)| shown(title, one, ways));
        let mut finding = finding(Oracle::FinalState, what, lines.collect())?;
        finding.until = Some(seen);
        Some(finding)
    })
}

/// What can be seen without a comparison.
fn alone(scenario: &Scenario, history: &History) -> Option<Finding> {
    let broken = history.broken.as_ref().map(|(oracle, what)| Finding {
        oracle: *oracle,
        what: what.clone(),
        details: Vec::new(),
        until: None,
    });
    let panics = (history.panics > 0).then(|| Finding {
        oracle: Oracle::Panics,
        what: format!("{} reconciles panicked", history.panics),
        details: history.panicked.iter().cloned().collect(),
        until: None,
    });
    let denied = history.denied.as_ref().map(|what| Finding {
        oracle: Oracle::Permissions,
        what: what.clone(),
        details: vec![
            "help: add the comment to the controller, and run `make manifests`".to_owned(),
        ],
        until: None,
    });
    chosen(scenario, denied)
        .or_else(|| chosen(scenario, panics))
        .or_else(|| chosen(scenario, broken))
}

/// A finding, unless its oracle is switched off.
fn chosen(scenario: &Scenario, found: Option<Finding>) -> Option<Finding> {
    found.filter(|found| !scenario.without.contains_key(&found.oracle))
}

fn finding(oracle: Oracle, what: &str, mut details: Vec<String>) -> Option<Finding> {
    if details.is_empty() {
        return None;
    }
    let more = details.len().saturating_sub(SHOWN);
    details.truncate(SHOWN);
    if more > 0 {
        details.push(format!("and {more} more"));
    }
    Some(Finding {
        oracle,
        what: what.to_owned(),
        details,
        until: None,
    })
}

/// The reconciles that fail at rest, apart from those of the objects that are known to fail.
fn errors(history: &History, known: &[String]) -> Option<Finding> {
    let new = history.failing.iter().filter(|key| !known.contains(key));
    let lines = new.map(|key| failure(history, key)).collect();
    finding(Oracle::Errors, "at rest, reconciles fail", lines)
}

/// Which reconcile failed at rest, and why.
pub(super) fn failure(history: &History, key: &str) -> String {
    let error = history.errors_at_rest.get(key).map(String::as_str);
    line(key, error.unwrap_or("it asks to be repeated at once"))
}

fn line(key: &str, error: &str) -> String {
    format!("fails: {key}: {error}")
}

/// Adds the errors of reconciles that did not fail in the other history: one of them may be the cause.
fn explained(mut found: Finding, history: &History, other: &History) -> Finding {
    let (errors, known) = match found.oracle {
        Oracle::Ownership | Oracle::FinalState | Oracle::Stable | Oracle::Counts => {
            (&history.errors_at_rest, &other.errors_at_rest)
        }
        Oracle::Runs | Oracle::Leads | Oracle::Idle | Oracle::Always | Oracle::NothingLeft => {
            (&history.errors_at_end, &other.errors_at_end)
        }
        Oracle::Current | Oracle::Errors | Oracle::Panics | Oracle::Permissions => return found,
    };
    let new = errors.iter().filter(|(key, _)| !known.contains_key(*key));
    let lines = new.map(|(key, error)| line(key, error));
    found.details.extend(lines.take(SHOWN));
    found
}

/// Objects with the same names in another namespace, and those of the user, leave each other alone.
fn namesakes(reference: &Reference, history: &History) -> Option<Finding> {
    let seen = history.namesakes.as_ref()?;
    let beside = "an object of the same name in another namespace changes the state";
    let after = "the deletion of an object changes what belongs to one of the same name in another namespace";
    // What they had to share, one of them has alone then: only what is gone counts.
    let kept = seen.before.iter();
    let kept = kept.filter(|(title, _)| seen.after.contains_key(*title));
    let kept: State = kept
        .map(|(title, it)| (title.clone(), it.clone()))
        .collect();
    let pairs = [
        (beside, &seen.alone, &seen.beside),
        (after, &seen.before, &kept),
        (after, &seen.again, &seen.whole),
    ];
    pairs.into_iter().find_map(|(what, wanted, found)| {
        compare(Oracle::FinalState, what, wanted, found, &reference.ignored)
    })
}

/// Custom resources whose status is of another generation, at rest: who waits for it waits for ever.
fn current(history: &History) -> Option<Finding> {
    let of_state = |state: &State| {
        let stale = state.iter().filter(|(_, object)| {
            let group = object["apiVersion"].as_str().unwrap_or_default();
            let is_custom = group.contains('.') && !group.contains(".k8s.io/");
            is_custom && object["status"]["observedGeneration"] == state::OLDER
        });
        let lines = stale.map(|(title, _)| format!("{title} /status/observedGeneration is older"));
        let what = "at rest, the status is of an older generation";
        finding(Oracle::Current, what, lines.collect())
    };
    history.states.iter().find_map(of_state)
}

fn ownership(history: &History) -> Option<Finding> {
    let what = "the operator changes what others own";
    finding(Oracle::Ownership, what, history.taken.clone())
}

fn stability(history: &History) -> Option<Finding> {
    let writes = history.unstable.iter().map(ToString::to_string).collect();
    let what = "at rest, reconciling again changes something";
    finding(Oracle::Stable, what, writes)
}

fn compare(
    oracle: Oracle,
    what: &str,
    wanted: &State,
    found: &State,
    ignored: &[String],
) -> Option<Finding> {
    let all = differences(wanted, found, ignored);
    let lines = all.iter().map(|(title, one)| shown(title, one, EXPECTED));
    finding(oracle, what, lines.collect())
}

/// An object that may be missing, and differ, must not be left. What the operator has not come to change is as it was.
fn nothing_left(wanted: &History, history: &History, ignored: &[String]) -> Option<Finding> {
    let (found, before) = (&history.gone, &history.before);
    let what = "after the deletion, the state differs from that without faults";
    // The user had no time to delete it.
    let is_open = |title: &String| history.deleted_early && wanted.deleted_by_user.contains(title);
    let left = found
        .keys()
        .filter(|title| !wanted.gone.contains_key(*title) && !is_open(title));
    let left: Vec<_> = left.map(|title| format!("left: {title}")).collect();
    if !left.is_empty() {
        return finding(Oracle::NothingLeft, what, left);
    }
    let is_untouched = |title: &String| {
        let state = before.get(title);
        history.deleted_early && state.is_some() && state == found.get(title)
    };
    let all = differences(&wanted.gone, found, ignored).into_iter();
    let is_judged = |title: &String| {
        !is_untouched(title) && !is_open(title) && !history.world_deleted.contains(title)
    };
    let all = all.filter(|(title, _)| is_judged(title));
    let lines = all
        .map(|(title, one)| shown(&title, &one, EXPECTED))
        .collect();
    finding(Oracle::NothingLeft, what, lines)
}

fn shown(title: &str, one: &Difference, [wanted, seen]: [&str; 2]) -> String {
    let text = |value: &Option<Value>| match value {
        Some(value) => {
            let text = value.to_string();
            match text.char_indices().nth(80) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text,
            }
        }
        None => "nothing".to_owned(),
    };
    match (&one.expected, &one.found) {
        (Some(_), None) if one.pointer.is_empty() && wanted == EXPECTED[0] => {
            format!("missing: {title}")
        }
        (None, Some(_)) if one.pointer.is_empty() && wanted == EXPECTED[0] => {
            format!("left: {title}")
        }
        (Some(_), None) if one.pointer.is_empty() => format!("only {wanted}: {title}"),
        (None, Some(_)) if one.pointer.is_empty() => format!("only {seen}: {title}"),
        (expected, found) => format!(
            "{title} {}: {wanted} {}, {seen} {}",
            one.pointer,
            text(expected),
            text(found)
        ),
    }
}

fn counts(wanted: &History, history: &History) -> Option<Finding> {
    let mut lines = Vec::new();
    let titles: std::collections::BTreeSet<_> =
        wanted.counts.keys().chain(history.counts.keys()).collect();
    for title in titles {
        let count = |history: &History| history.counts.get(title).copied().unwrap_or_default();
        let (wanted, found) = (count(wanted), count(history));
        for (at, verb) in ["created", "deleted"].into_iter().enumerate() {
            if wanted[at] != found[at] {
                lines.push(format!(
                    "{title}: {verb} {} times instead of {}",
                    found[at], wanted[at]
                ));
            }
        }
    }
    let what = "objects were created or deleted more or less often than without faults";
    finding(Oracle::Counts, what, lines)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::super::trace::{Event, Happened};
    use super::*;

    const NODE: &str = "Node a";

    fn history(before: &[bool], gone: &[bool]) -> History {
        let state = |labels: &[bool]| {
            let node = |is: &bool| (NODE.to_owned(), json!({ "isLabeled": is }));
            labels.iter().map(node).collect()
        };
        History {
            before: state(before),
            gone: state(gone),
            deleted_early: true,
            ..History::default()
        }
    }

    #[test]
    fn what_is_done_on_schedule_is_counted_only_in_as_many_periods() {
        let scenario = |period| Scenario {
            period,
            ..crate::simulate(|_| {}).scenario
        };
        let lasting = |seconds: u64| History {
            events: vec![Event {
                after: Duration::from_secs(seconds),
                what: Happened::Idle,
            }],
            ..History::default()
        };
        let minute = scenario(Some(Duration::from_secs(60)));
        assert!(lasts_as_long(&minute, &lasting(610), &lasting(640)));
        assert!(!lasts_as_long(&minute, &lasting(610), &lasting(930)));
        assert!(lasts_as_long(&scenario(None), &lasting(610), &lasting(930)));
    }

    #[test]
    fn an_object_that_may_be_missing_must_not_be_left() {
        let check = |wanted: &[bool], found: &[bool]| {
            let (wanted, found) = (history(&[], wanted), history(&[], found));
            nothing_left(&wanted, &found, &[NODE.to_owned()]).map(|found| found.details)
        };
        assert_eq!(check(&[true], &[]), None);
        let left = vec![format!("left: {NODE}")];
        assert_eq!(check(&[], &[true]), Some(left));
    }

    #[test]
    fn after_an_early_deletion_an_object_is_as_it_was_or_as_without_faults() {
        let wanted = history(&[false], &[true]);
        let check = |found: &History| nothing_left(&wanted, found, &[]).is_none();
        assert!(check(&history(&[false], &[true])));
        assert!(check(&history(&[false], &[false])));
        assert!(!check(&history(&[false], &[])));
        let late = History {
            deleted_early: false,
            ..history(&[false], &[false])
        };
        assert!(!check(&late));
    }
}
