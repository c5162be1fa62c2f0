//! The certificate rotator of each replica: reconciles the Secret, the CA bundles and the served certificate.

use std::{
    slice,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams},
};
use rustls::{ServerConfig, pki_types::ServerName};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    ca_bundle::Target,
    pair::{MARGIN, Pair},
    secret::{Secret, is},
};
use crate::{backoff::Backoff, error::chain};

/// How long API servers may take to notice that a CA bundle has changed.
const SPREAD: Duration = Duration::from_secs(3);

/// How long old CAs stay in the bundles beside the new one; by then every replica serves the new certificate. It is
/// measured by each replica's own monotonic clock.
const RETIRE: Duration = Duration::from_secs(60 * 60);

/// How often everything is checked if no change is reported.
const PERIOD: Duration = Duration::from_secs(60);

/// How long to wait for changes that belong together.
const GROUP: Duration = Duration::from_millis(20);

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// How long a watch must run so that the delay after it is the shortest.
const GOOD: Duration = Duration::from_secs(60);

/// How many conflicts in a row do not count as a failure.
const CONFLICTS: u32 = 10;

/// The served certificate, which may change.
pub(crate) type Served = watch::Receiver<Arc<ServerConfig>>;

/// Rotates the certificate of one operator.
pub(crate) struct Rotator {
    client: Client,
    secret: Secret,
    /// The objects with CA bundles: plural and name, both in their API group.
    targets: Vec<(ApiResource, String)>,
    /// The name that every certificate covers.
    own_name: String,
    served: Option<Pair>,
    /// The pair in the Secret, and since when its CA is in the bundles.
    trusted: Option<(Pair, Instant)>,
    first: Option<oneshot::Sender<Served>>,
    sender: Option<watch::Sender<Arc<ServerConfig>>>,
}

impl Rotator {
    /// A rotator for the operator with this id, in `namespace`. The names of its Service and Secret begin with `prefix`.
    pub(crate) fn new(
        client: Client,
        id: &str,
        prefix: &str,
        namespace: &str,
        targets: Vec<(ApiResource, String)>,
    ) -> (Self, oneshot::Receiver<Served>) {
        let (first, receiver) = oneshot::channel();
        let rotator = Self {
            client,
            secret: Secret {
                namespace: namespace.to_owned(),
                name: format!("{prefix}-webhook-certificate"),
                manager: format!("{id}/webhooks"),
                names: format!("{id}/certificate-names"),
            },
            targets,
            own_name: format!("{prefix}-webhook.{namespace}.svc"),
            served: None,
            trusted: None,
            first: Some(first),
            sender: None,
        };
        (rotator, receiver)
    }

