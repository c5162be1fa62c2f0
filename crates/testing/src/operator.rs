//! Tests of the whole operator as a process, and `kubectl`.

use std::{
    ffi::OsString,
    io::{IsTerminal as _, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    Cluster, operators::Operators, service_account::ServiceAccount, turns::Turn, webhooks::Webhooks,
};

/// The interval in which a command is polled.
const PERIOD: Duration = Duration::from_millis(10);

/// The operator as a process; dropping this kills it. The API server stops calling its webhooks first.
#[derive(Debug)]
#[must_use = "the operator ends when this is dropped"]
pub struct Operator {
    process: Child,
    webhooks: Option<Webhooks>,
    /// Removes the kubeconfig last.
    _account: Option<ServiceAccount>,
    operators: Operators,
    _turn: Option<Arc<Turn>>,
}

impl Drop for Operator {
    fn drop(&mut self) {
        drop(self.webhooks.take());
        // An error means that the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.operators.end();
    }
}

impl Cluster {
    /// Starts the operator `program` for the namespace of this test. Its warnings go to standard error; `RUST_LOG` in
    /// the environment of the test, such as `debug`, selects what else does.
    ///
    /// It runs as the `ServiceAccount` of the Deployment in `config/default` and has its permissions, in the namespace
    /// of the test instead of the operator's own. The client of the test is an administrator. If the API server forbids
    /// the operator a request, [`kubectl`](Self::kubectl) and [`close`](Self::close) fail and report the rules to add.
    ///
    /// If the project has webhooks, this function makes the API server call them for this namespace, and waits until it
    /// does. If several operators of the test run, the one that started last is called. Conversion is shared by all tests: of all
    /// operators that run, the one that started last converts. If none runs, the API server waits ten seconds for one.
    ///
    /// # Errors
    /// If the program does not exist, `config/default` cannot be rendered, the operator ends or does not serve its
    /// webhooks within three minutes, or the API server does not call them within another three. The error names what
    /// was missing, and the last answer.
    pub fn operator(&self, program: &str) -> anyhow::Result<Operator> {
        self.operator_with(program, |_| {})
    }

    /// Like [`operator`](Self::operator), with flags and an environment of your own. A variable that `configure` sets
    /// replaces that of this crate; a flag may not be given twice.
    ///
    /// A missing permission is found in the log, so warnings must stay in it.
    ///
    /// ```no_run
    /// # async fn test() -> anyhow::Result<()> {
    /// let cluster = kbr_testing::Cluster::connect().await?;
    /// let operator = cluster.operator_with("target/debug/captains", |command| {
    ///     command.args(["--harbor", "http://127.0.0.1:9000"]).env("RUST_LOG", "warn,captains=debug");
    /// })?;
    /// # drop(operator);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`operator`](Self::operator).
    pub fn operator_with(
        &self,
        program: &str,
        configure: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Operator> {
        let account = ServiceAccount::create(self)?;
        if self.operators.have_ended() {
            // Earlier operators were killed, so they have not released their lease.
            self.kubectl(&["delete", "leases", "--all"])?;
        }
        let webhooks = Webhooks::prepare()?;
        let mut command = command(program, self.namespace());
        if let Some(account) = &account {
            account.tell(&mut command);
        }
        if let Some(webhooks) = &webhooks {
            webhooks.tell(&mut command);
        }
        configure(&mut command);
        let mut process = command
            .spawn()
            .with_context(|| format!("cannot run `{program}`"))?;
        self.operators.begin();
        if let Some(log) = process.stderr.take() {
            self.operators.follow(log, self.namespace());
        }
        let mut operator = Operator {
            process,
            webhooks,
            _account: account,
            operators: self.operators.clone(),
            _turn: self.turn.clone(),
        };
        if let Some(webhooks) = &mut operator.webhooks {
            webhooks.install(self, &mut operator.process)?;
        }
        Ok(operator)
    }

    /// Runs `kubectl` in the namespace of this test, and returns its standard output.
    ///
    /// # Errors
    /// The standard error of `kubectl`, if it fails; after `wait`, with the conditions of the objects. Also if the API server has
    /// forbidden an operator of this test a request, before or meanwhile; the error names the rules to add.
    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let args = [&["--namespace", self.namespace()], args].concat();
        let ran = self.kubectl_with(&args, "");
        ran.map_err(|error| match self.awaited(&args) {
            Some(objects) => anyhow::anyhow!("{error}{}", conditions(&objects)),
            None => error,
        })
    }

    /// What a `kubectl wait` with these arguments waits for, as `kubectl get` prints it.
    fn awaited(&self, args: &[&str]) -> Option<Value> {
        let is_target = |it: &&str| !it.starts_with("--for=") && !it.starts_with("--timeout=");
        let mut get: Vec<_> = args.iter().copied().filter(is_target).collect();
        *get.iter_mut().find(|it| **it == "wait")? = "get";
        get.push("--output=json");
        let printed = self.kubectl_with(&get, "").ok()?;
        serde_json::from_str(&printed).ok()
    }

    /// Runs `kubectl` in any namespace, with this input.
    pub(super) fn kubectl_with(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        let cannot = "cannot run `kubectl`";
        let mut process = Command::new("kubectl")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context(cannot)?;
        let (output, errors) = (read(process.stdout.take()), read(process.stderr.take()));
        if let Some(mut stdin) = process.stdin.take() {
            // If it stops reading its input, its error explains why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let status = self.wait(&mut process)?;
        let [output, errors] = [output, errors].map(|text| text.join().unwrap_or_default());
        anyhow::ensure!(
            status.success(),
            "`kubectl {}` failed: {}",
            args.join(" "),
            errors.trim_end()
        );
        Ok(output)
    }

    /// Has `kubectl create` with these arguments print the objects in `input` as JSON, and returns them.
    pub(super) fn kubectl_create(&self, args: &[&str], input: &str) -> anyhow::Result<Vec<Value>> {
        let create = ["create", "--output=json"];
        let printed = self.kubectl_with(&[&create[..], args].concat(), input)?;
        // It prints them one after the other.
        let objects = serde_json::Deserializer::from_str(&printed).into_iter();
        let objects: Result<_, _> = objects.collect();
        objects.context("`kubectl` printed no JSON")
    }

    /// Waits until a command has ended, but stops if it may be waiting for something that the operator is forbidden to
    /// do.
    fn wait(&self, process: &mut Child) -> anyhow::Result<ExitStatus> {
        loop {
            if let Err(error) = self.operators.permitted() {
                // An error means that the process has ended already.
                let _ = process.kill();
                let _ = process.wait();
                return Err(error);
            }
            if let Some(status) = process.try_wait()? {
                return Ok(status);
            }
            thread::sleep(PERIOD);
        }
    }
}

/// The conditions of an object, or of those in a list, a line each.
fn conditions(objects: &Value) -> String {
    let all = objects["items"].as_array();
    let all = all.map_or(std::slice::from_ref(objects), Vec::as_slice);
    let lines = all.iter().flat_map(|object| {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let title = word(&object["kind"]) + " " + &word(&object["metadata"]["name"]);
        let conditions = object["status"]["conditions"].as_array();
        let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
        let shown = conditions.iter().map(|it| {
            let [kind, status, reason, message] =
                ["type", "status", "reason", "message"].map(|field| word(&it[field]));
            format!("\n    {title}: {kind}={status} {reason} {message}")
        });
        let none = conditions.is_empty();
        let none = none.then(|| format!("\n    {title} has no conditions"));
        shown.chain(none).collect::<Vec<_>>()
    });
    lines.collect()
}

/// What the operator logs: warnings, which show missing permissions, and what `RUST_LOG` of the test adds.
fn log_level(of_test: Option<OsString>) -> OsString {
    let Some(wanted) = of_test.filter(|wanted| !wanted.is_empty()) else {
        return "warn".into();
    };
    let mut level = OsString::from("warn,");
    level.push(wanted);
    level
}

/// Runs the operator for this namespace.
fn command(program: &str, namespace: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--health-probe-bind-address", "127.0.0.1:0"])
        .args(["--metrics-bind-address", "0"])
        .env("WATCH_NAMESPACE", namespace)
        .env("RUST_LOG", log_level(std::env::var_os("RUST_LOG")))
        // Where lists are streamed, a missing permission to list would not be noticed.
        .env("KUBE_FEATURE_WatchListClient", "false")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if std::io::stderr().is_terminal() {
        command.args(["--log-format", "text"]);
    }
    command
}

/// Reads the output of a command, so that the command never blocks on a full pipe.
fn read(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, the output so far is enough.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_conditions_of_all_objects_are_shown() {
        let condition = json!({ "type": "Ready", "status": "False", "reason": "Waiting", "message": "for the crew" });
        let named = |name: &str| json!({ "kind": "Captain", "metadata": { "name": name } });
        let mut captain = named("a");
        captain["status"] = json!({ "conditions": [condition] });
        let shown = "\n    Captain a: Ready=False Waiting for the crew";
        assert_eq!(conditions(&captain), shown);
        let list = json!({ "items": [captain, named("b")] });
        let both = format!("{shown}\n    Captain b has no conditions");
        assert_eq!(conditions(&list), both);
    }

    #[test]
    fn the_operator_logs_warnings_and_what_the_test_selects() {
        assert_eq!(log_level(None), "warn");
        assert_eq!(log_level(Some(OsString::new())), "warn");
        assert_eq!(log_level(Some("debug".into())), "warn,debug");
        assert_eq!(
            log_level(Some("captains=debug".into())),
            "warn,captains=debug"
        );
    }
}
