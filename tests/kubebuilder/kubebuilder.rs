//! Imports the projects of kubebuilder in a folder, tests them, and compares what `config/default` renders on both sides.
//! The arguments are that folder, and one for the imported projects. `differences.txt` lists each difference that may be.
//! With `KBR_IMPORTED` set, only compares what an earlier run has imported. With `scan` before them, imports other projects as they are.

mod compare;
mod known;
mod scan;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use compare::{Names, Objects};
use known::Known;

/// Tests of a project that fail until its author has ported the conversion: the fields of the versions have different types.
const UNPORTED: [(&str, &str); 1] =
    [("multiversion-tutorial", "nothing_is_lost_between_v2_and_v1")];

fn main() -> ExitCode {
    let mut arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let is_scan = arguments.first().is_some_and(|it| it.as_os_str() == "scan");
    arguments.drain(..usize::from(is_scan));
    let [from, to] = &arguments[..] else {
        eprintln!("usage: kubebuilder [scan] PROJECTS IMPORTED");
        return ExitCode::from(2);
    };
    if is_scan {
        let silent = scan::scan(&projects(from), to, &Known::of_others());
        return ExitCode::from(u8::from(silent > 0));
    }
    let known = Known::read();
    let mut unknown = 0;
    for go in projects(from) {
        let rust = to.join(go.file_name().expect("a name"));
        if env::var_os("KBR_IMPORTED").is_none() {
            import(&go, &rust);
        }
        let name = name_of(&go);
        let names = Names {
            prefix: format!("{name}-"),
            namespace: format!("{name}-system"),
            deployment: format!("{name}-controller-manager"),
        };
        let (theirs, ours) = (objects(&go, &names), objects(&rust, &names));
        let differences = compare::differences(&theirs, &ours, &known);
        println!(
            "{}: {} objects in Go, {} in Rust, {} differences",
            go.display(),
            theirs.len(),
            ours.len(),
            differences.len(),
        );
        for difference in differences.iter().filter(|it| !known.has(it)) {
            println!("unknown: {difference}");
            unknown += 1;
        }
    }
    let unused = known.unused();
    for line in &unused {
        println!("not found: {line}");
    }
    println!("{unknown} unknown differences, {} not found", unused.len());
    ExitCode::from(u8::from(unknown + unused.len() > 0))
}

/// The folders with a project in a folder, by name.
fn projects(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of projects");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<_> = entries.filter(|it| it.join("PROJECT").exists()).collect();
    found.sort();
    assert!(!found.is_empty(), "{} has no projects", folder.display());
    found
}

/// `projectName` of PROJECT.
fn name_of(project: &Path) -> String {
    let text = fs::read_to_string(project.join("PROJECT")).expect("PROJECT");
    let mut names = text
        .lines()
        .filter_map(|it| it.strip_prefix("projectName: "));
    names.next().expect("a name").to_owned()
}

/// Imports a project, generates its manifests, and runs its tests on an API server.
fn import(go: &Path, rust: &Path) {
    let _ = fs::remove_dir_all(rust);
    let parent = rust.parent().expect("a folder");
    fs::create_dir_all(parent).expect("a folder");
    let mut kbr = Command::new("kbr");
    run(
        parent,
        kbr.arg("import").arg(go).arg("--directory").arg(rust),
    );
    run(rust, Command::new("kbr").arg("manifests"));
    let failed = failed_tests(rust);
    let unported = UNPORTED.iter().filter(|(name, _)| rust.ends_with(name));
    let unported: Vec<&str> = unported.map(|(_, test)| *test).collect();
    assert_eq!(failed, unported, "the tests of {} fail", rust.display());
}

/// The tests that fail, of those that `make test` runs; without the names of their modules.
fn failed_tests(rust: &Path) -> Vec<String> {
    let mut kbr = Command::new("kbr");
    kbr.args(["envtest", "run", "--", "cargo", "test", "--workspace"])
        .args(["--features", "envtest", "--no-fail-fast"]);
    let output = kbr.current_dir(rust).output().expect("a program");
    let printed = String::from_utf8_lossy(&output.stdout);
    let failed = printed.lines().filter_map(|line| {
        let test = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        test.rsplit("::").next().map(str::to_owned)
    });
    let failed: Vec<String> = failed.collect();
    if !output.status.success() {
        println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(
        output.status.success(),
        failed.is_empty(),
        "the tests of {} did not run",
        rust.display()
    );
    failed
}

fn objects(project: &Path, names: &Names) -> Objects {
    let mut kubectl = Command::new("kubectl");
    let rendered = run(project, kubectl.args(["kustomize", "config/default"]));
    compare::objects(&rendered, names).expect("objects")
}

/// What a command prints.
///
/// # Panics
/// It fails.
fn run(folder: &Path, command: &mut Command) -> String {
    let output = command.current_dir(folder).output().expect("a program");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let folder = folder.display();
    assert!(
        output.status.success(),
        "{command:?} in {folder}:\n{printed}{errors}"
    );
    printed
}
