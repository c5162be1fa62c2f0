//! A real API server behind `kubectl proxy`, for tests that send requests of their own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use ureq::Agent;

/// A control plane and its proxy; both end with this value.
pub struct Proxy {
    kbr: Child,
    agent: Agent,
    url: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.kbr.kill().ok();
        self.kbr.wait().ok();
    }
}

impl Proxy {
    /// Starts them with the `kbr` at this path.
    ///
    /// # Panics
    /// They do not start.
    pub fn start(kbr: &Path) -> Self {
        let mut kbr = Command::new(kbr)
            .args(["envtest", "run", "--", "kubectl", "proxy", "--port=0"])
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("kbr runs");
        let mut line = String::new();
        BufReader::new(kbr.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("the address of the proxy");
        let address = line.trim().rsplit(' ').next().expect("an address");
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None);
        Self {
            kbr,
            agent: config.build().into(),
            url: format!("http://{address}"),
        }
    }

    /// The status and body of the answer.
    ///
    /// # Panics
    /// The proxy does not answer.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        accept: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("Accept", accept)
            .header("Content-Type", "application/json");
        let answer = match body {
            Some(body) => self
                .agent
                .run(request.body(body.to_string()).expect("a request")),
            None => self.agent.run(request.body(()).expect("a request")),
        };
        let mut answer = answer.expect("the proxy answers");
        let text = answer.body_mut().read_to_string().expect("an answer");
        (
            answer.status().as_u16(),
            serde_json::from_str(&text).unwrap_or_default(),
        )
    }

    /// Like [`Proxy::request`], for JSON.
    ///
    /// # Panics
    /// The proxy does not answer.
    pub fn json(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.request(method, path, "application/json", body)
    }
}
