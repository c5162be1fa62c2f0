//! Rules for the sources that the compiler does not check.

#[path = "tidy/kubernetes.rs"]
mod kubernetes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, UseTree, Visibility};

/// Calls that change a file system.
const WRITES: [&str; 12] = [
    "fs::write",
    "fs::rename",
    "fs::copy",
    "fs::hard_link",
    "fs::remove_",
    "create_dir",
    "DirBuilder",
    "File::create",
    "File::options",
    "OpenOptions",
    "set_permissions",
    "fs::symlink(",
];

/// Calls that print, except clap's own, which ignores a closed pipe.
const PRINTS: [&str; 5] = ["print!(", "println!(", "dbg!(", "stdout()", "stderr()"];

/// The modules that may change files: the commit in projects, the test environment in its store and temporary folders, and the build
/// script in cargo's output folder.
const WRITERS: [&str; 7] = [
    "src/build.rs",
    "crates/envtest/src/",
    // It writes a copy of `config` to a temporary folder.
    "crates/dist/src/render.rs",
    "crates/scaffold/src/commit.rs",
    "crates/scaffold/src/commit/",
    // It renders an earlier release, for tests only.
    "src/faults.rs",
    // It builds an earlier release below `target`.
    "src/cli/plan/baseline.rs",
];

/// Calls that open a file, whatever it is: a named pipe has no end, a device may have none, and a large file fills the memory.
const READS: [&str; 5] = [
    "fs::read(",
    "fs::read)",
    "fs::read_to_string",
    "File::open",
    "fs::open(",
];

/// The modules that may open any file: the one that looks at what it is, and what only tests of kbr run.
const READERS: [&str; 3] = [
    "crates/host/src/regular.rs",
    "crates/scaffold/src/checkout.rs",
    "src/faults.rs",
];

/// The sources of the program and of its crates, which are no libraries for users.
const SOURCES: [&str; 8] = [
    "src",
    "crates/dist/src",
    "crates/envtest/src",
    "crates/host/src",
    "crates/manifests/src",
    "crates/programs/src",
    "crates/scaffold/src",
    "crates/takeover/src",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// The code without unit tests, which are at the end of a file or in separate files.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default()
}

