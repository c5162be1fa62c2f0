//! The audit log of the API server.

use std::{fs, path::PathBuf};

use serde_json::Value;

/// The audit log of an API server.
#[derive(Debug)]
pub struct Audit(pub PathBuf);

/// One answered request.
#[derive(Clone, Debug)]
pub struct Answered {
    pub user: String,
    pub impersonated: String,
    pub verb: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub code: u64,
    /// Whether it is a watch that begins with a list.
    pub streams: bool,
    /// Whether it is a list of one object, for the version of the latest state.
    pub one: bool,
}

impl Answered {
    /// Whether it lists objects: a page of them, or the beginning of a watch.
    pub fn lists(&self) -> bool {
        self.verb == "list" && !self.one || self.streams
    }

    pub fn writes(&self) -> bool {
        !matches!(&*self.verb, "get" | "list" | "watch")
    }
}

impl Audit {
    /// The current length, for [`since`](Self::since).
    pub fn mark(&self) -> u64 {
        fs::metadata(&self.0).map_or(0, |file| file.len())
    }

    /// The requests of the replicas in this namespace that were answered since then: watches when they started.
    pub fn since(&self, mark: u64, namespace: &str) -> anyhow::Result<Vec<Answered>> {
        let text = fs::read(&self.0)?;
        let text = String::from_utf8_lossy(text.get(usize::try_from(mark)?..).unwrap_or_default());
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        // Only watches are logged twice.
        let ended = |line: &Value| line["verb"] == "watch" && line["stage"] == "ResponseComplete";
        Ok(lines
            .filter(|line| !ended(line))
            .map(|line| answered(&line))
            .filter(|request| request.namespace == namespace)
            .collect())
    }
}

fn answered(line: &Value) -> Answered {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (object, uri) = (&line["objectRef"], text(&line["requestURI"]));
    Answered {
        user: text(&line["user"]["username"]),
        impersonated: text(&line["impersonatedUser"]["username"]),
        verb: text(&line["verb"]),
        resource: text(&object["resource"]),
        subresource: text(&object["subresource"]),
        namespace: text(&object["namespace"]),
        name: text(&object["name"]),
        code: line["responseStatus"]["code"].as_u64().unwrap_or_default(),
        streams: uri.contains("sendInitialEvents=true"),
        one: uri
            .split(['?', '&'])
            .any(|parameter| parameter == "limit=1"),
    }
}
