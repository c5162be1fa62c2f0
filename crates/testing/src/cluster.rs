//! Tests on a real API server.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ObjectMeta, PostParams},
};
use manager::Options;
use tokio::time::{Instant, sleep};

use super::{
    operators::Operators,
    turns::{self, Turn},
};

/// How long the API server or the operator may take for a change. Only a test that fails waits for so long, and one on a machine whose
/// cores are all busy waits for some of it.
pub(super) const LIMIT: Duration = Duration::from_secs(180);

/// A namespace on a real API server, for one test.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    pub(super) config: Config,
    namespace: String,
    pub(super) operators: Operators,
    /// Ends with the last operator.
    pub(super) turn: Option<Arc<Turn>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to the API server that `kbr envtest run` started, and creates a namespace for this test.
    ///
    /// If the project has cluster-scoped kinds, waits until no other test uses them, and removes their objects. The turn of this
    /// test ends when the `Cluster` and its operators have been dropped. Until then, it may connect again in the same thread.
    ///
    /// # Errors
    /// If `KBR_ENVTEST=1` is not set, which prevents that a test changes a real cluster by accident; or if the API
    /// server cannot be reached.
    pub async fn connect() -> anyhow::Result<Self> {
        anyhow::ensure!(
            std::env::var("KBR_ENVTEST").is_ok_and(|value| value == "1"),
            "this test runs only on an API server that is made for tests; nothing was touched\n\
             help: `make test`, or `kbr envtest run -- cargo test --features envtest`"
        );
        let unreachable = "cannot connect to the API server";
        let config = Options::default().config().await.context(unreachable)?;
        let client = Client::try_from(config.clone()).context(unreachable)?;
        let turn = turns::take(&client).await?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some("test-".to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let made = namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(Self {
            client,
            config,
            namespace: made.metadata.name.unwrap_or_default(),
            operators: Operators::default(),
            turn,
        })
    }

    /// A client. Its default namespace is not the namespace of the test.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The namespace of this test.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The objects of `K` in the namespace of this test.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Deletes the namespace. Without a controller that empties it, as with an API server alone, it stays and is not used
    /// again.
    ///
    /// # Errors
    /// If the API server rejects the deletion. Also if it has forbidden an operator of this test a request; the error
    /// names the rules to add.
    pub async fn close(self) -> anyhow::Result<()> {
        self.operators.permitted()?;
        let namespaces: Api<Namespace> = Api::all(self.client);
        namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await?;
        Ok(())
    }
}

/// Calls `look` again and again until it returns a value, and returns that value.
///
/// `look` returns `Ok(None)` to be called again. An error has the same effect; the last one is part of the final error.
/// `what` describes the expected value.
///
/// # Errors
/// If `look` returns no value in the time `within`.
pub async fn eventually<T, R>(
    within: Duration,
    what: &str,
    mut look: impl FnMut() -> R,
) -> anyhow::Result<T>
where
    R: Future<Output = anyhow::Result<Option<T>>>,
{
    let started = Instant::now();
    loop {
        let last = match look().await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => String::new(),
            Err(error) => format!("; last: {error:#}"),
        };
        anyhow::ensure!(
            started.elapsed() < within,
            "{what}: not within {within:?}{last}"
        );
        sleep(Duration::from_millis(100)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cluster_that_was_not_made_for_tests_is_left_alone() {
        if std::env::var_os("KBR_ENVTEST").is_some() {
            return;
        }
        let error = Cluster::connect().await.unwrap_err().to_string();
        assert!(
            error.contains("nothing was touched\nhelp: `make test`"),
            "{error}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn eventually_returns_the_value_or_an_error_that_names_it() {
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            let found = (looks == 3).then_some(looks);
            async move { Ok(found) }
        };
        let found = eventually(Duration::from_secs(5), "three looks", &mut look).await;
        assert_eq!(found.unwrap(), 3);

        let never = async || anyhow::bail!("no such thing");
        let found = eventually::<(), _>(Duration::ZERO, "a unicorn", never).await;
        let error = found.unwrap_err().to_string();
        assert_eq!(error, "a unicorn: not within 0ns; last: no such thing");
    }
}
