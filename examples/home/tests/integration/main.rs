//! Tests the operator on a real API server, which `make test` starts, or in a whole cluster, which `make test-cluster` starts.

mod home;
mod local;
mod versions;
mod webhooks;
// +kbr:scaffold:modules

use kbr_testing::Cluster;

/// The program under test.
const OPERATOR: &str = env!("CARGO_BIN_EXE_home");

/// The samples that `kubectl apply -k config/samples` creates.
const SAMPLES: [&str; 2] = [
    "config/samples/ajd_v1_home.yaml",
    "config/samples/ajd_v2_home.yaml",
];

/// The sample of `v1`, in both versions.
const V1: &str = "homes.v1.ajd.my.domain/home-sample";
const V2: &str = "homes.v2.ajd.my.domain/home-sample";

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
