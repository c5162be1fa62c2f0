//! Tests the operator as `make run` starts it: on this machine, as the user in the kubeconfig, without certificates.

use std::{
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::Duration,
};

use kbr_testing::{Cluster, eventually};

use super::{OPERATOR, SAMPLES, wait};

/// The operator as a process; dropping this kills it.
struct Local {
    process: Child,
    port: u16,
}

impl Local {
    fn start(cluster: &Cluster, enable_webhooks: &str) -> anyhow::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = Command::new(OPERATOR)
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(["--webhook-host", "127.0.0.1"])
            .args(["--webhook-port", &port.to_string()])
            .env("ENABLE_WEBHOOKS", enable_webhooks)
            .env("WATCH_NAMESPACE", cluster.namespace())
            .env("RUST_LOG", "warn")
            .spawn()?;
        Ok(Self { process, port })
    }

    /// Connects to the webhook server.
    fn connect(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // An error means that the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// HOM-4, HOM-5: the controller needs no conversion for objects of the storage version, which is the one that it reads.
#[tokio::test]
async fn without_webhooks_homes_of_v2_are_reconciled() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let operator = Local::start(&cluster, "false")?;
    cluster.kubectl(&["apply", "-f", SAMPLES[1]])?;
    wait(
        &cluster,
        "condition=Ready",
        "homes.v2.ajd.my.domain/lighthouse",
    )?;
    assert!(operator.connect().is_err(), "no webhook server");
    cluster.close().await
}

/// HOM-7: the operator makes a certificate for itself.
#[tokio::test]
async fn without_certificates_the_webhooks_are_served() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let operator = Local::start(&cluster, "true")?;
    let served = async || Ok(operator.connect().map(Some)?);
    let limit = Duration::from_secs(180);
    eventually(limit, "the webhook server", served).await?;
    cluster.close().await
}
