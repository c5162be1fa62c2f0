//! The task that migrates the objects of one kind.

use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    definition::{Definition, Definitions, Progress},
    delegate::{Delegate, Outcome},
    rewrite::Rewriter,
    settings::StorageMigration,
};
use crate::{error::chain, key::Key, metrics::MigrationMetrics};

/// How often the CRD is read, and how long to wait after an error.
const PERIOD: Duration = Duration::from_secs(60);

/// How long to wait before rejected objects are tried again.
const RETRY: Duration = Duration::from_secs(300);

/// How often the progress is recorded: each time, all clients that watch CRDs are notified. A restart repeats what was
/// done since then, which changes nothing.
const RECORD: Duration = Duration::from_secs(30);

/// How many rejected objects are tried again by name. With more, something else is wrong, and all are tried again.
const MOST_REJECTED: usize = 1000;

/// How many rejected objects the log names at a time.
const NAMED: usize = 10;

/// The migration of one kind, in the leader.
pub(crate) struct Migration {
    settings: StorageMigration,
    client: Client,
    id: String,
    definitions: Definitions,
    rewriter: Rewriter,
    metrics: MigrationMetrics,
    /// The generation of the CRD that was seen last, and when it was seen first.
    seen: Option<(i64, Instant)>,
    /// The generation that kube-controller-manager cannot migrate to.
    own: Option<i64>,
    /// The generation to which all objects but these were migrated.
    rejected: Option<(i64, Vec<Key>)>,
}

impl Migration {
    /// A migration with these settings by the operator `id`. All requests use `client`.
    pub(crate) fn new(
        settings: StorageMigration,
        client: Client,
        id: &str,
        metrics: MigrationMetrics,
    ) -> Self {
        let definitions = Definitions::new(client.clone(), &settings.crd(), id);
        let rewriter = Rewriter::new(
            client.clone(),
            (settings.resource.clone(), settings.namespaced),
            settings.period(),
            &format!("{id}/storage-migration"),
            metrics.clone(),
        );
        Self {
            definitions,
            rewriter,
            client,
            id: id.to_owned(),
            settings,
            metrics,
            seen: None,
            own: None,
            rejected: None,
        }
    }

