//! `tests/alerts/series.txt` lists every series that the library exports: its type, its name, and the names of its labels. The
//! tests of the alerts and the dashboard of generated projects compare their queries with it.

use std::{collections::BTreeSet, fs, net::TcpListener, path::Path, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use manager::{
    Action, Manager, Options,
    testing::{FakeApi, eventually},
    webhook::{Defaulter, Rejection, Request},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

#[tokio::test]
async fn the_list_of_series_is_up_to_date() {
    let lines: Vec<_> = series(&scrape().await).into_iter().collect();
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
         help: UPDATE=1 cargo test -p kbr-manager --test series"
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

/// What a leader with a controller and a webhook serves at `/metrics`.
async fn scrape() -> String {
    let port = free_port();
    let mut manager = FakeApi::new().manager_with(Options {
        health_probe_bind_address: "0".parse().unwrap(),
        leader_elect: true,
        metrics_bind_address: format!("127.0.0.1:{port}").parse().unwrap(),
        metrics_secure: false,
        shutdown_delay: Duration::ZERO,
        webhook_host: Some("127.0.0.1".to_owned()),
        webhook_port: free_port(),
        ..Options::default()
    });
    register(&mut manager);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        manager.run_until(stopped).await
    });
    let look = async || {
        let text = get(port).await.unwrap_or_default();
        // The requests of the election are the last to appear.
        Ok(text
            .contains("\nleader_election_master_status{name=\"test.example.com\"} 1")
            .then_some(text))
    };
    let text = eventually(Duration::from_secs(180), "the metrics of a leader", look).await;
    let _ = stop.send(());
    running.await.unwrap().unwrap();
    let text = text.unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn register(manager: &mut Manager) {
    manager
        .controller::<ConfigMap>("configmap")
        .reconcile(async |_, _| Ok(Action::await_change()));
    manager.defaulter::<ConfigMap>(Unchanged);
}

struct Unchanged;

impl Defaulter<ConfigMap> for Unchanged {
    async fn default(&self, _: &mut ConfigMap, _: &Request<ConfigMap>) -> Result<(), Rejection> {
        Ok(())
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

async fn get(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}
