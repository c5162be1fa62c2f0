//! Runs cargo, and reads its messages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::run;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::{output, regular};

/// A target of a package, in cargo's messages.
#[derive(Clone, Debug, Deserialize)]
pub struct BuildTarget {
    name: String,
    kind: Vec<String>,
}

impl BuildTarget {
    /// Its name, if it is a binary.
    pub fn binary(&self) -> Option<&str> {
        let is_binary = self.kind.iter().any(|kind| kind == "bin");
        is_binary.then_some(&self.name)
    }
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    target: Option<BuildTarget>,
    executable: Option<PathBuf>,
    #[serde(rename = "message")]
    finding: Option<Finding>,
}

/// A message of the compiler, or a part of one.
#[derive(Deserialize)]
struct Finding {
    /// The text for people; a part has none.
    rendered: Option<String>,
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Finding>,
}

#[derive(Deserialize)]
struct Span {
    suggestion_applicability: Option<String>,
}

impl Finding {
    /// Whether `cargo fix` changes the code as it suggests.
    fn is_fixable(&self) -> bool {
        let applicable =
            |span: &Span| span.suggestion_applicability.as_deref() == Some("MachineApplicable");
        self.spans.iter().any(applicable) || self.children.iter().any(Self::is_fixable)
    }
}

/// What `cargo check` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether everything compiles.
    pub compiles: bool,
    /// Whether `cargo fix` would change the code.
    pub fixable: bool,
}

/// Runs cargo in `root`, and returns its output; its diagnostics go to stderr unchanged.
///
/// # Errors
/// cargo cannot be started, or failed.
pub fn output(root: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = run(root, arguments)?;
    if !output.status.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(output.stdout)
}

/// Checks all targets of the workspace at `root`; the messages of the compiler go to stderr.
///
/// # Errors
/// cargo cannot be started.
pub fn check(root: &Path) -> anyhow::Result<Checked> {
    let output = run(
        root,
        &[
            "check",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--message-format=json",
        ],
    )?;
    let findings = findings(&output.stdout);
    // Code that several targets contain is checked for each of them.
    let mut shown = BTreeSet::new();
    for text in findings.iter().filter_map(|it| it.rendered.as_ref()) {
        if shown.insert(text) {
            output::lines(&text.lines().collect());
        }
    }
    Ok(Checked {
        compiles: output.status.success(),
        fixable: findings.iter().any(Finding::is_fixable),
    })
}

fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(root).stdin(Stdio::null());
    run::run(&mut cargo).map_err(|error| {
        Diagnostic::new(format_args!("cannot run `cargo`: {error}"))
            .help("install Rust, see https://rustup.rs")
            .into()
    })
}

/// Builds `binaries` of the workspace at `root`; returns their paths as reported by cargo, in the same order.
///
/// With `--workspace`, features are unified for all binaries, so that no dependency is built a second time. Without `--locked`: a kind
/// from another crate makes cargo resolve once, which it reports. `quiet`: cargo reports only errors.
///
/// # Errors
/// One of them does not compile.
pub fn build(root: &Path, binaries: &[&str], quiet: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut arguments = vec![
        "build",
        "--workspace",
        "--message-format=json-render-diagnostics",
    ];
    for binary in binaries {
        arguments.extend(["--bin", binary]);
    }
    if quiet {
        arguments.push("--quiet");
    }
    built(root, binaries, &arguments)
}

/// As [`build`], with cargo's output in the folder `target`.
///
/// # Errors
/// One of them does not compile.
pub fn build_in(root: &Path, binaries: &[&str], target: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let target = target
        .to_str()
        .context("the path of the project is not UTF-8")?;
    let mut arguments = vec!["build", "--workspace", "--target-dir", target];
    arguments.push("--message-format=json-render-diagnostics");
    for binary in binaries {
        arguments.extend(["--bin", binary]);
    }
    built(root, binaries, &arguments)
}

fn built(root: &Path, binaries: &[&str], arguments: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let output = output(root, arguments)?;
    let paths = binaries.iter().map(|name| executable(&output, name));
    paths.collect()
}

