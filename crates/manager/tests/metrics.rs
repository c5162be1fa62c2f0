//! Compare the metrics with those of an operator on controller-runtime, recorded by `controller-runtime/record`, and list their series.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::{SocketAddr, TcpListener},
    path::Path,
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use manager::{
    Action, Manager, Options,
    webhook::{Defaulter, Rejection, Request},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

/// The metrics of controller-runtime 0.25.2.
const THEIRS: &str = include_str!("controller-runtime/scrape.txt");

/// Metrics that only controller-runtime has; `*` stands for any suffix. The reasons are in `docs/metrics.md`.
const MISSING: [&str; 1] = ["go_*"];

/// Metrics that only kbr-manager has.
const ADDED: [&str; 8] = [
    "manager_cache_age_seconds",
    "manager_cache_synced",
    "manager_cache_unreadable_objects",
    "manager_reconcile_causes_total",
    "manager_reconcile_loops_total",
    "manager_storage_migration_objects_total",
    "manager_storage_migration_pending",
    "manager_webhook_unreadable_objects_total",
];

/// A family of metrics, as dashboards and alerts see it.
#[derive(Debug, Default, PartialEq)]
struct Family {
    kind: String,
    labels: BTreeSet<String>,
    /// The bounds of its buckets, as text.
    bounds: Vec<String>,
}

/// The families of a scrape by their names.
fn families(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("# TYPE ") {
            let (name, kind) = line.split_once(' ').unwrap();
            let family = families.entry(name.to_owned()).or_default();
            kind.clone_into(&mut family.kind);
        } else if !line.starts_with('#') {
            sample(line, &mut families);
        }
    }
    families
}

fn sample(line: &str, families: &mut BTreeMap<String, Family>) {
    let (series, value) = line.rsplit_once(' ').unwrap();
    value.parse::<f64>().unwrap();
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let ends = ["_bucket", "_count", "_sum"].map(|end| name.strip_suffix(end));
    let of_histogram = ends
        .into_iter()
        .flatten()
        .find(|name| families.contains_key(*name));
    let family = families.get_mut(of_histogram.unwrap_or(name));
    let family = family.unwrap_or_else(|| panic!("`{name}` has no type"));
    for label in labels.trim_end_matches('}').split_terminator("\",") {
        let (label, value) = label.split_once("=\"").unwrap();
        if label != "le" {
            family.labels.insert(label.to_owned());
        } else if !family
            .bounds
            .iter()
            .any(|bound| bound == value.trim_end_matches('"'))
        {
            family.bounds.push(value.trim_end_matches('"').to_owned());
        }
    }
}

fn matches(patterns: &[&str], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *pattern == name,
        })
}

/// The response of `/metrics`, including its head, for a manager with a controller, a webhook and an election.
async fn scrape() -> String {
    let api = FakeApi::new();
    let address = free_address();
    let mut options = Options::default();
    options.health_probe_bind_address = "0".parse().unwrap();
    options.leader_elect = true;
    options.metrics_bind_address = address.to_string().parse().unwrap();
    options.metrics_secure = false;
    options.shutdown_delay = Duration::ZERO;
    options.webhook_host = Some("127.0.0.1".to_owned());
    options.webhook_port = free_address().port();
    let mut manager = api.manager_with(options);
    register(&mut manager);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        manager.run_until(stopped).await
    });
    let look = async || {
        let text = get(address).await.unwrap_or_default();
        // The requests of the election are the last to appear.
        Ok(text
            .contains("\nleader_election_master_status{name=\"test.example.com\"} 1")
            .then_some(text))
    };
    let text = eventually(Duration::from_secs(180), "the metrics of a leader", look).await;
    let _ = stop.send(());
    running.await.unwrap().unwrap();
    text.unwrap()
}

fn register(manager: &mut Manager) {
    manager
        .controller::<ConfigMap>("configmap")
        .reconcile(async |_, _| Ok(Action::await_change()));
    manager.defaulter::<ConfigMap>(Nothing);
    manager.migrate_storage::<ConfigMap>();
}

/// A webhook that changes nothing.
struct Nothing;

impl Defaulter<ConfigMap> for Nothing {
    async fn default(&self, _: &mut ConfigMap, _: &Request<ConfigMap>) -> Result<(), Rejection> {
        Ok(())
    }
}

/// An address on which nothing listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

async fn get(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                   accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

#[tokio::test]
async fn names_types_labels_and_buckets_match_controller_runtime() {
    let answer = scrape().await;
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    // The same as in controller-runtime, whatever the client accepts.
    let media_type = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(head.contains(media_type), "{head}");
    let (ours, theirs) = (families(text), families(THEIRS));
    let mut differences = Vec::new();
    for (name, family) in &theirs {
        match ours.get(name) {
            None if matches(&MISSING, name) => {}
            None => differences.push(format!("no {name}")),
            Some(_) if matches(&MISSING, name) => differences.push(format!("not missing: {name}")),
            Some(ours) if ours == family => {}
            Some(ours) => differences.push(format!("{name}: {ours:?} instead of {family:?}")),
        }
    }
    for name in ours.keys().filter(|name| !theirs.contains_key(*name)) {
        if !matches(&ADDED, name) {
            differences.push(format!("{name} is ours alone"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_difference_is_documented() {
    let docs = include_str!("../../../docs/metrics.md");
    for name in MISSING.iter().chain(&ADDED) {
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
    }
}

/// The tests of the alerts and the dashboard of generated projects compare their queries with this list.
#[tokio::test]
async fn the_list_of_series_is_up_to_date() {
    let answer = scrape().await;
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let lines: Vec<_> = series(text).into_iter().collect();
    let found = lines.join("\n") + "\n";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("tests/alerts/series.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == listed,
        "tests/alerts/series.txt is out of date; the library exports:\n{found}\n\
         help: UPDATE=1 cargo test -p kbr-manager --test metrics"
    );
}

/// A line for each series of a scrape: type, name, and names of the labels, sorted.
fn series(text: &str) -> BTreeSet<String> {
    let (mut kind, mut lines) = ("", BTreeSet::new());
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("# TYPE ") {
            kind = line.split_once(' ').unwrap().1;
        } else if !line.starts_with('#') {
            let (name, labels) = line.split_once('{').unwrap_or((line, ""));
            let name = name.split(' ').next().unwrap();
            // A value may contain anything but `="`.
            let mut labels: Vec<_> = labels.split("=\"").collect();
            labels.pop();
            let mut labels: Vec<_> = labels
                .iter()
                .map(|label| label.rsplit(',').next().unwrap())
                .collect();
            labels.sort_unstable();
            let words = [&[kind, name], &labels[..]].concat();
            lines.insert(words.join(" "));
        }
    }
    lines
}
