//! Mutants of the examples: each has one bug that authors of operators make, and the simulation of the example must find it.
//!
//! `mutants/*.toml` lists them. All those of an example are compiled into one test binary, each as a module that is a copy of `src`.

use std::{fmt::Write as _, fs, path::Path};

use serde::Deserialize;

use super::{
    examples,
    place::place,
    project::{Project, before_a_release},
    support::{repository, tree, write},
};

#[derive(Deserialize)]
struct Mutants {
    /// The path of the example's simulation.
    test: String,
    mutant: Vec<Mutant>,
}

#[derive(Deserialize)]
struct Mutant {
    what: String,
    /// In `src`.
    file: String,
    /// What is replaced, which is in the file once.
    from: String,
    to: String,
    /// Why it is not found.
    missed: Option<String>,
}

impl Mutant {
    /// Copies the example's `src` into a module of it.
    fn plant(&self, project: &Path, module: &str) {
        let source = project.join("src");
        let mut is_planted = false;
        for (path, text) in tree(&source) {
            if is_mutant(&path) {
                continue;
            }
            let mut text = String::from_utf8(text).expect("Rust is UTF-8");
            if path == self.file {
                let from = self.from.trim();
                assert_eq!(text.matches(from).count(), 1, "`{from}` is in {path} once");
                text = text.replace(from, self.to.trim());
                is_planted = true;
            }
            let text = text.replace("crate::", &format!("crate::{module}::"));
            let path = if path == "main.rs" { "mod.rs" } else { &path };
            write(&source.join(module).join(path), text.as_bytes());
        }
        assert!(is_planted, "{} was not found", self.file);
    }
}

/// Whether a file of `src` belongs to a mutant.
fn is_mutant(path: &str) -> bool {
    path.starts_with("mutant")
}

fn module(at: usize) -> String {
    format!("mutant{at}")
}

/// At least nine of ten are found, and the others are those whose table says why not.
fn found(example: &'static str) {
    assert!(before_a_release());
    let place = place();
    let project = examples::created(&place, example);
    let list = repository().join(format!("tests/projects/mutants/{example}.toml"));
    let list = fs::read_to_string(list).expect("a list of mutants");
    let Mutants { test, mutant } = toml::from_str(&list).expect("a list of mutants");
    plant_all(&project.0, &mutant);
    project.run("cargo", &["test", "--bins", "--no-run"]);
    let mut wrong = Vec::new();
    for (at, mutant) in (1..).zip(&mutant) {
        let story = story(&project, &format!("{}::{test}", module(at)));
        println!(
            "{example} {at}, {}: {}",
            mutant.what,
            story.as_deref().unwrap_or("not found")
        );
        if story.is_some() == mutant.missed.is_some() {
            wrong.push(&*mutant.what);
        }
    }
    assert_eq!(
        wrong, [""; 0],
        "these should be found, or were not expected to be"
    );
    let missed = mutant.iter().filter(|mutant| mutant.missed.is_some());
    assert!(missed.count() * 10 <= mutant.len(), "nine of ten are found");
}

fn plant_all(project: &Path, mutants: &[Mutant]) {
    let main = project.join("src/main.rs");
    let mut text = fs::read_to_string(&main).expect("a file");
    for (at, mutant) in (1..).zip(mutants) {
        let module = module(at);
        mutant.plant(project, &module);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "#[cfg(test)]\n#[allow(warnings)]\nmod {module};");
    }
    write(&main, text.as_bytes());
}

/// What the simulation finds: the first line and the plan of its story.
fn story(project: &Project, test: &str) -> Option<String> {
    let args = ["test", "--quiet", "--bins", "--", "--exact", test];
    let mut command = project.command("cargo", &args);
    let output = command
        .env_remove("KBR_SIMULATE")
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("running 1 test"), "{printed}");
    if output.status.success() {
        return None;
    }
    let line = |wanted: &str| {
        let mut lines = printed.lines().skip_while(|line| !line.contains(wanted));
        lines.next().map(str::to_owned)
    };
    let plan = line("replay: ").unwrap_or_else(|| panic!("this is not a story: {printed}"));
    let mut finding = printed
        .lines()
        .skip_while(|line| !line.contains(" panicked at "));
    Some(format!("{}; {plan}", finding.nth(1).unwrap_or_default()))
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_at_are_found() {
    found("at");
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_cronjob_are_found() {
    found("cronjob");
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_ecsbinding_are_found() {
    found("ecsbinding");
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_foo_are_found() {
    found("foo");
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_guestbook_are_found() {
    found("guestbook");
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_home_are_found() {
    found("home");
}

#[test]
#[ignore = "`make test-release` runs it: it simulates ten operators"]
fn mutants_of_ippool_are_found() {
    found("ippool");
}
