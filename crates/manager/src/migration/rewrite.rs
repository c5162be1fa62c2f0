//! Rewrites objects, one after the other, at a limited rate.

use std::time::Duration;

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use crate::{
    backoff::Backoff,
    cache::object::{later, version},
    error::chain,
    key::Key,
    metrics::MigrationMetrics,
};

/// How many objects are listed at a time; only their metadata is read. A page is short, because an object that is written
/// by others after it was listed is rewritten in vain.
const PAGE: u32 = 100;

/// How often an object is tried in a row, with a back-off, if the API server does not answer or is too busy. Any other
/// error is about the object, and another attempt at once would fail in the same way.
const TRIES: usize = 5;

/// Rewrites the objects of one kind.
pub(super) struct Rewriter {
    client: Client,
    resource: ApiResource,
    namespaced: bool,
    params: PatchParams,
    rate: Interval,
    metrics: MigrationMetrics,
}

/// A page of objects, rewritten.
pub(super) struct Page {
    /// Where the next one begins; `None` after the last one.
    pub(super) next: Option<String>,
    /// How many objects were rewritten.
    pub(super) rewritten: usize,
    /// How many objects follow, if the API server knows.
    pub(super) remaining: Option<i64>,
    /// The objects that the API server rejected, and why.
    pub(super) rejected: Vec<(Key, String)>,
}

impl Rewriter {
    /// `period` is the time between two objects, and `manager` the field manager.
    pub(super) fn new(
        client: Client,
        (resource, namespaced): (ApiResource, bool),
        period: Duration,
        manager: &str,
        metrics: MigrationMetrics,
    ) -> Self {
        let mut rate = interval(period);
        // A late object does not make the next ones early.
        rate.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            client,
            resource,
            namespaced,
            params: PatchParams {
                field_manager: Some(manager.to_owned()),
                ..PatchParams::default()
            },
            rate,
            metrics,
        }
    }

    /// The current resource version of the kind: every object that exists now was last written at it or before it.
    pub(super) async fn now(&self) -> kube::Result<String> {
        let (all, one) = (self.all(), ListParams::default().limit(1));
        let list = all.list_metadata(&one).await?;
        Ok(list.metadata.resource_version.unwrap_or_default())
    }

    /// Rewrites the objects of the page at `token` that were last written at resource version `up_to` or before it.
    pub(super) async fn page(&mut self, token: Option<&str>, up_to: &str) -> kube::Result<Page> {
        let mut params = ListParams::default().limit(PAGE);
        params.continue_token = token.map(str::to_owned);
        let list = match self.all().list_metadata(&params).await {
            Ok(list) => list,
            Err(kube::Error::Api(error)) if error.code == 410 && token.is_some() => {
                // The token has expired. With the one in the response, the list continues with what there is now: the
                // objects that have been written meanwhile need no rewriting. Without one, it starts over.
                let fresh = error.metadata.and_then(|it| it.continue_);
                tracing::debug!(continues = fresh.is_some(), "the list of objects expired");
                return Ok(Page {
                    next: Some(fresh.unwrap_or_default()),
                    rewritten: 0,
                    remaining: None,
                    rejected: Vec::new(),
                });
            }
            Err(error) => return Err(error),
        };
        let (mut rewritten, mut rejected) = (0, Vec::new());
        for object in &list.items {
            if later(version(object), up_to) {
                continue;
            }
            let key = Key::of(object);
            match self.rewrite(&key).await {
                Ok(()) => rewritten += 1,
                Err(error) => rejected.push((key, chain(&error))),
            }
        }
        let meta = list.metadata;
        Ok(Page {
            next: meta.continue_.filter(|token| !token.is_empty()),
            rewritten,
            remaining: meta.remaining_item_count,
            rejected,
        })
    }

    /// Writes an object without changing it. The API server then stores it in the current version; if it is stored so
    /// already, it writes nothing. An object that is gone needs no rewriting.
    ///
    /// There is no precondition: the API server applies the empty patch to what the object is by then.
    pub(super) async fn rewrite(&mut self, key: &Key) -> kube::Result<()> {
        let api = self.in_namespace(key);
        let (mut backoff, mut tries) = (Backoff::new(), 0);
        loop {
            self.rate.tick().await;
            let patch = Patch::Merge(json!({}));
            let result = api.patch_metadata(key.name(), &self.params, &patch).await;
            let Err(error) = result else {
                self.metrics.rewritten();
                return Ok(());
            };
            tries += 1;
            if is_404(&error) && matches!(self.is_gone(key).await, Ok(true)) {
                return Ok(());
            }
            if tries == TRIES || !is_momentary(&error) {
                self.metrics.rejected();
                return Err(error);
            }
            tracing::debug!(%key, error = chain(&error), "cannot rewrite an object yet");
            sleep(backoff.failure()).await;
        }
    }

    /// Whether an object whose rewrite was answered with 404 is gone. An admission webhook may deny a write with any code, and
    /// an API server may not serve the kind yet. This is a list, because nothing else here needs the permission to get.
    async fn is_gone(&self, key: &Key) -> kube::Result<bool> {
        let name = format!("metadata.name={}", key.name());
        let one = ListParams::default().fields(&name);
        let list = self.in_namespace(key).list_metadata(&one).await?;
        Ok(list.items.is_empty())
    }

    fn in_namespace(&self, key: &Key) -> Api<DynamicObject> {
        match key.namespace().filter(|_| self.namespaced) {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &self.resource),
            None => self.all(),
        }
    }

    fn all(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &self.resource)
    }
}

fn is_404(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(error) if error.code == 404)
}

/// Whether the same request may succeed in a moment.
fn is_momentary(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(error) => error.code >= 500 || [401, 408, 409, 429].contains(&error.code),
        _ => true,
    }
}