/// The number of `calls` in `allowed`, and the lines with calls anywhere else.
fn calls(calls: &[&str], allowed: &[&str]) -> (usize, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in SOURCES {
        sources(&root.join(folder), &mut files);
    }
    let (mut count, mut others) = (0, Vec::new());
    for file in files {
        let path = file
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let text = fs::read_to_string(&file).unwrap();
        if path.ends_with("tests.rs") || path.contains("/tests/") {
            continue;
        }
        for (at, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if !calls.iter().any(|call| code.contains(call)) {
                continue;
            }
            if allowed.iter().any(|allowed| path.starts_with(allowed)) {
                count += 1;
            } else {
                others.push(format!("{path}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    (count, others)
}

/// Code of an operator's author runs behind one guard, which knows what else of it may panic.
#[test]
fn only_one_file_of_the_library_catches_panics() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("crates/manager/src"), &mut files);
    let catches = |file: &&PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        let code = without_tests(&text);
        // What passes a panic on to another thread catches none.
        code.contains("catch_unwind(") && !code.contains("resume_unwind(")
    };
    let found: Vec<_> = files.iter().filter(catches).collect();
    assert_eq!(found, [&root.join("crates/manager/src/panics.rs")]);
}

#[test]
fn only_the_commit_writes_project_files() {
    let (writers, others) = calls(&WRITES, &WRITERS);
    assert!(
        others.is_empty(),
        "only crates/scaffold/src/commit may change files:\n{}",
        others.join("\n")
    );
    assert!(
        writers > 5,
        "the test no longer sees how crates/scaffold/src/commit writes"
    );
}

/// What looks like quoting, and is that of another language: Rust's own `Debug`, or a library's without a look at odd characters.
const QUOTES: [&str; 4] = [":?}", ":#?}", "saphyr::to_string", "escape_default()"];

#[test]
fn only_two_modules_quote_what_is_written() {
    let allowed = [
        "crates/scaffold/src/yaml.rs",
        // A number.
        "crates/scaffold/src/imported/defaults.rs",
        // Looks for text.
        "crates/dist/src/chart/names.rs",
        // Names of this checkout.
        "src/build.rs",
        "crates/scaffold/src/checkout.rs",
        // Messages.
        "crates/host/src/lines.rs",
        "crates/envtest/src/",
        "crates/manifests/src/webhook/golden.rs",
    ];
    let (quotes, others) = calls(&QUOTES, &allowed);
    assert!(
        others.is_empty(),
        "quote with crates/scaffold/src/quote.rs or yaml.rs, a function for each language:\n{}",
        others.join("\n")
    );
    assert!(quotes > 2, "the test no longer sees how files are quoted");
}

#[test]
fn only_regular_files_are_read() {
    let (readers, others) = calls(&READS, &READERS);
    assert!(
        others.is_empty(),
        "these calls may wait for a pipe for ever; use crates/host/src/regular.rs:\n{}",
        others.join("\n")
    );
    assert!(
        readers > 2,
        "the test no longer sees how crates/host/src/regular.rs opens"
    );
}

#[test]
fn only_the_module_for_output_prints() {
    // The build script prints for cargo.
    let (printers, others) = calls(&PRINTS, &["crates/host/src/output.rs", "src/build.rs"]);
    // A string may contain the code of a program that prints.
    let others: Vec<_> = others
        .into_iter()
        .filter(|line| !line.contains(r#"println!(\""#) && !line.contains("is_terminal()"))
        .collect();
    assert!(
        others.is_empty(),
        "these calls would panic if the output is closed; use crates/host/src/output.rs:\n{}",
        others.join("\n")
    );
    assert!(
        printers > 2,
        "the test no longer sees how crates/host/src/output.rs prints"
    );
}

#[test]
fn only_one_file_parses_yaml() {
    let (parsers, others) = calls(
        &["serde_saphyr::from_"],
        // kbr-testing is no part of kbr, and reads the files of the project whose tests it runs.
        &["crates/host/src/yaml.rs", "crates/testing/src/"],
    );
    assert!(
        others.is_empty(),
        "only crates/host/src/yaml.rs parses YAML, within a budget:\n{}",
        others.join("\n")
    );
    assert!(parsers > 1, "the test no longer sees how YAML is parsed");
}

#[test]
fn only_one_file_parses_rust() {
    let calls_of_syn = ["syn::parse", "parse_file(", "parse2(", "parse_str("];
    let (parsers, others) = calls(&calls_of_syn, &["crates/scaffold/src/rust/parse.rs"]);
    assert!(
        others.is_empty(),
        "syn may overflow the stack; use crates/scaffold/src/rust/parse.rs:\n{}",
        others.join("\n")
    );
    assert!(
        parsers > 0,
        "the test no longer sees how crates/scaffold/src/rust/parse.rs parses"
    );
}

/// The modules below `root`, each with its imports; tests and re-exports are left out.
fn imports(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(root, &mut files);
    files.retain(|file| !file.components().any(|part| part.as_os_str() == "tests"));
    files.retain(|file| !file.ends_with("tests.rs"));
    let module = |file: &PathBuf| {
        let path = file.strip_prefix(root).unwrap().with_extension("");
        let path = path.to_str().unwrap().replace('/', "::");
        path.strip_suffix("::mod").unwrap_or(&path).to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(module).collect();
    let of = |file: &PathBuf| {
        let (name, text) = (module(file), fs::read_to_string(file).unwrap());
        let mut paths = Vec::new();
        for item in syn::parse_file(&text).unwrap().items {
            if let Item::Use(item) = item
                && matches!(item.vis, Visibility::Inherited)
                && !item.attrs.iter().any(is_cfg)
            {
                expand(&item.tree, &mut Vec::new(), &mut paths);
            }
        }
        let found = paths
            .iter()
            .filter_map(|path| resolve(path, &name, &modules));
        (name.clone(), found.filter(|other| *other != name).collect())
    };
    files.iter().map(of).collect()
}

fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

/// `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &UseTree, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            expand(&path.tree, before, paths);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                expand(tree, before, paths);
            }
        }
        UseTree::Name(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        UseTree::Glob(_) => paths.push(before.clone()),
    }
}

/// The module of this crate that a path in the module `here` refers to, if any.
fn resolve(path: &[String], here: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut whole: Vec<&str> = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => here.split("::").collect(),
        _ => return None,
    };
    for part in path {
        match part.as_str() {
            "crate" | "self" => {}
            "super" => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    let mut starts = (1..=whole.len()).rev().map(|end| whole[..end].join("::"));
    starts.find(|start| modules.contains(start))
}

#[test]
fn no_two_files_import_each_other() {
    let libraries = [
        "crates/manager/src",
        "crates/fake/src",
        "crates/rules/src",
        "crates/testing/src",
        "crates/crd-lint/src",
    ];
    for sources in SOURCES.into_iter().chain(libraries) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
        let imports = imports(&root);
        assert!(imports.len() > 2, "{sources}: {imports:?}");
        let cycle = in_cycles(imports);
        assert!(cycle.is_empty(), "{sources}: import each other: {cycle:?}");
    }
}

/// The modules in cycles: repeatedly removes the modules that import no others, or that no others import.
fn in_cycles(mut imports: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        imports.retain(|_, others| others.iter().any(|other| left.contains(other)));
        let used: BTreeSet<String> = imports.values().flatten().cloned().collect();
        imports.retain(|module, _| used.contains(module));
        if imports.len() == left.len() {
            return imports.into_keys().collect();
        }
    }
}

/// The modules that do no I/O: they use no files, environment or processes. In `crates/scaffold`, clippy forbids processes.
const PURE: [&str; 20] = [
    "crates/scaffold/src/blueprint",
    "crates/scaffold/src/edit",
    "crates/scaffold/src/edited",
    "crates/scaffold/src/library",
    "crates/scaffold/src/cargo_lock",
    "crates/scaffold/src/project",
    "crates/scaffold/src/release",
    "crates/scaffold/src/resource",
    "crates/scaffold/src/rust",
    "crates/scaffold/src/scaffold",
    "crates/scaffold/src/tables",
    "crates/scaffold/src/upgrade",
    "crates/scaffold/src/vars",
    "crates/scaffold/src/changes/conflict",
    "crates/scaffold/src/changes/additions",
    "crates/host/src/diagnostic",
    "crates/envtest/src/address",
    "crates/envtest/src/index",
    "crates/envtest/src/platform",
    "crates/envtest/src/selector",
];

#[test]
fn pure_modules_use_no_files_environment_or_processes() {
    for path in PURE {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{path}.rs"));
        assert!(file.is_file(), "{path} is listed as pure, but missing");
    }
    let (_, mut uses) = calls(&["fs::", "std::fs", "env::", "std::env"], &[]);
    uses.extend(calls(&["process::", "std::process"], &["crates/scaffold/"]).1);
    let is_pure = |line: &String| {
        PURE.iter().any(|path| {
            let rest = line.strip_prefix(path);
            rest.is_some_and(|rest| rest.starts_with(['/', '.']))
        })
    };
    let uses: Vec<_> = uses.into_iter().filter(is_pure).collect();
    assert!(
        uses.is_empty(),
        "these modules must do no I/O:\n{}",
        uses.join("\n")
    );
}

#[test]
fn imports_between_the_modules_of_a_crate_go_one_way() {
    for sources in SOURCES.into_iter().chain(["crates/manager/src"]) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
        let top = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
        let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, others) in imports(&root) {
            let module = top(&module);
            let others = others
                .iter()
                .map(|other| top(other))
                .filter(|other| *other != module);
            modules.entry(module.clone()).or_default().extend(others);
        }
        modules.retain(|module, _| !["main", "lib", "harness"].contains(&module.as_str()));
        assert!(modules.len() > 2, "{sources}: {modules:?}");
        let cycle = in_cycles(modules);
        assert!(cycle.is_empty(), "{sources}: import each other: {cycle:?}");
    }
}