/// The files that these executables were built from, also those that `include_str!` reads, apart from cargo's own output.
///
/// cargo writes them next to an executable, for make: `/target/debug/captains: /src/main.rs /src/a\ b.sql`.
pub fn inputs(executables: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = BTreeSet::new();
    for executable in executables {
        let rules = regular::text(&executable.with_extension("d")).unwrap_or_default();
        let target = executable.parent().unwrap_or(executable);
        let files = rules.lines().filter_map(|rule| rule.split_once(": "));
        let files = files.flat_map(|(_, files)| words(files));
        all.extend(files.filter(|file| !file.starts_with(target)));
    }
    all.into_iter().collect()
}

/// The paths in a rule; a space in a path has a backslash before it.
fn words(text: &str) -> Vec<PathBuf> {
    let words = text.replace("\\ ", "\0");
    let words = words.split_whitespace();
    words.map(|word| word.replace('\0', " ").into()).collect()
}

fn messages(output: &[u8]) -> impl Iterator<Item = Message> {
    let messages = serde_json::Deserializer::from_slice(output).into_iter::<Message>();
    messages.filter_map(Result::ok)
}

fn findings(output: &[u8]) -> Vec<Finding> {
    messages(output)
        .filter_map(|message| message.finding)
        .collect()
}

fn executable(output: &[u8], name: &str) -> anyhow::Result<PathBuf> {
    let mut found: Vec<PathBuf> = messages(output)
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| {
            let target = message.target.as_ref();
            target.and_then(BuildTarget::binary) == Some(name)
        })
        .filter_map(|message| message.executable)
        .collect();
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => bail!("cargo did not build an executable `{name}`"),
        (Some(_), Some(_)) => bail!("several packages have a binary `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::fs;

    use super::*;

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","target":{"name":"api","kind":["lib"]},"executable":null,"fresh":true}"#;
    const CRDGEN: &str = r#"{"reason":"compiler-artifact","target":{"name":"crdgen","kind":["bin"]},"executable":"/t/debug/crdgen"}"#;
    const END: &str = r#"{"reason":"build-finished","success":true}"#;

    #[test]
    fn the_path_of_a_binary_comes_from_cargo() {
        let messages = format!("{LIBRARY}\n{CRDGEN}\n{END}\n");
        assert_eq!(
            executable(messages.as_bytes(), "crdgen").unwrap(),
            Path::new("/t/debug/crdgen")
        );
    }

    #[test]
    fn cargo_fix_is_for_suggestions_that_a_machine_may_apply() {
        let is_fixable = |applicability: &str| {
            let suggestion =
                json!({"spans": [{"suggestion_applicability": applicability}], "children": []});
            let message = json!({
                "reason": "compiler-message",
                "message": {"rendered": "warning", "spans": [{"suggestion_applicability": null}], "children": [suggestion]},
            });
            let output = format!("{LIBRARY}\n{message}\n{END}\n");
            findings(output.as_bytes()).iter().any(Finding::is_fixable)
        };
        assert!(is_fixable("MachineApplicable"));
        assert!(!is_fixable("MaybeIncorrect"));
    }

    #[test]
    fn a_missing_or_ambiguous_binary_is_an_error() {
        let none = executable(format!("{LIBRARY}\n{END}\n").as_bytes(), "crdgen").unwrap_err();
        assert!(
            none.to_string()
                .contains("did not build an executable `crdgen`")
        );
        let two = executable(format!("{CRDGEN}\n{CRDGEN}\n").as_bytes(), "crdgen").unwrap_err();
        assert!(two.to_string().contains("several packages"));
    }

    #[test]
    fn the_inputs_of_an_executable_are_its_sources_and_what_they_include() {
        let folder = tempfile::tempdir().unwrap();
        let debug = folder.path().join("debug");
        fs::create_dir(&debug).unwrap();
        let (executable, output) = (debug.join("captains"), debug.join("build/out/generated.rs"));
        let rule = format!(
            "{}: /p/src/a\\ b.sql /p/src/main.rs {}\n",
            executable.display(),
            output.display(),
        );
        fs::write(debug.join("captains.d"), rule).unwrap();
        let missing = folder.path().join("none");
        assert_eq!(
            inputs(&[executable, missing]),
            ["/p/src/a b.sql", "/p/src/main.rs"].map(PathBuf::from)
        );
    }
}
