//! Mutants of the examples: each has one bug that authors of operators make, and the simulation of the example must find it.
//!
//! `mutants/*.toml` lists them. All those of an example are compiled into one test binary, each as a module that is a copy of `src`.
//!
//! `mutants/library.toml` lists repaired defects of the library. All are compiled into one copy of it, and an environment variable puts one back.

use std::{
    collections::BTreeMap, fmt::Write as _, fs, os::unix::fs::symlink, path::Path, process::Command,
};

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
                text = replaced(&text, &self.from, &self.to);
                is_planted = true;
            }
            let text = text.replace("crate::", &format!("crate::{module}::"));
            let path = if path == "main.rs" { "mod.rs" } else { &path };
            write(&source.join(module).join(path), text.as_bytes());
        }
        assert!(is_planted, "{} was not found", self.file);
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    let from = from.trim();
    assert_eq!(text.matches(from).count(), 1, "`{from}` is there once");
    text.replace(from, to.trim())
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

fn story(project: &Project, test: &str) -> Option<String> {
    let args = ["test", "--quiet", "--bins", "--", "--exact", test];
    told(project.command("cargo", &args).env_remove("KBR_SIMULATE"))
}

/// What the simulation of this test finds: the first line and the plan of its story.
fn told(command: &mut Command) -> Option<String> {
    let output = command.output().expect("cargo runs");
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

#[derive(Deserialize)]
struct Defects {
    defect: Vec<Defect>,
}

#[derive(Deserialize)]
struct Defect {
    what: String,
    /// The test of kbr-testing's catalogue that must find it.
    test: String,
    /// In the `src` of kbr-manager.
    file: String,
    from: String,
    /// `DEFECT` in it is whether the test has the defect.
    to: String,
}

/// The defects, and the files of the library that have them all.
fn defects() -> (Vec<Defect>, BTreeMap<String, String>) {
    let list = repository().join("tests/projects/mutants/library.toml");
    let list = fs::read_to_string(list).expect("a list of defects");
    let Defects { defect: defects } = toml::from_str(&list).expect("a list of defects");
    let mut files = BTreeMap::new();
    for Defect {
        test,
        file,
        from,
        to,
        ..
    } in &defects
    {
        let text = files.entry(file.clone()).or_insert_with(|| {
            let path = repository().join("crates/manager/src").join(file);
            fs::read_to_string(path).expect("a file of the library")
        });
        let is_back = format!("std::env::var(\"KBR_DEFECT\").is_ok_and(|it| it == \"{test}\")");
        *text = replaced(text, from, &to.replace("DEFECT", &is_back));
    }
    (defects, files)
}

#[test]
fn the_places_of_the_defects_are_in_the_library() {
    assert_eq!(defects().0.len(), 10);
}

/// A copy of this workspace, of which only the sources of kbr-manager are no links.
fn linked(copy: &Path) {
    fs::remove_dir_all(copy).ok();
    for (folder, except) in [
        ("", "crates"),
        ("crates", "manager"),
        ("crates/manager", "src"),
    ] {
        fs::create_dir_all(copy.join(folder)).expect("a writable folder");
        for entry in fs::read_dir(repository().join(folder)).expect("a readable folder") {
            let entry = entry.expect("a readable folder");
            let name = entry.file_name();
            if ![except, "target", ".git"].iter().any(|it| name == **it) {
                symlink(entry.path(), copy.join(folder).join(name)).expect("a link");
            }
        }
    }
    for (path, text) in tree(&repository().join("crates/manager/src")) {
        write(&copy.join("crates/manager/src").join(path), &text);
    }
}

/// Each is found by an operator that has no bug, and what finds it finds nothing without the defect.
#[test]
#[ignore = "`make test-release` runs it: it compiles the library"]
fn defects_of_the_library_are_found() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("defects");
    linked(&copy);
    let (defects, files) = defects();
    for (path, text) in files {
        write(&copy.join("crates/manager/src").join(path), text.as_bytes());
    }
    let test = |defect: &Defect, variable: &str, value: &str| {
        let words = "test --quiet --workspace --all-features --test catalogue -- --ignored --exact";
        let mut command = Command::new(env!("CARGO"));
        command
            .args(words.split(' '))
            .arg(format!("defects::{}", defect.test))
            .current_dir(&copy)
            .env(
                "CARGO_TARGET_DIR",
                copy.ancestors().nth(2).expect("target/tmp/defects"),
            )
            .env_remove("KBR_SIMULATE")
            .env(variable, value);
        told(&mut command)
    };
    for defect in &defects {
        let story = test(defect, "KBR_DEFECT", &defect.test);
        let story = story.unwrap_or_else(|| panic!("not found: {}", defect.what));
        println!("{}: {story}", defect.what);
        let (_, plan) = story
            .split_once("KBR_SIMULATE='")
            .expect("a fault shows it");
        let (plan, _) = plan.split_once('\'').expect("a fault shows it");
        assert_eq!(
            test(defect, "KBR_SIMULATE", plan),
            None,
            "without the defect, too"
        );
    }
}
