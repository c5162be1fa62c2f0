//! The docs are correct: the reference equals the real help, links and paths lead to files, and each dependency has a reason.
//! `tests/projects/` runs the guide, and `crates/book` compiles the Rust of the pages.

#[path = "docs/book.rs"]
mod book;
#[path = "docs/pictures.rs"]
mod pictures;
#[path = "docs/sentences.rs"]
mod sentences;
mod support;
#[path = "docs/tables.rs"]
mod tables;

use std::{fmt::Write as _, fs, path::Path, process::Command};

use support::{KBR, repository, tree};

const HEAD: &str = "# Commands\n\nThis is what `kbr help` prints, written by a test: `make update` brings it up to date.\n";

#[test]
fn the_command_reference_equals_the_help() {
    let mut page = HEAD.to_owned();
    describe(&mut page, &mut Vec::new());
    let path = repository().join("docs/cli.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("a writable file");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/cli.md is stale: run `make update`");
}

/// Adds a section for the command `words`, and for each of its subcommands.
fn describe(page: &mut String, words: &mut Vec<String>) {
    let output = Command::new(KBR)
        .args(&*words)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .expect("kbr runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let name = ["kbr".to_owned()]
        .into_iter()
        .chain(words.iter().cloned())
        .collect::<Vec<_>>()
        .join(" ");
    write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end())
        .expect("a string takes it");
    for command in subcommands(&help) {
        words.push(command);
        describe(page, words);
        words.pop();
    }
}

/// The names under `Commands:`, without `help`.
fn subcommands(help: &str) -> Vec<String> {
    let section = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    section
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_path_in_the_architecture_exists() {
    let page = fs::read_to_string(repository().join("docs/architecture.md")).expect("readable");
    let folders = ["src/", "tests/", "scaffolds/", "crates/", "docs/", "demo/"];
    let quoted = page.split('`').skip(1).step_by(2);
    // `<set>` and similar are placeholders; arguments follow a space.
    let paths: Vec<_> = quoted
        .filter(|word| folders.iter().any(|folder| word.starts_with(folder)))
        .filter_map(|path| path.split(['<', ' ']).next())
        .collect();
    assert!(paths.len() > 30, "{paths:?}");
    let missing: Vec<_> = paths
        .iter()
        .filter(|path| !repository().join(path).exists())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let missing = missing_in_crates(&page);
    assert!(missing.is_empty(), "{missing:?}");
    for entry in fs::read_dir(repository().join("tests")).expect("tests") {
        let name = entry.expect("readable").file_name();
        let name = name.to_str().expect("UTF-8");
        let named =
            page.contains(&format!("`tests/{name}`")) || page.contains(&format!("`tests/{name}/`"));
        // Not tests: helpers, the data of tests/golden.rs, and the programs of `make bench`.
        let others = ["support", "golden", "bench"];
        assert!(
            named || others.contains(&name),
            "`tests/{name}` is not in docs/architecture.md"
        );
    }
}

/// The files that the tables of crates name, those below a heading that begins with `In`, and that do not exist.
fn missing_in_crates(page: &str) -> Vec<String> {
    let tables: Vec<_> = page
        .split("\n| In `")
        .skip(1)
        .filter_map(|table| table.split("\n\n").next()?.split_once('`'))
        .collect();
    assert!(tables.len() > 2, "{tables:?}");
    let mut missing = Vec::new();
    for (folder, table) in tables {
        let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
        let names = rows.filter_map(|row| row.split(" | ").next());
        let names = names.flat_map(|cell| cell.split('`').step_by(2));
        let names = names.filter(|name| !name.starts_with("src/"));
        let paths = names.map(|name| format!("{folder}{name}"));
        missing.extend(paths.filter(|path| !repository().join(path).exists()));
    }
    missing
}

#[test]
fn each_file_on_the_path_of_an_event_exists() {
    let page = fs::read_to_string(repository().join("docs/architecture.md")).expect("readable");
    let (_, part) = page.split_once("\n### From an event").expect("the part");
    let part = part.split("\n## ").next().expect("a first part");
    let library = tree(&repository().join("crates/manager/src"));
    let quoted = part.split('`').skip(1).step_by(2);
    let is_source = |word: &&str| Path::new(word).extension().is_some_and(|end| end == "rs");
    let files: Vec<_> = quoted.filter(is_source).collect();
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let is_it = |path: &String| path == file || path.ends_with(&format!("/{file}"));
        assert!(library.keys().any(is_it), "`{file}` is not in the library");
    }
}

#[test]
fn each_dependency_has_a_reason() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("readable");
    let manifest: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let page = read("docs/decisions.md");
    let table = page
        .split_once("\n## kbr's dependencies\n")
        .expect("the part")
        .1;
    let table = table.split("\n## ").next().expect("a first part");
    // `serde, toml` and `clap (derive, env)` and `tera 2`.
    let named: Vec<_> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| cell.split(" (").next().unwrap_or(cell).split(", "))
        .filter_map(|name| name.split(' ').next())
        .collect();
    let tables = [
        &manifest["workspace"]["dependencies"],
        &manifest["dev-dependencies"],
    ];
    // kbr's own crates are in the architecture.
    let dependencies: Vec<_> = tables
        .into_iter()
        .filter_map(toml::Value::as_table)
        .flat_map(|table| table.keys())
        .filter(|name| !name.starts_with("kbr-"))
        .collect();
    assert!(dependencies.len() > 10);
    for name in &dependencies {
        assert!(
            named.contains(&name.as_str()),
            "`{name}` is not in {named:?}"
        );
    }
    for name in named.iter().skip(1) {
        assert!(
            dependencies.iter().any(|key| key == name),
            "`{name}` is not a dependency"
        );
    }
}

#[test]
fn each_name_in_the_table_of_controller_runtime_exists() {
    let page = fs::read_to_string(repository().join("docs/controller-runtime.md")).expect("a page");
    let packages =
        ["manager", "testing"].map(|name| repository().join(format!("crates/{name}/src")));
    let sources: String = packages
        .iter()
        .flat_map(|package| tree(package).into_values())
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .collect();
    let names: Vec<_> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.split_once("::"))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for (owner, method) in names {
        let is_there = ["fn", "const fn", "async fn"].into_iter().any(|function| {
            let found = format!("pub {function} {method}");
            sources.contains(&format!("{found}(")) || sources.contains(&format!("{found}<"))
        });
        assert!(is_there, "`{owner}::{method}`");
        assert!(
            [format!("pub struct {owner}"), format!("pub enum {owner}")]
                .iter()
                .any(|found| sources.contains(found)),
            "`{owner}`"
        );
    }
}
