//! A cluster in which a release of an operator has run, plans for it, and what a later release really does to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{fs, thread};

use kbr_envtest::Envtest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::release::Release;
use crate::support::KBR;

/// How long anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// How long nothing may change until a real operator is idle, too. If this is too short, a test sees less, and does not fail.
const QUIET: Duration = Duration::from_secs(2);

/// Objects by what names them: `ConfigMap navy/a`.
pub type State = BTreeMap<String, Value>;

pub struct Cluster {
    env: Envtest,
    pub folder: TempDir,
    /// The kinds that the operator may read or write.
    kinds: String,
    /// What the installers have applied.
    installed: BTreeSet<String>,
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
        CLUSTER.get_or_init(|| Self::of_captains(&["same"]))
    }

    /// A cluster in which release 1 has reconciled these captains.
    pub fn of_captains(names: &[&str]) -> Self {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "navy" } });
        let captain = |name: &&str| {
            json!({
                "apiVersion": "crew.example.com/v1", "kind": "Captain",
                "metadata": { "name": name, "namespace": "navy" }, "spec": { "rank": "admiral" },
            })
        };
        let captains: Vec<Value> = names.iter().map(captain).collect();
        Self::with(Release::of_captains("1"), &[namespace], &captains)
    }

    /// A cluster with these objects, of which the release has reconciled the second ones.
    pub fn with(release: &Release, world: &[Value], objects: &[Value]) -> Self {
        let mut cluster = Self {
            env: Envtest::builder().start().unwrap(),
            folder: tempfile::tempdir().unwrap(),
            kinds: release.kinds(),
            installed: BTreeSet::new(),
        };
        cluster.write("kubeconfig", &cluster.env.kubeconfig_text());
        cluster.apply(world).unwrap();
        let operator = cluster.start(release);
        // Its webhooks may not be served yet.
        let started = Instant::now();
        while let Err(error) = cluster.apply(objects) {
            assert!(started.elapsed() < LIMIT, "{error}");
        }
        let names: Vec<String> = objects.iter().map(name).collect();
        let are_reconciled = |state: &State| names.iter().all(|it| is_reconciled(&state[it]));
        let state = cluster.wait(are_reconciled);
        assert!(are_reconciled(&state), "{state:#?}");
        stop(operator);
        cluster
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        fs::write(&file, content).unwrap();
        file
    }

    pub fn apply(&self, objects: &[Value]) -> Result<(), String> {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let file = self.write("objects.json", &list.to_string());
        let arguments = ["apply", "--server-side", "--force-conflicts", "-f"];
        self.kubectl(&[&arguments, &[file.to_str().unwrap()][..]].concat())
            .map(drop)
    }

    /// What kubectl prints.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.env.kubectl().args(arguments).output().unwrap();
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout).unwrap());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("kubectl {arguments:?}: {errors}"))
    }

    /// Installs a release and runs it in the cluster itself, as a real deployment would, until it leads.
    fn start(&mut self, release: &Release) -> Child {
        let objects = release.objects();
        self.installed.extend(objects.iter().map(name));
        let port = free_port();
        let reachable: Vec<Value> = objects.iter().map(|it| at_port(it, port)).collect();
        let (definitions, others): (Vec<Value>, Vec<Value>) =
            reachable.into_iter().partition(|it| {
                ["CustomResourceDefinition", "Namespace"].contains(&it["kind"].as_str().unwrap())
            });
        self.apply(&definitions).unwrap();
        let served = ["wait", "--for=condition=Established", "--all", "crds"];
        // It fails while one has no conditions at all.
        let started = Instant::now();
        while let Err(error) = self.kubectl(&served) {
            assert!(started.elapsed() < LIMIT, "{error}");
            thread::sleep(Duration::from_millis(100));
        }
        self.apply(&others).unwrap();
        let (namespace, account) = release.account();
        // It need not wait until the Lease of an earlier one expires.
        let leases = ["--namespace", &*namespace, "leases.coordination.k8s.io"];
        let deleted = [&["delete", "--all"], &leases[..]].concat();
        self.kubectl(&deleted).unwrap();
        let mut operator = Command::new(&release.program);
        operator
            .args(release.arguments(port))
            .envs(release.environment())
            .env("POD_NAMESPACE", &namespace)
            .env("KUBECONFIG", self.kubeconfig(&namespace, &account))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut operator = operator.spawn().unwrap();
        let leader = [
            &["get", "--output=jsonpath={..holderIdentity}"],
            &leases[..],
        ]
        .concat();
        let started = Instant::now();
        while self.kubectl(&leader).unwrap().is_empty() {
            assert!(started.elapsed() < LIMIT, "it does not lead");
            assert_eq!(operator.try_wait().unwrap(), None);
            thread::sleep(Duration::from_millis(100));
        }
        operator
    }

    /// The credentials of the operator.
    fn kubeconfig(&self, namespace: &str, account: &str) -> PathBuf {
        let token = ["create", "token", account, "--namespace", namespace];
        let token = self.kubectl(&token).unwrap();
        let mut config: Value = serde_json::from_str(&self.env.kubeconfig_text()).unwrap();
        config["users"][0]["user"] = json!({ "token": token.trim() });
        self.write("operator.kubeconfig", &config.to_string())
    }

    /// Installs and runs a release until the state `is_reached`, and nothing changes any more. Returns the state at last.
    pub fn upgrade(&mut self, release: &Release, is_reached: impl Fn(&State) -> bool) -> State {
        let operator = self.start(release);
        let state = self.wait(is_reached);
        stop(operator);
        state
    }

    fn wait(&self, is_reached: impl Fn(&State) -> bool) -> State {
        let started = Instant::now();
        let mut last = (self.state(), Instant::now());
        loop {
            let state = self.state();
            if state != last.0 {
                last = (state, Instant::now());
            }
            let is_quiet = last.1.elapsed() >= QUIET;
            if is_quiet && is_reached(&last.0) || started.elapsed() > LIMIT {
                return last.0;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The objects of the kinds of the operator, apart from those that the installers have applied.
    pub fn state(&self) -> State {
        let listed = [
            "get",
            &self.kinds,
            "--all-namespaces",
            "--output=json",
            "--show-managed-fields",
        ];
        let listed = self.kubectl(&listed).unwrap();
        let mut listed: Value = serde_json::from_str(&listed).unwrap();
        let items = listed["items"].as_array_mut().unwrap().drain(..);
        let named = items.map(|it| (name(&it), it));
        named
            .filter(|(name, _)| !self.installed.contains(name))
            .collect()
    }

    /// The exit code of `kbr plan`, and what it prints.
    pub fn text(&self, flags: &[&str], today: &Release, next: &Release) -> (i32, String) {
        let mut kbr = Command::new(KBR);
        kbr.args(["plan", "--idle=3"])
            .args(confinement())
            .args(flags);
        kbr.arg("--install").arg(&next.install);
        kbr.arg("--baseline").arg(&today.program);
        kbr.arg("--baseline-install").arg(&today.install);
        kbr.arg("--").arg(&next.program);
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
    pub fn plan(&self, flags: &[&str], today: &Release, next: &Release) -> (i32, Value) {
        let flags = [&["--output=json"], flags].concat();
        let (code, printed) = self.text(&flags, today, next);
        (code, serde_json::from_str(&printed).unwrap())
    }
}

/// Whether another one than kubectl has written the object.
fn is_reconciled(object: &Value) -> bool {
    let managers = object["metadata"]["managedFields"].as_array();
    let mut managers = managers.into_iter().flatten();
    managers.any(|it| it["manager"] != "kubectl")
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The object, whose webhooks are called at a port of this machine instead of through a Service.
fn at_port(object: &Value, port: u16) -> Value {
    let mut object = object.clone();
    let mut all: Vec<&mut Value> = Vec::new();
    match object["kind"].as_str().unwrap() {
        "CustomResourceDefinition" => {
            all.extend(object.pointer_mut("/spec/conversion/webhook/clientConfig"));
        }
        kind if kind.ends_with("WebhookConfiguration") => {
            let webhooks = object["webhooks"].as_array_mut().unwrap();
            all.extend(webhooks.iter_mut().map(|it| &mut it["clientConfig"]));
        }
        _ => {}
    }
    for client in all {
        let path = client["service"]["path"].as_str().unwrap();
        *client = json!({ "url": format!("https://127.0.0.1:{port}{path}") });
    }
    object
}

/// `ConfigMap navy/a`, `Node b`.
fn name(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let meta = &object["metadata"];
    full_name(
        &text(&object["kind"]),
        &text(&meta["namespace"]),
        &text(&meta["name"]),
    )
}

fn full_name(kind: &str, namespace: &str, name: &str) -> String {
    match namespace {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

fn stop(mut operator: Child) {
    let _ = Command::new("kill").arg(operator.id().to_string()).status();
    operator.wait().unwrap();
}

/// What a plan says: `changed ConfigMap navy/a`, and the number of objects of a kind whose status changes: `status of 3 Captain`.
pub fn named(plan: &Value) -> BTreeSet<String> {
    named_in(&plan["changes"])
}

/// The same of a part of it.
pub fn named_in(changes: &Value) -> BTreeSet<String> {
    let text = |it: &Value, field: &str| it[field].as_str().unwrap().to_owned();
    let mut all = BTreeSet::new();
    for it in changes["objects"].as_array().unwrap() {
        let [action, kind, namespace, name] =
            ["action", "kind", "namespace", "name"].map(|field| text(it, field));
        all.insert(format!("{action} {}", full_name(&kind, &namespace, &name)));
        let dependents = it["dependents"].as_array().unwrap();
        all.extend(
            dependents
                .iter()
                .map(|it| format!("deleted {}", it.as_str().unwrap())),
        );
    }
    let status = changes["status"].as_array().unwrap().iter();
    all.extend(status.map(|it| format!("status of {} {}", it["objects"], text(it, "kind"))));
    all
}

/// The same of two states.
pub fn changes(before: &State, after: &State) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut status: BTreeMap<&str, usize> = BTreeMap::new();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let action = match (before.get(name), after.get(name)) {
            (None, _) => "created",
            (_, None) => "deleted",
            (Some(old), Some(new)) if old["metadata"]["uid"] != new["metadata"]["uid"] => {
                "recreated"
            }
            (Some(old), Some(new)) => {
                if old["status"] != new["status"] {
                    *status.entry(old["kind"].as_str().unwrap()).or_default() += 1;
                }
                if plain(old) == plain(new) {
                    continue;
                }
                "changed"
            }
        };
        all.insert(format!("{action} {name}"));
    }
    let status = status.into_iter();
    all.extend(status.map(|(kind, count)| format!("status of {count} {kind}")));
    all
}

/// Without its status, and without what every write changes.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    let meta = object["metadata"].as_object_mut().unwrap();
    meta.retain(|field, _| !["managedFields", "resourceVersion", "generation"].contains(&&**field));
    object
}
