//! Tests the operator on a real API server, which `make test` starts, or in a whole cluster, which `make test-cluster` starts.

#[cfg(feature = "cluster")]
mod autoscaler;
mod guestbook;
mod webhooks;
// +kbr:scaffold:modules

use kbr_testing::Cluster;

/// The sample that `kubectl apply -k config/samples` creates.
const SAMPLE: &str = "config/samples/webapp_v1_guestbook.yaml";
const GUESTBOOK: &str = "guestbook/guestbook-sample";
const DEPLOYMENT: &str = "deployment/guestbook-sample";

/// The program under test.
const OPERATOR: &str = env!("CARGO_BIN_EXE_guestbook");

fn wait(cluster: &Cluster, condition: &str, object: &str) -> anyhow::Result<()> {
    let until = format!("--for={condition}");
    cluster.kubectl(&["wait", &until, "--timeout=3m", object])?;
    Ok(())
}

/// A field of an object, as `kubectl` prints it.
fn field(cluster: &Cluster, object: &str, path: &str) -> anyhow::Result<String> {
    cluster.kubectl(&["get", object, "-o", &format!("jsonpath={{{path}}}")])
}

fn patch(cluster: &Cluster, object: &str, patch: &str) -> anyhow::Result<String> {
    cluster.kubectl(&["patch", object, "--type=merge", "-p", patch])
}

/// The error of a command that must fail.
fn error<T>(result: anyhow::Result<T>) -> String {
    let error = result.err().expect("it is rejected");
    format!("{error:#}")
}
