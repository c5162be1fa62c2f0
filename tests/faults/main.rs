//! Commits that fail or are killed at each step and at any time.
//!
//! In every case the project has its old or its new state, at the latest after the next command that writes.

mod disk;
mod others;
mod project;
mod upgrade;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use project::{
    Project, Tree, create_api, init, kbr_create_api, kbr_delete_api, kbr_init, large_init, nothing,
    run, start, stderr,
};
use serde_json::Value;

/// Creates a fresh project, and the plan to apply to it.
type Case = (fn() -> Project, fn() -> Value);

/// Plans that cover all operations of a commit.
const PLANS: [Case; 2] = [(Project::grown, create_api), (Project::missing, init)];
/// The case with fewer steps, for tests whose time grows with their square.
const SHORT: Case = PLANS[0];
/// The commands of users.
const COMMANDS: [Case; 3] = [
    (Project::missing, kbr_init),
    (Project::initialized, kbr_create_api),
    (Project::with_kind, kbr_delete_api),
];

/// The project before and after its plan is applied.
fn outcomes((new, plan): Case) -> (Tree, Tree) {
    let project = new();
    let before = project.tree();
    let output = run(&project, &plan(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!project.has_commit());
    (before, project.tree())
}

fn reached(text: &str) -> bool {
    text.contains("fault at step")
}

/// Runs `check` with a fault at each step of the plan; it returns whether the step was reached. Returns the number of steps.
fn each_step(check: impl FnMut(usize) -> bool) -> usize {
    steps(1, check)
}

/// All cases, each with the distance between the steps that get a fault: 1, or `KBR_FAULT_STRIDE` for real commands, which repeat the
/// same few steps for many files. With a prime number, each file gets the fault at another of these steps.
fn cases() -> impl Iterator<Item = (Case, usize)> {
    let stride = std::env::var("KBR_FAULT_STRIDE");
    let stride = stride.map_or(7, |stride| stride.parse().unwrap());
    let plans = PLANS.into_iter().map(|case| (case, 1));
    plans.chain(COMMANDS.map(|case| (case, stride)))
}

fn steps(stride: usize, mut check: impl FnMut(usize) -> bool) -> usize {
    let steps = (1..10_000)
        .step_by(stride)
        .take_while(|&step| check(step))
        .count();
    assert!(
        steps * stride > 20,
        "only {steps} steps: is `kbr` built with the feature `faults`?"
    );
    steps
}

/// Every file is completely old or completely new, no old file is missing, and PROJECT changes last.
fn assert_nothing_lost(now: &Tree, before: &Tree, after: &Tree, context: &str) {
    for (path, old) in before {
        let new = now.get(path);
        assert!(
            new == Some(old) || new == after.get(path),
            "{context}: {path} is {new:?}"
        );
    }
    for (path, new) in now {
        assert!(
            before.get(path) == Some(new) || after.get(path) == Some(new),
            "{context}: {path} is {new:?}"
        );
    }
    let project = now.get("PROJECT");
    assert!(
        project == before.get("PROJECT") || now == after,
        "{context}: PROJECT is not the last"
    );
}

/// The next command that writes leaves exactly one of the two trees; returns whether it is the new one.
fn assert_ends(project: &Project, before: &Tree, after: &Tree, context: &str) -> bool {
    assert_nothing_lost(&project.tree(), before, after, context);
    let changed = project.tree() != *before && project.tree() != *after;
    let next = run(project, &nothing(), "");
    assert!(next.status.success(), "{context}: {}", stderr(&next));
    let reported = ["finished the changes", "reverted the changes"]
        .iter()
        .any(|what| stderr(&next).contains(what));
    assert!(
        reported || !changed,
        "{context}: the project changed without a message"
    );
    let now = project.tree();
    assert!(
        now == *after || now == *before,
        "{context}: {:?}",
        differences(&now, before, after)
    );
    assert!(!project.has_commit(), "{context}: `.kbr` still exists");
    now == *after
}

/// Each file that differs between the old and the new tree, and its current state.
fn differences<'a>(
    now: &'a Tree,
    before: &'a Tree,
    after: &'a Tree,
) -> BTreeMap<&'a String, &'static str> {
    let all = now.keys().chain(before.keys()).chain(after.keys());
    all.map(|path| {
        let what = match now.get(path) {
            None => "missing",
            it if it == before.get(path) && it == after.get(path) => "",
            it if it == before.get(path) => "as before",
            it if it == after.get(path) => "as after",
            Some(_) => "neither",
        };
        (path, what)
    })
    .filter(|(_, what)| !what.is_empty())
    .collect()
}

