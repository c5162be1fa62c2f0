//! etcd, below the API server: puts objects there as they are, which no request to an API server can do, and notices every change.
//!
//! The API server stores built-in kinds as protobuf, and reads JSON as well: `k8s.io/apiserver/pkg/server/storage/storage_codec.go`.

use std::io::{BufRead as _, BufReader, Read};

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

use super::client;
use super::setup::Setup;

/// The most entries of one transaction.
pub const MOST: usize = 512;

/// The most bytes of the values of one transaction, unless a single one is larger.
const BYTES: usize = 4 << 20;

/// A client with the API server's certificate.
#[derive(Clone, Debug)]
pub struct Etcd {
    agent: Agent,
    server: String,
    /// How the keys of this API server begin.
    prefix: String,
}

/// A change of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Below the prefix of the API server: `configmaps/default/a`.
    pub key: String,
    /// Whether it is gone.
    pub deleted: bool,
}

impl Etcd {
    pub(super) fn new(setup: &Setup) -> anyhow::Result<Self> {
        Ok(Self {
            agent: client::agent(setup, "etcd-ca", "etcd-client")?,
            server: setup.etcd_server(),
            prefix: format!("{}/", setup.etcd_prefix().display()),
        })
    }

    /// Puts values at keys below the prefix of the API server, many in each transaction.
    ///
    /// # Errors
    /// etcd does not answer, or refuses them.
    pub fn put(&self, entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> anyhow::Result<()> {
        let (mut puts, mut bytes) = (Vec::new(), 0);
        for (key, value) in entries {
            if puts.len() == MOST || bytes + value.len() > BYTES {
                self.transact(&std::mem::take(&mut puts))?;
                bytes = 0;
            }
            bytes += value.len();
            let key = BASE64_STANDARD.encode(format!("{}{key}", self.prefix));
            let value = BASE64_STANDARD.encode(value);
            puts.push(json!({ "requestPut": { "key": key, "value": value } }));
        }
        self.transact(&puts)
    }

    fn transact(&self, puts: &[Value]) -> anyhow::Result<()> {
        if puts.is_empty() {
            return Ok(());
        }
        let request = self.agent.post(format!("{}/v3/kv/txn", self.server));
        let answer = request.send(json!({ "success": puts }).to_string())?;
        client::succeeded(answer).context("etcd refuses the objects")?;
        Ok(())
    }

    /// All changes from now on, until the server ends.
    ///
    /// # Errors
    /// etcd does not answer.
    pub fn changes(&self) -> anyhow::Result<impl Iterator<Item = Change> + Send + use<>> {
        let mut end = self.prefix.clone().into_bytes();
        // The prefix ends with `/`, which `0` follows.
        end.pop();
        end.push(b'0');
        let request = json!({ "create_request": {
            "key": BASE64_STANDARD.encode(&self.prefix),
            "range_end": BASE64_STANDARD.encode(end),
        } });
        let watch = self.agent.post(format!("{}/v3/watch", self.server));
        let answer = watch.send(request.to_string())?;
        let body: Box<dyn Read + Send> = Box::new(answer.into_body().into_reader());
        let mut lines = BufReader::new(body).lines().map_while(Result::ok);
        // The answer to the request itself: later changes are seen.
        lines.next().context("etcd ended the watch")?;
        let prefix = self.prefix.clone();
        Ok(lines.flat_map(move |line| changes(&line, &prefix)))
    }
}

/// The changes in one message of a watch.
fn changes(line: &str, prefix: &str) -> Vec<Change> {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let events = message["result"]["events"].as_array();
    let change = |event: &Value| {
        let key = BASE64_STANDARD.decode(event["kv"]["key"].as_str()?).ok()?;
        let key = String::from_utf8(key).ok()?;
        Some(Change {
            key: key.strip_prefix(prefix)?.to_owned(),
            deleted: event["type"] == "DELETE",
        })
    };
    events.into_iter().flatten().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_watch_becomes_its_changes() {
        let key = |key: &str| BASE64_STANDARD.encode(key);
        let message = json!({ "result": { "events": [
            { "kv": { "key": key("/x/configmaps/a/b") } },
            { "type": "DELETE", "kv": { "key": key("/x/pods/a/c") } },
        ] } });
        let change = |key: &str, deleted| Change {
            key: key.to_owned(),
            deleted,
        };
        let expected = [change("configmaps/a/b", false), change("pods/a/c", true)];
        assert_eq!(changes(&message.to_string(), "/x/"), expected);
        assert_eq!(changes("{}", "/x/"), []);
    }
}