    /// Migrates whenever it is necessary, until `stop`. What is under way then is continued by the next leader.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let migrate = async {
            loop {
                let wait = match self.step().await {
                    Ok(wait) => wait,
                    Err(error) => {
                        let (kind, error) = (self.settings.kind(), chain(error.as_ref()));
                        tracing::warn!(kind, error, "cannot migrate stored objects; trying again");
                        PERIOD
                    }
                };
                sleep(wait).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            never = migrate => never,
        }
    }

    /// Does what the CRD makes necessary; returns when to read it again.
    async fn step(&mut self) -> anyhow::Result<Duration> {
        let crd = self.definitions.read().await?;
        self.metrics.pending(!crd.old.is_empty());
        if crd.old.is_empty() {
            (self.seen, self.own, self.rejected) = (None, None, None);
            return Ok(PERIOD);
        }
        let since = self.first_seen(&crd);
        let Some(progress) = crd.progress.clone() else {
            let wait = self.settings.grace_period().saturating_sub(since.elapsed());
            return if wait.is_zero() {
                self.begin(&crd).await
            } else {
                Ok(wait)
            };
        };
        if self
            .rejected
            .as_ref()
            .is_none_or(|(it, _)| *it != crd.generation)
        {
            let Some(rejected) = self.rewrite_all(crd.clone(), progress).await? else {
                return Ok(Duration::ZERO);
            };
            if rejected.len() > MOST_REJECTED {
                return Ok(RETRY);
            }
            self.rejected = Some((crd.generation, rejected));
        } else {
            self.rewrite_rejected().await;
        }
        if self.rejected.as_ref().is_some_and(|(_, it)| !it.is_empty()) {
            return Ok(RETRY);
        }
        self.finish(crd.generation).await
    }

    /// When this state of the CRD was first seen. API servers may still write the old version for a while after that.
    fn first_seen(&mut self, crd: &Definition) -> Instant {
        if let Some((generation, since)) = self.seen
            && generation == crd.generation
        {
            return since;
        }
        let (kind, grace) = (self.settings.kind(), self.settings.grace_period());
        let (old, version) = (crd.old.join(", "), &crd.version);
        if crd.progress.is_some() {
            tracing::info!(kind, old, version, "continuing the storage migration");
        } else {
            tracing::info!(kind, old, version, ?grace, "storage migration is necessary");
        }
        let now = Instant::now();
        self.seen = Some((crd.generation, now));
        now
    }

    /// Delegates the migration, or records where it begins.
    async fn begin(&mut self, crd: &Definition) -> anyhow::Result<Duration> {
        let generation = crd.generation;
        if self.settings.may_delegate() && self.own != Some(generation) {
            let resource = &self.settings.resource;
            let delegate = Delegate::new(self.client.clone(), resource, generation, &self.id);
            match delegate.run().await {
                Outcome::Succeeded => return self.finish(generation).await,
                Outcome::Failed(reason) => {
                    let kind = self.settings.kind();
                    tracing::info!(
                        kind,
                        reason,
                        "no migration by a StorageVersionMigration, rewriting the objects here"
                    );
                    self.own = Some(generation);
                    return Ok(Duration::ZERO);
                }
            }
        }
        let up_to = self.rewriter.now().await?;
        let progress = Progress { up_to, token: None };
        self.definitions.remember(crd, &progress).await?;
        Ok(Duration::ZERO)
    }

    /// Rewrites all objects that were last written before the migration began; returns those that were rejected, or
    /// `None` if the CRD has changed.
    async fn rewrite_all(
        &mut self,
        mut crd: Definition,
        mut progress: Progress,
    ) -> anyhow::Result<Option<Vec<Key>>> {
        let kind = self.settings.kind();
        let (mut rejected, mut total) = (Vec::new(), 0);
        let mut recorded = Instant::now();
        let mut token = progress.token.clone();
        loop {
            let given = token.as_deref().filter(|token| !token.is_empty());
            let page = self.rewriter.page(given, &progress.up_to).await?;
            total += page.rewritten;
            self.log_rejected(&page.rejected);
            rejected.extend(page.rejected.into_iter().map(|(key, _)| key));
            let Some(next) = page.next else {
                let failed = rejected.len();
                tracing::info!(
                    kind,
                    rewritten = total,
                    rejected = failed,
                    "rewrote all objects"
                );
                return Ok(Some(rejected));
            };
            let remaining = page.remaining;
            tracing::info!(kind, rewritten = total, remaining, "rewriting objects");
            if rejected.len() > MOST_REJECTED {
                return Ok(Some(rejected));
            }
            token = Some(next);
            if recorded.elapsed() < RECORD {
                continue;
            }
            let now = self.definitions.read().await?;
            if now.generation != crd.generation {
                return Ok(None);
            }
            crd = now;
            // After a restart, objects that were rejected must be tried again, so the record stays before them.
            if rejected.is_empty() {
                progress.token.clone_from(&token);
                self.definitions.remember(&crd, &progress).await?;
            }
            recorded = Instant::now();
        }
    }

    /// Tries the rejected objects again, and keeps those that are rejected again.
    async fn rewrite_rejected(&mut self) {
        let Some((_, keys)) = &mut self.rejected else {
            return;
        };
        let mut again = Vec::new();
        for key in std::mem::take(keys) {
            if let Err(error) = self.rewriter.rewrite(&key).await {
                again.push((key, chain(&error)));
            }
        }
        self.log_rejected(&again);
        if let Some((_, keys)) = &mut self.rejected {
            *keys = again.into_iter().map(|(key, _)| key).collect();
        }
    }

    fn log_rejected(&self, rejected: &[(Key, String)]) {
        let kind = self.settings.kind();
        for (key, error) in rejected.iter().take(NAMED) {
            tracing::warn!(kind, %key, error, "cannot rewrite a stored object; trying again");
        }
        let more = rejected.len().saturating_sub(NAMED);
        if more > 0 {
            tracing::warn!(kind, more, "cannot rewrite more stored objects");
        }
    }

    /// Removes the old versions from `storedVersions`, unless the spec of the CRD has changed since all objects were
    /// rewritten for this generation: then some may be stored in another version.
    async fn finish(&mut self, generation: i64) -> anyhow::Result<Duration> {
        loop {
            let crd = self.definitions.read().await?;
            if crd.generation != generation {
                return Ok(Duration::ZERO);
            }
            if crd.old.is_empty() || self.definitions.finish(&crd).await? {
                let (kind, version) = (self.settings.kind(), crd.version);
                tracing::info!(kind, version, "all objects are stored in one version");
                self.metrics.pending(false);
                return Ok(Duration::ZERO);
            }
        }
    }
}