#[test]
fn an_error_at_any_step_leaves_the_old_or_the_new_project() {
    for (case, stride) in cases() {
        let (before, after) = outcomes(case);
        steps(stride, |step| {
            let project = case.0();
            let fault = if step % 2 == 0 { "error" } else { "full" };
            let output = run(&project, &case.1(), &format!("{step}:{fault}"));
            let (text, context) = (stderr(&output), format!("{fault} at {step}"));
            let written = output.status.success() || text.contains("everything was written");
            assert!(
                project.tree() == *if written { &after } else { &before },
                "{context}: {text}"
            );
            if !output.status.success() {
                assert!(text.contains("\nhelp: "), "{context}: {text}");
                let states = [
                    "nothing was written",
                    "everything was written",
                    "the project is unchanged",
                ];
                assert!(
                    states.iter().any(|state| text.contains(state)),
                    "{context}: {text}"
                );
            }
            assert_eq!(
                assert_ends(&project, &before, &after, &context),
                written,
                "{context}"
            );
            reached(&text)
        });
    }
}

#[test]
fn the_next_command_recovers_from_a_kill_at_any_step() {
    for (case, stride) in cases() {
        let (before, after) = outcomes(case);
        let mut finished = 0;
        let steps = steps(stride, |step| {
            let project = case.0();
            let output = run(&project, &case.1(), &format!("{step}:kill"));
            finished += usize::from(assert_ends(
                &project,
                &before,
                &after,
                &format!("kill at {step}"),
            ));
            reached(&stderr(&output))
        });
        assert!(
            finished > 5 && finished < steps,
            "{finished} of {steps} were finished"
        );
    }
}

#[test]
fn the_next_command_recovers_from_a_second_fault_during_a_reversal() {
    let (before, after) = outcomes(SHORT);
    let mut pairs = 0;
    each_step(|first| {
        let mut first_reached = false;
        for second in first + 1.. {
            let fault = format!(
                "{first}:error,{second}:{}",
                if pairs % 2 == 0 { "kill" } else { "error" }
            );
            let project = SHORT.0();
            let text = stderr(&run(&project, &SHORT.1(), &fault));
            assert_ends(&project, &before, &after, &fault);
            first_reached = reached(&text);
            if text.matches("fault at step").count() < 2 {
                break;
            }
            pairs += 1;
        }
        first_reached
    });
    assert!(pairs > 200, "only {pairs} pairs of faults");
}

#[test]
fn a_recovering_command_can_be_killed_at_any_step() {
    let (before, after) = outcomes(SHORT);
    let mut pairs = 0;
    each_step(|first| {
        for second in 1.. {
            let project = SHORT.0();
            let text = stderr(&run(&project, &SHORT.1(), &format!("{first}:kill")));
            if !reached(&text) {
                return false;
            }
            let action = if pairs % 2 == 0 { "kill" } else { "error" };
            let text = stderr(&run(&project, &nothing(), &format!("{second}:{action}")));
            assert_ends(
                &project,
                &before,
                &after,
                &format!("kill at {first}, {action} at {second} of the next"),
            );
            if !reached(&text) {
                break;
            }
            pairs += 1;
        }
        true
    });
    assert!(pairs > 200, "only {pairs} pairs of faults");
}

#[test]
fn the_next_command_recovers_from_a_real_kill_at_any_time() {
    let case: Case = (Project::missing, large_init);
    let (before, after) = outcomes(case);
    let started = Instant::now();
    outcomes(case);
    let whole = started.elapsed();
    let rounds = std::env::var("KBR_KILL_ROUNDS").map_or(60, |rounds| rounds.parse().unwrap());
    let mut ended = [0, 0];
    for round in 0..rounds {
        let project = case.0();
        let mut child = start(&project, &case.1(), "");
        // The kills are spread evenly over the duration of the command.
        std::thread::sleep(
            whole * round / rounds + Duration::from_micros(u64::from(round % 7) * 13),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        ended[usize::from(assert_ends(
            &project,
            &before,
            &after,
            &format!("round {round}"),
        ))] += 1;
    }
    println!("as before: {}, as after: {}", ended[0], ended[1]);
}
