//! Draws the pictures of the docs: what `kbr plan` prints of the operator of `tests/plan`, and a run of `kbr dev` with that of `examples/foo`,
//! its screen in a terminal, and its dashboard with what Prometheus scraped meanwhile. `make pictures` runs it.

mod chart;
mod dashboard;
mod dev;
mod plan;
mod prometheus;
#[path = "../../tests/support/terminal.rs"]
mod pty;
mod screen;
mod theme;

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use dashboard::{Span, Variables};
use dev::Screen;
use prometheus::Prometheus;

/// A Deployment that is not the operator's, and a Foo of its name: the operator reports the conflict.
const CONFLICT: &str = r#"{ "apiVersion": "v1", "kind": "List", "items": [
  { "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": {
      "selector": { "matchLabels": { "app": "web" } }, "template": { "metadata": { "labels": { "app": "web" } },
      "spec": { "containers": [{ "name": "web", "image": "nginx:1.29" }] } } } },
  { "apiVersion": "samplecontroller.c9g.io/v1alpha1", "kind": "Foo", "metadata": { "name": "web" },
    "spec": { "image": "nginx:1.29", "replicas": 2 } } ] }"#;

/// How long the charts of the dashboard go back.
const SHOWN: Duration = Duration::from_secs(300);

/// The first row of the dashboard that is not drawn: the operator has no webhooks.
const NOT_DRAWN: &str = "Webhooks";

fn main() {
    let kbr = PathBuf::from(env::args_os().nth(1).expect("the path of kbr"));
    let kbr = kbr.canonicalize().expect("kbr exists");
    draw("plan", "kbr plan", plan::terminal(&kbr).screen());
    let metrics = format!("127.0.0.1:{}", prometheus::free_port());
    let flags = [
        format!("--metrics-bind-address={metrics}"),
        "--metrics-secure=false".to_owned(),
        "--leader-elect".to_owned(),
    ];
    let mut screen = Screen::start(&kbr, &flags);
    let cluster = screen.shows("cluster   export KUBECONFIG=");
    screen.shows("operator  running for");
    screen.shows("default/foo-sample                True");
    let kubeconfig = cluster.rsplit('=').next().expect("a path").trim();
    kubectl(&kbr, kubeconfig, "create", CONFLICT);
    screen.shows("ReconcileFailed");
    screen.shows("MinimumReplicasAvailable");
    screen.shows("3 Pods are available");
    screen.shows("errors and warnings");
    screen.shows("operator  running for 20s");
    draw("dev", "kbr dev", screen.terminal.screen());
    draw_dashboard(&metrics, |foos| kubectl(&kbr, kubeconfig, "apply", foos));
    screen.end();
}

/// Draws the dashboard of the operator, whose users change their objects meanwhile.
fn draw_dashboard(metrics: &str, apply: impl Fn(&str)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/foo/grafana/dashboard.json");
    let json = fs::read_to_string(path).expect("the dashboard of the example");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let variables = Variables {
        job: dashboard::text(&json["templating"]["list"][1], "query").to_owned(),
        namespace: "foo-system",
    };
    let labels = [
        ("job", variables.job.as_str()),
        ("namespace", variables.namespace),
        ("pod", "kbr-dev"),
    ];
    let prometheus = Prometheus::start(metrics, &labels);
    prometheus.knows("controller_runtime_reconcile_total");
    let began = now();
    for round in 0.. {
        // Waves, as of people who work.
        let wave = 3 + 3 * (round / 10 % 3);
        apply(&foos(wave, round).to_string());
        if now() - began > SHOWN.as_secs_f64() + 5.0 {
            break;
        }
        thread::sleep(Duration::from_secs(2));
    }
    let to = now();
    let span = Span {
        from: to - SHOWN.as_secs_f64(),
        to,
    };
    let panels = dashboard::panels(&json, NOT_DRAWN, (&prometheus, &variables, span));
    prometheus.end();
    for (name, theme) in [
        ("dashboard-light.svg", theme::LIGHT),
        ("dashboard-dark.svg", theme::DARK),
    ] {
        write(
            name,
            &dashboard::picture(dashboard::text(&json, "title"), &panels, span, &theme),
        );
    }
}

/// Some Foos, whose replicas depend on the round.
fn foos(count: u32, round: u32) -> Value {
    let shop = |at: u32| {
        json!({ "apiVersion": "samplecontroller.c9g.io/v1alpha1", "kind": "Foo", "metadata": { "name": format!("shop-{at}") },
            "spec": { "image": "nginx:1.29", "replicas": 1 + (round + at) % 3 } })
    };
    json!({ "apiVersion": "v1", "kind": "List", "items": (0..count).map(shop).collect::<Vec<_>>() })
}

/// Unix seconds.
fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a time after 1970").as_secs_f64()
}

/// Draws a terminal in both themes.
fn draw(name: &str, title: &str, screen: &vt100::Screen) {
    for (suffix, theme) in [("light", theme::LIGHT), ("dark", theme::DARK)] {
        let picture = screen::picture(screen, title, &theme);
        write(&format!("{name}-{suffix}.svg"), &picture);
    }
}

fn write(name: &str, picture: &str) {
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    fs::write(pictures.join(name), picture).expect("a writable folder");
}

/// Passes objects to kubectl, as an administrator of the cluster of `kbr dev`.
fn kubectl(kbr: &Path, kubeconfig: &str, verb: &str, objects: &str) {
    let path = Command::new(kbr).args(["envtest", "path"]).output();
    let path = String::from_utf8(path.expect("kbr runs").stdout).expect("UTF-8");
    let mut kubectl = Command::new(Path::new(path.trim()).join("kubectl"))
        .args(["--kubeconfig", kubeconfig, verb, "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("kubectl runs");
    let mut input = kubectl.stdin.take().expect("a pipe");
    input.write_all(objects.as_bytes()).expect("kubectl reads");
    drop(input);
    assert!(kubectl.wait().expect("kubectl ends").success());
}
