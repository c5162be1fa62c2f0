//! State that the operators of one test share: their missing permissions, how many of them run, and what the API server calls.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    process::ChildStderr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use manager::harness::denied;

/// The operators of one test.
#[derive(Clone, Debug, Default)]
pub(super) struct Operators {
    state: Arc<Mutex<State>>,
    called: Arc<Mutex<Called>>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    ended: usize,
    /// The missing permissions, each as the comment that grants it.
    missing: BTreeSet<String>,
}

/// The webhook configurations in the namespace of the test.
#[derive(Debug, Default)]
pub(super) struct Called {
    /// How many operators serve them.
    pub(super) operators: usize,
    /// The kind and the name of each.
    pub(super) configurations: Vec<(String, String)>,
}

impl Operators {
    /// Whether some have run and none runs now.
    pub(super) fn have_ended(&self) -> bool {
        let state = self.lock();
        state.running == 0 && state.ended > 0
    }

    /// Counts an operator that has started.
    pub(super) fn begin(&self) {
        self.lock().running += 1;
    }

    /// Counts an operator that has ended.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
        state.ended += 1;
    }

    /// Copies an operator's log to standard error, and records the permissions that its `ServiceAccount` in `namespace`
    /// lacked.
    pub(super) fn follow(&self, log: ChildStderr, namespace: &str) {
        let (operators, user) = (self.clone(), user_prefix(namespace));
        thread::spawn(move || {
            let mut log = BufReader::new(log);
            let mut line = Vec::new();
            while log.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // If standard error is closed, the operator must still not block.
                let _ = std::io::stderr().write_all(&line);
                let found = marker(&String::from_utf8_lossy(&line), &user);
                operators.lock().missing.extend(found);
                line.clear();
            }
        });
    }

    /// An error that names every missing permission.
    pub(super) fn permitted(&self) -> anyhow::Result<()> {
        let missing = &self.lock().missing;
        let markers: Vec<_> = missing.iter().map(String::as_str).collect();
        anyhow::ensure!(
            markers.is_empty(),
            "the API server has forbidden the operator what these comments permit:\n{}\n\
             help: write them where the controller is registered, and run `make manifests`",
            markers.join("\n")
        );
        Ok(())
    }

    /// What the API server calls. Who changes it holds the lock until the API server has noticed.
    pub(super) fn called(&self) -> MutexGuard<'_, Called> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn user_prefix(namespace: &str) -> String {
    format!("User \"system:serviceaccount:{namespace}:")
}

/// The comment that permits what the API server has denied this user, by a line of the log.
fn marker(line: &str, user: &str) -> Option<String> {
    // Logs escape quotes, and nested errors more than once.
    let line = line.replace('\\', "");
    let (_, message) = line.split_once(user)?;
    Some(format!("    `{}`", denied(message)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_is_reported_as_its_rbac_comment() {
        let message = r#"{"error":"cannot list: pods is forbidden: User \"system:serviceaccount:test-a:crew\" cannot list resource \"pods\" in API group \"\" in the namespace \"test-a\""}"#;
        let permits = |namespace| marker(message, &user_prefix(namespace));
        let expected = "    `// +kbr:rbac:groups=core,resources=pods,verbs=list`";
        assert_eq!(permits("test-a").as_deref(), Some(expected));
        assert_eq!(permits("test-ab"), None, "another test's operator");

        let quoted = r#"Status { message: \\\"User \\\\"system:serviceaccount:a:b\\\\" cannot patch resource \\\\"ships/status\\\\" in API group \\\\"c.d\\\\" at the cluster scope"#;
        let expected = "    `// +kbr:rbac:groups=c.d,resources=ships/status,verbs=patch`";
        assert_eq!(marker(quoted, &user_prefix("a")).as_deref(), Some(expected));
    }

    #[test]
    fn an_operator_started_after_all_others_ended_is_recognized() {
        let operators = Operators::default();
        assert!(!operators.have_ended(), "the first one");
        operators.begin();
        assert!(!operators.have_ended(), "beside another one");
        operators.begin();
        operators.end();
        assert!(!operators.have_ended(), "beside another one");
        operators.begin();
        operators.end();
        operators.end();
        assert!(operators.have_ended());
    }
}