#[test]
fn folders_of_the_library_import_only_those_below_them_in_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rows = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let row = |module: &str| {
        let folder = module.split("::").next().unwrap_or_default();
        rows.find(&format!("`crates/manager/src/{folder}/`"))
    };
    let (mut arrows, mut up) = (0, Vec::new());
    for (module, others) in imports(&root.join("crates/manager/src")) {
        for other in others {
            if let (Some(from), Some(to)) = (row(&module), row(&other)) {
                arrows += 1;
                if from > to {
                    up.push(format!("{module} -> {other}"));
                }
            }
        }
    }
    assert!(arrows > 100 && up.is_empty(), "{arrows} imports: {up:?}");
}

/// The names of the test targets in a folder.
fn targets(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let targets = paths.filter(|path| {
        path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").is_file()
    });
    let names = targets.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn make_test_runs_every_test_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(root.join("tests/run")).unwrap();
    let (lanes, _) = script.split_once("\ncargo=").expect("the lanes come first");
    let parts: Vec<_> = lanes.split([' ', '\n', '\'']).collect();
    let mut targets = targets(&root.join("tests"));
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        targets.extend(self::targets(&entry.unwrap().path().join("tests")));
    }
    assert!(targets.len() > 20, "{targets:?}");
    targets.retain(|target| !parts.contains(&target.as_str()));
    assert!(targets.is_empty(), "missing in tests/run: {targets:?}");
}
