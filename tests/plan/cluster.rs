//! A cluster in which release 1 of the operator has run, and plans for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{fs, thread};

use kbr_envtest::Envtest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::KBR;

/// How long anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Kinds that the operator writes.
const KINDS: &str =
    "captains.crew.example.com,deployments.apps,statefulsets.apps,jobs.batch,configmaps,secrets";

/// An object: `ConfigMap navy/a`.
pub type State = BTreeMap<String, Value>;

pub struct Cluster {
    env: Envtest,
    pub folder: TempDir,
}

/// The operator. It is built once, if it is not up to date.
pub fn operator() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let cargo = [
            "build",
            "--quiet",
            "--workspace",
            "--all-features",
            "--example",
            "releases",
        ];
        let built = Command::new(env!("CARGO")).args(cargo).status().unwrap();
        assert!(built.success());
        Path::new(KBR).with_file_name("examples").join("releases")
    })
}

/// Flags without which kbr refuses to run where there can be no sandbox, such as in some containers.
pub fn confinement() -> &'static [&'static str] {
    static TRIED: OnceLock<bool> = OnceLock::new();
    let works = TRIED.get_or_init(|| {
        let mut bwrap = Command::new("bwrap");
        bwrap.args([
            "--unshare-all",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "/bin/true",
        ]);
        bwrap.output().is_ok_and(|it| it.status.success())
    });
    if *works { &[] } else { &["--unconfined"] }
}

