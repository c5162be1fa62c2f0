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

/// A row of the table.
struct Row<'a> {
    change: &'a str,
    place: &'a str,
    /// Of the API server, kbr, crdify and OLM v1.
    verdicts: [&'a str; 4],
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let rows = table.lines().filter(|row| !row.starts_with('#'));
    rows.map(|row| match row.split_whitespace().collect::<Vec<_>>()[..] {
        [change, place, server, kbr, crdify, olm] => Row {
            change,
            place,
            verdicts: [server, kbr, crdify, olm],
        },
        _ => panic!("not a row: {row}"),
    })
    .collect()
}

fn table(pairs: &[Pair], server: &[Verdict], before: &str) -> String {
    let known: BTreeMap<String, [&str; 2]> = rows(before)
        .iter()
        .map(|row| {
            (
                format!("{} {}", row.change, row.place),
                [row.verdicts[2], row.verdicts[3]],
            )
        })
        .collect();
    let crdify = std::env::var("KBR_CRDIFY").ok();
    let mut table = HEAD.to_owned();
    for (pair, verdict) in pairs.iter().zip(server) {
        let theirs = match &crdify {
            Some(crdify) => theirs(crdify, pair),
            None => known
                .get(&pair.name)
                .unwrap_or(&["?", "?"])
                .map(str::to_owned),
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

/// The verdicts about a change by its name. In lists without keys they may differ: `tolerated / rejected`.
fn by_change() -> BTreeMap<String, [String; 4]> {
    let mut all: BTreeMap<String, [String; 4]> = BTreeMap::new();
    for row in rows(include_str!("verdicts.txt")) {
        let known = all
            .entry(row.change.to_owned())
            .or_insert_with(|| row.verdicts.map(str::to_owned));
        for (known, verdict) in known.iter_mut().zip(row.verdicts) {
            match row.place {
                "atomic" if known != verdict => *known = format!("{known} / {verdict}"),
                _ => assert!(known.split(" / ").next() == Some(verdict), "{}", row.change),
            }
        }
    }
    all
}

/// Whether all agree: what breaks objects is an error everywhere, and all else is found nowhere.
fn agree([server, kbr, crdify, olm]: &[String; 4]) -> bool {
    let fits = server.split(" / ").map(fitting).eq(kbr.split(" / "));
    fits && kbr == crdify && crdify == olm
}

#[test]
fn the_page_gives_a_reason_for_each_difference_and_for_nothing_else() {
    let page = include_str!("../../docs/crdify.md");
    let table = page
        .split_once("| Change | API server | kbr | crdify | OLM v1 | Why |")
        .expect("a table")
        .1;
    let table = table.split("\n\n").next().expect("a table");
    let mut expected = by_change();
    expected.retain(|_, verdicts| !agree(verdicts));
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [changes, verdicts @ .., why] = &cells[..] else {
            panic!("{line}");
        };
        assert!(why.len() > 20, "{line}");
        for change in changes.split(", ").map(|it| it.trim_matches('`')) {
            let found = expected.remove(change);
            if found.as_ref().is_none_or(|found| found != verdicts) {
                wrong.push(format!("{change}: {found:?}"));
            }
        }
    }
    assert!(
        wrong.is_empty() && expected.is_empty(),
        "wrong: {wrong:#?}, missing: {expected:#?}"
    );
}
