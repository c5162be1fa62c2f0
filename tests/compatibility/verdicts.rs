//! The table of verdicts: `verdicts.txt` has a row for each pair.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use crd_lint::Severity;
use crd_lint::compatibility::compare;

use crate::pairs::{self, Pair};
use crate::server::{Server, Verdict};
use crate::support::{repository, write};

const HEAD: &str = "\
# One row for each pair of definitions: the change, its place, then the verdicts of the API server, kbr, crdify and OLM v1.
# `UPDATE=1 cargo test --test compatibility` writes it; `KBR_CRDIFY=<program>` adds the verdicts of a crdify that is installed.
";

/// OLM v1 runs crdify as a library, with this configuration.
const OLM: &str = "conversion: Ignore
unhandledEnforcement: Error
validations:
- { name: description, enforcement: None }
- { name: enum, enforcement: Error, configuration: { additionPolicy: Allow } }
";

/// The verdict of kbr: the worst severity.
fn ours(pair: &Pair) -> &'static str {
    let findings = compare(&pair.old, &pair.new);
    match findings.iter().map(|it| it.severity).min() {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warning",
        None => "ok",
    }
}

/// The severity that fits to what the API server does.
fn fitting(verdict: &str) -> &'static str {
    match verdict {
        "refused" | "unserved" | "lost" | "rejected" => "error",
        "tolerated" | "different" => "warning",
        _ => "ok",
    }
}

/// The verdicts of crdify and of OLM v1, from the program `crdify`.
fn theirs(crdify: &str, pair: &Pair) -> [String; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        write(&path, text.as_bytes());
        path.display().to_string()
    };
    let (old, new) = (
        file("old.yaml", &pair.old.to_string()),
        file("new.yaml", &pair.new.to_string()),
    );
    let olm = file("olm.yaml", OLM);
    [&[][..], &["--config", &olm]].map(|flags| {
        let status = Command::new(crdify)
            .args(flags)
            .args([format!("file://{old}"), format!("file://{new}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("crdify runs");
        if status.success() { "ok" } else { "error" }.to_owned()
    })
}

/// The verdicts of crdify and of OLM v1 in a table, by the name of the pair.
fn recorded(table: &str) -> BTreeMap<String, [String; 2]> {
    let mut known = BTreeMap::new();
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let words: Vec<&str> = row.split_whitespace().collect();
        if let [change, place, .., crdify, olm] = words[..] {
            known.insert(
                format!("{change} {place}"),
                [crdify.to_owned(), olm.to_owned()],
            );
        }
    }
    known
}

fn table(pairs: &[Pair], server: &[Verdict], before: &str) -> String {
    let known = recorded(before);
    let crdify = std::env::var("KBR_CRDIFY").ok();
    let mut table = HEAD.to_owned();
    for (pair, verdict) in pairs.iter().zip(server) {
        let theirs = match &crdify {
            Some(crdify) => theirs(crdify, pair),
            None => known
                .get(&pair.name)
                .cloned()
                .unwrap_or_else(|| ["?", "?"].map(str::to_owned)),
        };
        let (verdict, [crdify, olm]) = (verdict.to_string(), theirs);
        writeln!(
            table,
            "{:<36} {verdict:<10} {:<8} {crdify:<6} {olm}",
            pair.name,
            ours(pair)
        )
        .expect("a string takes it");
    }
    table
}

#[test]
fn the_verdicts_about_all_pairs_are_those_of_the_table() {
    let pairs = pairs::all();
    assert!(pairs.len() >= 200, "{} pairs", pairs.len());
    let path = repository().join("tests/compatibility/verdicts.txt");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let found = table(&pairs, &Server::start().verdicts(&pairs), &before);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).expect("a writable file");
        return;
    }
    let changed: Vec<&str> = found
        .lines()
        .filter(|row| !before.lines().any(|known| known == *row))
        .collect();
    assert!(
        found == before,
        "`UPDATE=1` rewrites tests/compatibility/verdicts.txt:\n{}",
        changed.join("\n")
    );
}
