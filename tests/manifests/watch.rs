//! `kbr manifests --watch`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::{CRD, ROLE, command, crd, project, write};

/// A running `kbr manifests --watch` and the lines that it prints; killed on drop.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(root: &TempDir) -> Self {
        let mut child = command(root, &["--watch"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| send.send(line))
        });
        Self { child, lines }
    }

    /// Waits for a line that begins with `start`; returns all lines up to it.
    fn until(&self, start: &str) -> String {
        let mut printed = String::new();
        while !printed
            .lines()
            .last()
            .is_some_and(|line| line.starts_with(start))
        {
            let line = self.lines.recv_timeout(Duration::from_secs(120));
            printed += &line.unwrap_or_else(|_| panic!("no `{start}` after:\n{printed}"));
            printed += "\n";
        }
        printed
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn watching_runs_again_after_each_change_and_continues_after_errors() {
    let root = project(&json!([crd("Captain", "v1")]));
    let watch = Watch::start(&root);
    // Without the number of files that stayed the same.
    let changes = || {
        let line = watch.until("manifests:");
        let changes = line.strip_suffix(" same\n").expect("a summary");
        changes.trim_end_matches(char::is_numeric).to_owned()
    };
    assert!(changes().starts_with(&format!("manifests: create {ROLE} {CRD}")));

    let marker = "// +kbr:rbac:groups=apps,resources=daemonsets,verbs=get\n";
    write(&root, "src/other.rs", marker);
    assert_eq!(changes(), format!("manifests: update {ROLE}, "));

    write(
        &root,
        "src/other.rs",
        &marker.replace("daemonsets", "daemonset"),
    );
    let printed = watch.until("    help: if your Kubernetes is newer");
    assert!(
        printed.starts_with("error: cannot generate the manifests"),
        "{printed}"
    );
    assert!(
        printed.contains("    help: did you mean `daemonsets`"),
        "{printed}"
    );

    write(&root, "src/other.rs", marker);
    assert_eq!(changes(), "manifests: ");
    fs::remove_file(root.path().join(ROLE)).unwrap();
    assert_eq!(changes(), format!("manifests: create {ROLE}, "));
}
