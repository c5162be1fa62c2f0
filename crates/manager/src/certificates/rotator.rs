//! The certificate rotator of each replica: reconciles the Secret, the CA bundles and what is served.

use std::{
    slice,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::watcher::{self, watcher},
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

/// How long API servers may take to notice that they are to trust another CA.
const SPREAD: Duration = Duration::from_secs(3);

/// How long old CAs are trusted beside the new one; by then every replica serves the new one. By each replica's
/// own clock, and one that cannot be set.
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
pub(crate) struct Rotator {
    client: Client,
    secret: Secret,
    /// The objects that tell the API server whom to trust: plural and name, both in their API group.
    targets: Vec<(ApiResource, String)>,
    /// The name that it is served by in any case.
    own_name: String,
    served: Option<Pair>,
    /// What is in the Secret, and since when its CA is trusted.
    trusted: Option<(Pair, Instant)>,
    first: Option<oneshot::Sender<Served>>,
    sender: Option<watch::Sender<Arc<ServerConfig>>>,
}

impl Rotator {
    /// For the operator with this id, in `namespace`: its first word begins the names of all that belongs to it.
    pub(crate) fn new(
        client: Client,
        id: &str,
        namespace: &str,
        targets: Vec<(ApiResource, String)>,
    ) -> (Self, oneshot::Receiver<Served>) {
        let (first, receiver) = oneshot::channel();
        let project = id.split('.').next().unwrap_or(id);
        let rotator = Self {
            client,
            secret: Secret {
                namespace: namespace.to_owned(),
                name: format!("{project}-webhook-certificate"),
                manager: format!("{id}/webhooks"),
                names: format!("{id}/certificate-names"),
            },
            targets,
            own_name: format!("{project}-webhook.{namespace}.svc"),
            served: None,
            trusted: None,
            first: Some(first),
            sender: None,
        };
        (rotator, receiver)
    }

    /// Keeps it until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.changes();
        let mut conflicts = 0;
        while !stop.is_cancelled() {
            let wait = wait(&mut conflicts, self.look(SystemTime::now()).await);
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

    /// Reconciles the Secret, the CA bundles and what is served, once; returns when to look again.
    async fn look(&mut self, now: SystemTime) -> kube::Result<Duration> {
        let targets = self.read_targets().await?;
        let called: Vec<_> = targets.iter().flat_map(Target::names).collect();
        let pair = self.read_or_make(self.names(&called), now).await?;
        // Else, what is served until the new one is known everywhere is what is trusted. A replica that has just begun
        // serves nothing, and the others are called meanwhile.
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
        // What is put there anew while another is served has to trust that one, too.
        if let Some(served) = self.served.as_ref().filter(|served| **served != pair) {
            cas.push(&served.ca);
        }
        // What an hour ago was old is served by nobody.
        let since = self.trusted.as_ref().filter(|(it, _)| *it == pair);
        let keep = since.is_none_or(|(_, since)| since.elapsed() <= RETIRE);
        for target in targets {
            let manager = &self.secret.manager;
            let trusting = target.trust(&self.client, manager, &cas, keep);
            trusting.await?;
        }
        self.follow(pair)
    }

    /// What is in the Secret, or what was put there in its place: a pair that serves these names for long enough.
    async fn read_or_make(&self, mut names: Vec<String>, now: SystemTime) -> kube::Result<Pair> {
        // Now, too: a clock that is ahead makes what is not good yet.
        let good = |pair: &Pair, names: &[String]| {
            pair.serves(names, now) && pair.serves(names, now + MARGIN)
        };
        let mut found = self.secret.read_or_make(&self.client).await?;
        if let Some(pair) = found.pair.take() {
            if good(&pair, &names) {
                return Ok(pair);
            }
            // Another version of the operator may be called by these. Each would take the other's names out of the
            // certificate for ever; that nobody is called by them any more is seen to when it is renewed.
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

    /// Serves a pair that is trusted by now, once that is known everywhere; returns how long until then.
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

    /// The names that a certificate must have, of which these are called.
    fn names(&self, called: &[String]) -> Vec<String> {
        let mut names = vec![self.own_name.clone(), "localhost".to_owned()];
        names.extend_from_slice(called);
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

/// How long until the next look. `conflicts` are those in a row.
fn wait(conflicts: &mut u32, looked: kube::Result<Duration>) -> Duration {
    match looked {
        Ok(wait) => {
            *conflicts = 0;
            wait
        }
        // Another replica was faster, or somebody changed what was to be patched.
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

/// Watches one object, with permissions for only that one. Reports failures, and begins again after a wait.
fn watch_one(api: Api<DynamicObject>, name: &str) -> stream::BoxStream<'static, ()> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let watch = (watcher(api, config).boxed(), Backoff::new());
    stream::unfold(watch, |(mut events, mut backoff)| async move {
        loop {
            match events.next().await? {
                // A list is about to begin, which may fail.
                Ok(watcher::Event::Init) => {}
                Ok(_) => return Some(((), (events, Backoff::new()))),
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(
                        error,
                        "cannot watch the certificate of the webhooks, or what trusts it"
                    );
                    sleep(backoff.failure()).await;
                }
            }
        }
    })
    .boxed()
}

fn service(error: anyhow::Error) -> kube::Error {
    kube::Error::Service(error.into())
}

#[cfg(test)]
mod tests;
