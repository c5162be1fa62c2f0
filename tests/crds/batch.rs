//! Compiles types, a batch at a time: a workspace with a program for each core.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use super::program::{self, Module};
use super::results;

/// How often to compile again without modules that do not compile.
const ROUNDS: usize = 12;

const MANIFEST: &str = r#"[workspace]
members = ["program-*"]
resolver = "3"

[workspace.dependencies]
k8s-openapi = { version = "0.29", default-features = false, features = ["schemars", "v1_37"] }
kube = { version = "5.0", default-features = false, features = ["derive"] }
schemars = "1.2"
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["float_roundtrip"] }

# As in a project.
[workspace.lints.rust]
unsafe_code = "forbid"

[workspace.lints.clippy]
pedantic = { level = "warn", priority = -1 }
disallowed_names = "allow"
duplicated_attributes = "allow"

[profile.dev]
debug = false
incremental = false
"#;

const PROGRAM: &str = r#"[package]
name = "NAME"
version = "0.1.0"
edition = "2024"

[dependencies]
k8s-openapi = { workspace = true }
kube = { workspace = true }
schemars = { workspace = true }
serde = { workspace = true }
serde_json = { workspace = true }

[lints]
workspace = true
"#;

/// Compiled programs.
#[derive(Debug)]
pub struct Compiled {
    pub programs: Vec<(PathBuf, Vec<Module>)>,
    /// The modules that do not compile, and why.
    pub broken: BTreeMap<String, String>,
}

/// Compiles `programs`, without the modules that do not compile.
///
/// # Panics
/// Cargo fails for another reason.
pub fn compile(mut programs: Vec<Vec<Module>>) -> Compiled {
    let mut broken = BTreeMap::new();
    for _ in 0..ROUNDS {
        write(&programs);
        let output = cargo(&["build", "--workspace", "--keep-going"]);
        if output.status.success() {
            let built = super::folder().join("build/debug");
            let programs = programs.into_iter().enumerate();
            return Compiled {
                programs: programs
                    .map(|(at, modules)| (built.join(format!("program-{at}")), modules))
                    .collect(),
                broken,
            };
        }
        let errors = errors(&String::from_utf8_lossy(&output.stderr));
        assert!(
            !errors.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        for modules in &mut programs {
            modules.retain(|module| !errors.contains_key(&module.name));
        }
        broken.extend(errors);
    }
    panic!("other modules fail again and again: {broken:#?}");
}

/// What clippy says of the programs that were compiled last.
pub fn lint() -> String {
    let output = cargo(&[
        "clippy",
        "--workspace",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ]);
    if output.status.success() {
        return String::new();
    }
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The files of the programs that were written last that rustfmt would change.
pub fn unformatted() -> Vec<String> {
    let mut rustfmt = Command::new("cargo");
    rustfmt
        .args(["fmt", "--all", "--", "--check", "-l"])
        .current_dir(folder());
    let output = rustfmt.output().expect("cargo runs");
    let files = String::from_utf8_lossy(&output.stdout).into_owned();
    // kbr does not write the main file.
    let files = files.lines().filter(|line| !line.ends_with("main.rs"));
    files.map(str::to_owned).collect()
}

fn folder() -> PathBuf {
    super::folder().join("work")
}

fn cargo(arguments: &[&str]) -> Output {
    Command::new("cargo")
        .args(arguments)
        .current_dir(folder())
        .env("CARGO_TARGET_DIR", super::folder().join("build"))
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_QUIET", "true")
        .output()
        .expect("cargo runs")
}

/// Writes the workspace.
pub fn write(programs: &[Vec<Module>]) {
    fs::remove_dir_all(folder()).ok();
    results::write(&folder().join("Cargo.toml"), MANIFEST);
    let lock = fs::read_to_string(super::repository().join("Cargo.lock")).expect("the lock file");
    results::write(&folder().join("Cargo.lock"), &lock);
    for (at, modules) in programs.iter().enumerate() {
        let name = format!("program-{at}");
        let program = folder().join(&name);
        results::write(&program.join("Cargo.toml"), &PROGRAM.replace("NAME", &name));
        results::write(&program.join("src/main.rs"), &program::main_file(modules));
        for module in modules {
            results::write(
                &program.join(format!("src/{}.rs", module.name)),
                &module.text,
            );
        }
    }
}

/// The first error in each module.
fn errors(printed: &str) -> BTreeMap<String, String> {
    let mut errors = BTreeMap::new();
    let mut error = "";
    for line in printed.lines() {
        if line.starts_with("error") {
            error = line;
        }
        let place = line
            .trim_start()
            .strip_prefix("--> ")
            .and_then(|place| place.split_once("/src/"));
        if let Some(module) = place
            .and_then(|(_, file)| file.split_once(".rs:"))
            .map(|(module, _)| module)
            && error.starts_with("error")
            && module.starts_with("crd_")
        {
            errors.entry(module.to_owned()).or_insert(error.to_owned());
        }
    }
    errors
}

/// The CRDs of a program, by module: `None` if the macros panic.
///
/// # Panics
/// The program fails.
pub fn crds(program: &PathBuf) -> BTreeMap<String, Option<Value>> {
    let output = Command::new(program).output().expect("the program runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let crds = lines.lines().map(|line| {
        let (module, crd): (String, Option<Value>) =
            serde_json::from_str(line).expect("a line of the program");
        (module, crd)
    });
    crds.collect()
}