    /// Rotates certificates until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.changes();
        let mut conflicts = 0;
        while !stop.is_cancelled() {
            let wait = wait(&mut conflicts, self.look(SystemTime::now()).await);
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(wait) => {}
                _ = changes.next() => {
                    // Changes come in groups, and one check handles all of them.
                    sleep(GROUP).await;
                    while changes.next().now_or_never().flatten().is_some() {}
                }
            }
        }
    }

    /// Reconciles the Secret, the CA bundles and the served certificate once; returns when to check again.
    async fn look(&mut self, now: SystemTime) -> kube::Result<Duration> {
        let targets = self.read_targets().await?;
        let called: Vec<_> = targets.iter().flat_map(Target::names).collect();
        let pair = self.read_or_make(self.names(&called), now).await?;
        // Switch at once only if no other CA is in the bundles, or the served certificate is useless. Otherwise some
        // API servers still trust only the old CA. A replica that has just started serves nothing; other replicas are
        // called meanwhile.
        let of_use = |served: &Pair| {
            let mut called = called.iter();
            called.any(|name| served.serves(slice::from_ref(name), now))
        };
        let useless = self.served.as_ref().is_some_and(|it| !of_use(it));
        let another = |target: &Target| target.trusts_another(&pair.ca);
        if useless || !targets.iter().any(another) {
            self.serve(&pair)?;
        }
        let mut cas = vec![pair.ca.as_str()];
        // While another pair is served, a bundle that is written again must contain its CA, too.
        if let Some(served) = self.served.as_ref().filter(|served| **served != pair) {
            cas.push(&served.ca);
        }
        // No replica serves a certificate any more that was replaced an hour ago.
        let since = self.trusted.as_ref().filter(|(it, _)| *it == pair);
        let keep = since.is_none_or(|(_, since)| since.elapsed() <= RETIRE);
        for target in targets {
            let manager = &self.secret.manager;
            let trusting = target.trust(&self.client, manager, &cas, keep);
            trusting.await?;
        }
        self.follow(pair)
    }

    /// The pair in the Secret, or a new one that replaces it: a pair that is valid for these names for long enough.
    async fn read_or_make(&self, mut names: Vec<String>, now: SystemTime) -> kube::Result<Pair> {
        // It must be valid now, too: a replica whose clock is ahead creates certificates that are not valid yet.
        let good = |pair: &Pair, names: &[String]| {
            pair.serves(names, now) && pair.serves(names, now + MARGIN)
        };
        let mut found = self.secret.read_or_make(&self.client).await?;
        if let Some(pair) = found.pair.take() {
            if good(&pair, &names) {
                return Ok(pair);
            }
            // Another version of the operator may use these names. Without this, the two would keep removing each
            // other's names from the certificate. Names that are no longer in use are dropped at renewal.
            if good(&pair, &found.names) {
                names.append(&mut found.names);
                names.sort();
                names.dedup();
            }
        }
        let pair = Pair::new(&names, now).map_err(service)?;
        let (client, secret) = (&self.client, &self.secret);
        secret.replace(client, &found, &pair, &names).await?;
        tracing::info!(secret = secret.name, "made a certificate for the webhooks");
        Ok(pair)
    }

    /// Serves a pair whose CA is in the bundles, once that is known everywhere; returns how long that still takes.
    fn follow(&mut self, pair: Pair) -> kube::Result<Duration> {
        let since = match self.trusted.take() {
            Some((same, since)) if same == pair => since,
            _ => Instant::now(),
        };
        let wait = SPREAD.saturating_sub(since.elapsed());
        if wait.is_zero() {
            self.serve(&pair)?;
        }
        let served = self.served.as_ref() == Some(&pair);
        self.trusted = Some((pair, since));
        Ok(if served { PERIOD } else { wait })
    }

    /// Serves this pair from now on.
    fn serve(&mut self, pair: &Pair) -> kube::Result<()> {
        if self.served.as_ref() == Some(pair) {
            return Ok(());
        }
        let config = pair.config().map_err(service)?;
        match (&self.sender, self.first.take()) {
            (Some(sender), _) => drop(sender.send_replace(config)),
            (None, Some(first)) => {
                let (sender, receiver) = watch::channel(config);
                self.sender = Some(sender);
                // The receiver is gone if the process is ending.
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

    /// The names that a certificate must cover; `called` are those in the CA bundle objects.
    fn names(&self, called: &[String]) -> Vec<String> {
        let mut names = vec![self.own_name.clone(), "localhost".to_owned()];
        names.extend_from_slice(called);
        // A name that is invalid in a certificate is never used in a TLS connection, either.
        names.retain(|name| ServerName::try_from(name.as_str()).is_ok());
        names.sort();
        names.dedup();
        names
    }

    /// A stream with an item for every change of one of the objects.
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

/// How long to wait until the next check. `conflicts` counts the conflicts in a row.
fn wait(conflicts: &mut u32, looked: kube::Result<Duration>) -> Duration {
    match looked {
        Ok(wait) => {
            *conflicts = 0;
            wait
        }
        // Another replica was faster, or the patched object has changed.
        Err(error) if *conflicts < CONFLICTS && (is(&error, 409) || is(&error, 422)) => {
            *conflicts += 1;
            RETRY / 10
        }
        Err(error) => {
            let error = chain(&error);
            tracing::warn!(error, "cannot keep the certificate of the webhooks");
            RETRY
        }
    }
}

/// Watches one object, with permissions for that object only: each item means that it may have changed. Reports failures.
/// After each watch, however it ended, the next one begins after a delay; what it does not deliver is found by the next
/// check, at the latest after [`PERIOD`].
fn watch_one(api: Api<DynamicObject>, name: &str) -> stream::BoxStream<'static, ()> {
    let fields = format!("metadata.name={name}");
    stream::unfold(
        (api, fields, Round::new()),
        |(api, fields, mut round)| async move {
            loop {
                match round.next(&api, &fields).await {
                    Ok(Some(())) => return Some(((), (api, fields, round))),
                    Ok(None) => {}
                    Err(error) => {
                        let error = chain(&error);
                        tracing::warn!(
                            error,
                            "cannot watch the certificate of the webhooks, or what trusts it"
                        );
                    }
                }
                round.end().await;
            }
        },
    )
    .boxed()
}

/// A watch of one object, and how long to wait for the next one.
struct Round {
    events: Option<stream::BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>>,
    began: Instant,
    backoff: Backoff,
}

impl Round {
    fn new() -> Self {
        Self {
            events: None,
            began: Instant::now(),
            backoff: Backoff::new(),
        }
    }

    /// Waits until the object may have changed; `None` if the watch has ended.
    async fn next(&mut self, api: &Api<DynamicObject>, fields: &str) -> kube::Result<Option<()>> {
        let Some(events) = &mut self.events else {
            self.began = Instant::now();
            let list = api.list(&ListParams::default().fields(fields)).await?;
            let version = list.metadata.resource_version.unwrap_or_default();
            let params = WatchParams::default().fields(fields);
            self.events = Some(api.watch(&params, &version).await?.boxed());
            return Ok(Some(()));
        };
        loop {
            match events.next().await.transpose()? {
                Some(WatchEvent::Bookmark(_)) => {}
                Some(WatchEvent::Error(status)) => return Err(kube::Error::Api(status.boxed())),
                Some(_) => return Ok(Some(())),
                None => return Ok(None),
            }
        }
    }

    /// Ends the watch, and waits.
    async fn end(&mut self) {
        self.events = None;
        if self.began.elapsed() >= GOOD {
            self.backoff = Backoff::new();
        }
        sleep(self.backoff.failure()).await;
    }
}

fn service(error: anyhow::Error) -> kube::Error {
    kube::Error::Service(error.into())
}

#[cfg(test)]
mod tests;
