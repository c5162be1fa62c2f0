//! Connections to the API server.

use anyhow::Context as _;
use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{
    leader::fence::Fence,
    metrics::{CountLayer, Requests},
    options::Options,
};

/// The clients of a manager. Each has connections of its own, so that none holds up another.
#[derive(Clone)]
pub(crate) struct Clients {
    /// For what runs in the leader only; behind the fence.
    pub(crate) leading: Client,
    /// For what runs in every replica.
    pub(crate) always: Client,
    /// For the election, and for nothing else.
    pub(crate) election: Client,
}

impl Clients {
    /// Connects as the flags say: a kubeconfig, or the service account of the Pod.
    pub(crate) async fn connect(
        options: &Options,
        fence: &Fence,
        requests: &Requests,
    ) -> anyhow::Result<Self> {
        let config = config(options).await?;
        let count = requests.to(&config.cluster_url);
        let client = || {
            let builder = ClientBuilder::try_from(config.clone())?;
            anyhow::Ok(builder.with_layer(&count).build())
        };
        Ok(Self {
            leading: leading(config.clone(), fence, &count)?,
            always: client()?,
            election: client()?,
        })
    }

    /// Uses one client for everything, and one behind the fence.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn fake(client: &Client, leading: Client) -> Self {
        Self {
            leading,
            always: client.clone(),
            election: client.clone(),
        }
    }
}

/// A client behind the fence. It does not repeat requests by itself, as one that waits behind the fence to be sent
/// again would go out after the deadline; the queue repeats.
fn leading(mut config: Config, fence: &Fence, count: &CountLayer) -> anyhow::Result<Client> {
    config.default_retry = false;
    let builder = ClientBuilder::try_from(config)?;
    // What the fence refuses is no request.
    Ok(builder.with_layer(count).with_layer(fence).build())
}

async fn config(options: &Options) -> anyhow::Result<Config> {
    // rustls is told its provider, so that a dependency that brings another one cannot break it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(path) = &options.kubeconfig else {
        let help = "cannot find an API server\nhelp: pass `--kubeconfig FILE`, or set `KUBECONFIG`";
        return Config::infer().await.context(help);
    };
    let file = Kubeconfig::read_from(path);
    let file = file.with_context(|| format!("cannot read kubeconfig `{}`", path.display()))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    config.with_context(|| format!("cannot use kubeconfig `{}`", path.display()))
}