impl Cluster {
    /// A cluster with a captain that never changes.
    pub fn shared() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| Self::with(&["same"]))
    }

    /// A cluster in which release 1 has reconciled these captains.
    pub fn with(captains: &[&str]) -> Self {
        let cluster = Self {
            env: Envtest::builder().start().unwrap(),
            folder: tempfile::tempdir().unwrap(),
        };
        fs::write(
            cluster.folder.path().join("kubeconfig"),
            cluster.env.kubeconfig_text(),
        )
        .unwrap();
        for release in ["1", "2", "fights", "ends"] {
            let printed = Command::new(operator())
                .arg("install")
                .env("RELEASE", release)
                .output()
                .unwrap();
            fs::write(cluster.install(release), printed.stdout).unwrap();
        }
        let install = cluster.install("1");
        cluster.kubectl(&["apply", "--server-side", "-f", install.to_str().unwrap()]);
        cluster.kubectl(&[
            "wait",
            "--for=condition=Established",
            "crd/captains.crew.example.com",
        ]);
        cluster.kubectl(&["create", "namespace", "navy"]);
        let objects = captains.iter().map(|name| {
            json!({
                "apiVersion": "crew.example.com/v1", "kind": "Captain",
                "metadata": { "name": name, "namespace": "navy" }, "spec": { "rank": "admiral" },
            })
        });
        cluster.apply(&objects.collect::<Vec<_>>());
        let is_reconciled = |state: &State| {
            let captains = state
                .iter()
                .filter(|(name, _)| name.starts_with("Captain "));
            captains
                .filter(|(_, it)| it["status"]["observedRelease"] == "1")
                .count()
                == captains_of(state)
        };
        let operator = cluster.start("1");
        cluster.wait(is_reconciled);
        stop(operator);
        cluster
    }

    pub fn install(&self, release: &str) -> PathBuf {
        self.folder.path().join(format!("{release}.yaml"))
    }

    pub fn apply(&self, objects: &[Value]) {
        let file = self.folder.path().join("objects.json");
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        fs::write(&file, list.to_string()).unwrap();
        self.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    }

    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.env.kubectl().args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a release in the cluster itself, as a real deployment would.
    fn start(&self, release: &str) -> Child {
        let mut operator = Command::new(operator());
        operator.args([
            "--health-probe-bind-address=127.0.0.1:0",
            "--metrics-bind-address=0",
        ]);
        operator
            .env("RELEASE", release)
            .env("POD_NAMESPACE", "crew-system");
        operator.env("KUBECONFIG", self.folder.path().join("kubeconfig"));
        operator
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        operator.spawn().unwrap()
    }

    /// Installs and runs release 2 until the state `is_reached`.
    pub fn upgrade(&self, is_reached: impl Fn(&State) -> bool) -> State {
        let install = self.install("2");
        self.kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "-f",
            install.to_str().unwrap(),
        ]);
        let operator = self.start("2");
        let state = self.wait(is_reached);
        stop(operator);
        state
    }

    fn wait(&self, is_reached: impl Fn(&State) -> bool) -> State {
        let started = Instant::now();
        loop {
            let state = self.state();
            if is_reached(&state) || started.elapsed() > LIMIT {
                return state;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The objects of the operator.
    pub fn state(&self) -> State {
        let listed = self.kubectl(&["get", KINDS, "--namespace=navy", "--output=json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let named = |it: &Value| {
            let kind = it["kind"].as_str().unwrap();
            (
                format!("{kind} navy/{}", it["metadata"]["name"].as_str().unwrap()),
                it.clone(),
            )
        };
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(named)
            .collect()
    }

    /// The exit code of `kbr plan`, and what it prints.
    pub fn text(&self, flags: &[&str], today: &str, next: &str) -> (i32, String) {
        let mut kbr = Command::new(KBR);
        kbr.args(["plan", "--idle=3"])
            .args(confinement())
            .args(flags);
        kbr.arg("--install").arg(self.install(next));
        kbr.arg("--baseline")
            .arg(operator())
            .arg("--baseline-install")
            .arg(self.install(today));
        kbr.arg("--").arg(operator());
        kbr.env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .current_dir(self.folder.path());
        let output = kbr.stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code().unwrap();
        assert!(code != 1, "{errors}");
        (code, printed)
    }

    /// The exit code of `kbr plan`, and its report.
    pub fn plan(&self, flags: &[&str], today: &str, next: &str) -> (i32, Value) {
        let flags = [&["--output=json"], flags].concat();
        let (code, printed) = self.text(&flags, today, next);
        (code, serde_json::from_str(&printed).unwrap())
    }
}

fn captains_of(state: &State) -> usize {
    state.keys().filter(|it| it.starts_with("Captain ")).count()
}

fn stop(mut operator: Child) {
    let _ = Command::new("kill").arg(operator.id().to_string()).status();
    operator.wait().unwrap();
}

/// What a plan says, as `changed ConfigMap navy/a`.
pub fn named(changes: &Value) -> BTreeSet<String> {
    let objects = changes["objects"].as_array().unwrap();
    let name = |it: &Value| {
        let text = |field: &str| it[field].as_str().unwrap().to_owned();
        format!(
            "{} {} {}/{}",
            text("action"),
            text("kind"),
            text("namespace"),
            text("name")
        )
    };
    objects.iter().map(name).collect()
}

/// The same of two states, apart from the status.
pub fn changes(before: &State, after: &State) -> BTreeSet<String> {
    let plain = |object: &Value| {
        let mut object = object.clone();
        object.as_object_mut().unwrap().remove("status");
        let meta = object["metadata"].as_object_mut().unwrap();
        for field in [
            "managedFields",
            "resourceVersion",
            "generation",
            "uid",
            "creationTimestamp",
        ] {
            meta.remove(field);
        }
        object
    };
    let mut all = BTreeSet::new();
    for name in before.keys().chain(after.keys()) {
        let action = match (before.get(name), after.get(name)) {
            (Some(_), None) => "deleted",
            (None, Some(_)) => "created",
            (Some(old), Some(new)) if old["metadata"]["uid"] != new["metadata"]["uid"] => {
                "recreated"
            }
            (Some(old), Some(new)) if plain(old) != plain(new) => "changed",
            _ => continue,
        };
        all.insert(format!("{action} {name}"));
    }
    all
}
