//! Keeps certificate, Secret and trust as they are to be, in every replica.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use rustls::{ServerConfig, pki_types::ServerName};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    pair::{MARGIN, Pair},
    secret::{Secret, is},
    trust::Target,
};
use crate::error::chain;

/// How long API servers may take to notice that they are to trust another authority.
const SPREAD: Duration = Duration::from_secs(3);

/// How long old authorities are trusted beside the new one; by then every replica serves the new one.
const RETIRE: Duration = Duration::from_secs(60 * 60);

/// How often all is looked at when nothing is told to have changed.
const PERIOD: Duration = Duration::from_secs(60);

/// How long changes are waited for that belong together.
const GROUP: Duration = Duration::from_millis(20);

/// How long after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// How many conflicts in a row are no failure.
const CONFLICTS: u32 = 10;

/// What is served, and may change.
pub(crate) type Served = watch::Receiver<Arc<ServerConfig>>;

/// Keeps one operator's certificate.
pub(crate) struct Keeper {
    client: Client,
    secret: Secret,
    /// The objects that tell the API server whom to trust: plural and name, both in their API group.
    targets: Vec<(ApiResource, String)>,
    /// The name that it is served by in any case.
    own_name: String,
    served: Option<Pair>,
    /// The one that waits for its authority to be known everywhere, and until when.
    next: Option<(Pair, Instant)>,
    first: Option<oneshot::Sender<Served>>,
    sender: Option<watch::Sender<Arc<ServerConfig>>>,
}

impl Keeper {
    /// For the operator with this id, in `namespace`: its first word begins the names of all that belongs to it.
    pub(crate) fn new(
        client: Client,
        id: &str,
        namespace: &str,
        targets: Vec<(ApiResource, String)>,
    ) -> (Self, oneshot::Receiver<Served>) {
        let (first, receiver) = oneshot::channel();
        let project = id.split('.').next().unwrap_or(id);
        let keeper = Self {
            client,
            secret: Secret {
                namespace: namespace.to_owned(),
                name: format!("{project}-webhook-certificate"),
                manager: format!("{id}/webhooks"),
                since: format!("{id}/certificate-since"),
            },
            targets,
            own_name: format!("{project}-webhook.{namespace}.svc"),
            served: None,
            next: None,
            first: Some(first),
            sender: None,
        };
        (keeper, receiver)
    }

    /// Keeps it until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.changes();
        let mut conflicts = 0;
        while !stop.is_cancelled() {
            let wait = match self.look(SystemTime::now()).await {
                Ok(wait) => {
                    conflicts = 0;
                    wait
                }
                // Another replica was faster, or somebody changed what was to be patched.
                Err(error) if conflicts < CONFLICTS && (is(&error, 409) || is(&error, 422)) => {
                    conflicts += 1;
                    RETRY / 10
                }
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(error, "cannot keep the certificate of the webhooks");
                    RETRY
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(wait) => {}
                _ = changes.next() => {
                    // Changes come in groups, and looking at everything once does for all of them.
                    sleep(GROUP).await;
                    while changes.next().now_or_never().flatten().is_some() {}
                }
            }
        }
    }

    /// Looks at everything once and mends it; returns when to look again.
    async fn look(&mut self, now: SystemTime) -> kube::Result<Duration> {
        let targets = self.read_targets().await?;
        let names = self.names(&targets);
        let mut found = self.secret.read_or_make(&self.client).await?;
        let kept = found.pair.take();
        // Now, too: a clock that is ahead makes what is not good yet.
        let good = |pair: &Pair| pair.serves(&names, now) && pair.serves(&names, now + MARGIN);
        let kept = kept.filter(good);
        let pair = if let Some(pair) = kept {
            pair
        } else {
            let pair = Pair::new(&names, now).map_err(service)?;
            found = self
                .secret
                .replace(&self.client, &found, &pair, now)
                .await?;
            tracing::info!(
                secret = self.secret.name,
                "made a certificate for the webhooks"
            );
            pair
        };
        // Nothing is lost by it if what is served is good for nothing.
        let serves = |served: &Pair| served.serves(&names, now);
        if !self.served.as_ref().is_some_and(serves) {
            self.serve(&pair)?;
        }
        // What an hour ago was old is served by nobody.
        let keep = !found.is_older_than(RETIRE, now);
        for target in targets {
            let (manager, authority) = (&self.secret.manager, &pair.authority);
            target.trust(&self.client, manager, authority, keep).await?;
        }
        self.follow(pair)
    }

    /// Serves a pair that is trusted by now, once that is known everywhere; returns how long until then.
    fn follow(&mut self, pair: Pair) -> kube::Result<Duration> {
        if self.served.as_ref() == Some(&pair) {
            self.next = None;
            return Ok(PERIOD);
        }
        let at = match self.next.take() {
            Some((next, at)) if next == pair => at,
            _ => Instant::now() + SPREAD,
        };
        let wait = at.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            self.serve(&pair)?;
            return Ok(PERIOD);
        }
        self.next = Some((pair, at));
        Ok(wait)
    }

    fn serve(&mut self, pair: &Pair) -> kube::Result<()> {
        let config = pair.config().map_err(service)?;
        match (&self.sender, self.first.take()) {
            (Some(sender), _) => drop(sender.send_replace(config)),
            (None, Some(first)) => {
                let (sender, receiver) = watch::channel(config);
                self.sender = Some(sender);
                // Nobody takes it while the process ends.
                let _ = first.send(receiver);
            }
            (None, None) => {}
        }
        tracing::info!("serving a new certificate for webhooks");
        self.served = Some(pair.clone());
        Ok(())
    }

    async fn read_targets(&self) -> kube::Result<Vec<Target>> {
        let mut targets = Vec::new();
        for (resource, name) in &self.targets {
            let path = format!("/apis/{}/{}/{name}", resource.api_version, resource.plural);
            targets.extend(Target::read(&self.client, &path).await?);
        }
        Ok(targets)
    }

    /// The names that a certificate must have.
    fn names(&self, targets: &[Target]) -> Vec<String> {
        let mut names = vec![self.own_name.clone(), "localhost".to_owned()];
        names.extend(targets.iter().flat_map(Target::names));
        // One that cannot be in a certificate cannot be asked for either.
        names.retain(|name| ServerName::try_from(name.as_str()).is_ok());
        names.sort();
        names.dedup();
        names
    }

    /// Tells whenever one of the objects has changed.
    fn changes(&self) -> stream::BoxStream<'static, ()> {
        let secret = ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
        let namespace = self.secret.namespace.as_str();
        let secrets = Api::namespaced_with(self.client.clone(), namespace, &secret);
        let mut all = vec![watch_one(secrets, &self.secret.name)];
        for (resource, name) in &self.targets {
            all.push(watch_one(
                Api::all_with(self.client.clone(), resource),
                name,
            ));
        }
        stream::select_all(all).boxed()
    }
}

/// Watches one object, with rights for that one only.
fn watch_one(api: Api<DynamicObject>, name: &str) -> stream::BoxStream<'static, ()> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api, config).default_backoff();
    // That it is about to be listed is no news, and what fails kube's watcher has logged or looking will tell.
    events
        .filter_map(async |event| match event {
            Ok(watcher::Event::Init) | Err(_) => None,
            Ok(_) => Some(()),
        })
        .boxed()
}

fn service(error: anyhow::Error) -> kube::Error {
    kube::Error::Service(error.into())
}

#[cfg(test)]
mod tests;
