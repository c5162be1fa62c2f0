//! Prometheus, which scrapes an operator and answers the queries of its dashboard.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// One line of a chart: its labels, and its values at Unix times in seconds.
pub struct Series {
    pub labels: BTreeMap<String, String>,
    pub points: Vec<(f64, f64)>,
}

pub struct Prometheus {
    program: Child,
    address: String,
    /// Holds its configuration and its data.
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// Scrapes `/metrics` at an address every second, and gives what it finds these labels.
    pub fn start(target: &str, labels: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let configuration = serde_json::json!({
            "global": { "scrape_interval": "1s" },
            "scrape_configs": [{ "job_name": labels["job"],
                "static_configs": [{ "targets": [target], "labels": labels }] }],
        });
        // JSON is YAML.
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, configuration.to_string()).expect("a writable folder");
        let address = format!("127.0.0.1:{}", free_port());
        let program = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`make prometheus` installs it");
        Self {
            program,
            address,
            _folder: folder,
        }
    }

    /// Waits until a query has a result.
    pub fn knows(&self, query: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self
            .ask("query", &[("query", query)])
            .is_none_or(|found| found.is_empty())
        {
            assert!(Instant::now() < deadline, "Prometheus finds no `{query}`");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The values of a query every `step` seconds between two Unix times.
    pub fn between(&self, query: &str, from: f64, to: f64, step: f64) -> Vec<Series> {
        let [start, end, step] = [from, to, step].map(|time| time.to_string());
        let parameters = [
            ("query", query),
            ("start", &start),
            ("end", &end),
            ("step", &step),
        ];
        self.ask("query_range", &parameters)
            .expect("Prometheus answers")
    }

    fn ask(&self, endpoint: &str, parameters: &[(&str, &str)]) -> Option<Vec<Series>> {
        let url = format!("http://{}/api/v1/{endpoint}", self.address);
        let request = ureq::get(url).query_pairs(parameters.iter().copied());
        let answer = request.call().ok()?.body_mut().read_to_string().ok()?;
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["status"], "success", "{answer}");
        Some(list(&answer["data"]["result"]).iter().map(series).collect())
    }

    pub fn end(mut self) {
        self.program.kill().expect("Prometheus ends");
        self.program.wait().expect("Prometheus ends");
    }
}

/// A port that was free just now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn series(result: &Value) -> Series {
    let labels = result["metric"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let point = |pair: &Value| {
        let value = pair[1].as_str()?.parse().ok()?;
        Some((pair[0].as_f64()?, value)).filter(|(_, value): &(f64, f64)| value.is_finite())
    };
    let points = list(&result["values"]).iter();
    Series {
        labels: labels
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
        points: points.filter_map(point).collect(),
    }
}
