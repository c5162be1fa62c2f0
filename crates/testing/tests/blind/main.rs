//! A blind trial: who wrote these thirty operators and their bugs knew only the documentation of the simulation.
//!
//! `cargo test -p kbr-testing --features simulate --test blind -- --ignored --nocapture obvious` tries a level, and
//! prints each story, a table, and how many bugs were found.

mod kinds;
mod medium;
mod nasty;
mod obvious;

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use kbr_testing::Simulation;

/// An operator with a bug, and its repaired twin.
struct Case {
    name: &'static str,
    /// What the bug is.
    bug: &'static str,
    /// What a story has to name, to have found the bug and not something else.
    story: &'static str,
    buggy: fn() -> Simulation,
    twin: fn() -> Simulation,
}

/// The story of a simulation; `None` if it is silent.
type Story = Option<String>;

#[test]
#[ignore = "it takes minutes"]
fn obvious() {
    try_all(&obvious::cases());
}

#[test]
#[ignore = "it takes minutes"]
fn medium() {
    try_all(&medium::cases());
}

#[test]
#[ignore = "it takes minutes"]
fn nasty() {
    try_all(&nasty::cases());
}

/// Tries all cases, whatever comes of them, and prints a table.
fn try_all(cases: &[Case]) {
    let tried: Vec<_> = cases.iter().map(|case| (case, try_one(case))).collect();
    println!("\nname | found? | first line of the story | after | twin");
    for (case, (buggy, twin)) in &tried {
        let found = if is_found(buggy, twin) { "yes" } else { "NO" };
        let after = buggy.as_deref().map_or("-", after);
        println!(
            "{} | {found} | {} | {after} | {}",
            case.name,
            first_line(buggy),
            first_line(twin)
        );
        println!("    bug: {}", case.bug);
        println!("    has to name: {}", case.story);
    }
    let outcomes = || tried.iter().map(|(_, outcome)| outcome);
    let found = outcomes().filter(|(buggy, twin)| is_found(buggy, twin));
    let alarms = outcomes().filter(|(_, twin)| twin.is_some());
    let (found, alarms, all) = (found.count(), alarms.count(), cases.len());
    println!("found {found} of {all}, false alarms {alarms} of {all}");
}

/// The stories of an operator and of its twin.
fn try_one(case: &Case) -> (Story, Story) {
    let buggy = story(case.buggy);
    println!("\n=== {}, with the bug ===\n{}", case.name, shown(&buggy));
    let twin = story(case.twin);
    println!("\n=== {}, repaired ===\n{}", case.name, shown(&twin));
    (buggy, twin)
}

fn story(scenario: fn() -> Simulation) -> Story {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let checked = scenario().check();
        checked.err().map(|story| story.to_string())
    }));
    checked.unwrap_or_else(|panic| Some(format!("the simulation panics: {}", message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("of something")
}

fn shown(story: &Story) -> &str {
    story.as_deref().unwrap_or("silent")
}

fn first_line(story: &Story) -> &str {
    shown(story).lines().next().unwrap_or_default()
}

/// A twin of the same story was not repaired, or the story is about something else.
fn is_found(buggy: &Story, twin: &Story) -> bool {
    let (buggy, twin) = (buggy.as_deref().map(what), twin.as_deref().map(what));
    buggy.is_some() && buggy != twin
}

/// What is wrong, without how it came about.
fn what(story: &str) -> Vec<&str> {
    let is_before = |line: &&str| {
        !line.starts_with("how it came about") && !line.starts_with("without any fault")
    };
    story.lines().take_while(is_before).collect()
}

/// After how many histories the bug was found, as far as the story says so; otherwise the plan of its history.
fn after(story: &str) -> &str {
    let said = story.lines().find(|line| line.contains(" histor"));
    let replay = || story.lines().find(|line| line.starts_with("replay:"));
    said.or_else(replay).unwrap_or("without any fault").trim()
}
