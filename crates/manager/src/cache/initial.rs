//! Lists the objects of a watch: in a stream of events, or in pages where the API server does not stream lists.
//!
//! A streamed list (`WatchList`, KEP-3157) is a watch whose first events are the objects, up to a bookmark with an
//! annotation. The API server sends them one by one from its cache, so neither side holds a page. An API server that
//! cannot do it rejects the request, as Kubernetes does with the feature off, or ignores the parameter and never sends
//! the bookmark, as before 1.27. As in client-go's reflector, the objects are listed in pages whenever a stream fails.
//! Other than there, that is remembered for the kind, so that the next list costs one request less. After a stream that
//! was only cut, the next list is streamed again.

use std::{collections::HashSet, time::Duration};

use futures_util::{
    StreamExt as _,
    stream::{BoxStream, Stream},
};
use kube::{
    Api, Resource as _,
    api::{ListParams, WatchEvent, WatchParams},
    runtime::watcher::Error,
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    cache::{
        fill::Follower,
        lenient::Lenient,
        object::{Cached, number},
    },
    client::limit::is_exceeded,
    error::chain,
    key::Key,
};

/// The annotation of the bookmark that ends a streamed list.
const END: &str = "k8s.io/initial-events-end";

/// How long a streamed list may pause. The API server sends the objects at once, and then the bookmark as soon as its
/// cache is as new as etcd, which takes at most 3 s. client-go warns after 10 s, too.
const PAUSE: Duration = Duration::from_secs(10);

/// How long a streamed list may be without an object that is new in it: if the API server ignores that a list is wanted,
/// what changes is delivered for ever.
const WHOLE: Duration = Duration::from_secs(60);

pub(super) type Events<K> = BoxStream<'static, kube::Result<WatchEvent<Lenient<K>>>>;

/// How far a watch has come.
pub(super) struct Position<K> {
    /// The version up to which all changes are known.
    pub(super) version: String,
    /// The version up to which some changes may be known.
    pub(super) mixed_until: Option<u128>,
    /// The changes since then, if they are being watched.
    pub(super) watch: Option<Watch<K>>,
}

/// A watch that goes on.
pub(super) struct Watch<K> {
    pub(super) events: Events<K>,
    /// When it was requested, or its list was over.
    pub(super) began: Instant,
}

/// Why a list was not streamed.
enum Unstreamed {
    /// The connection was cut, or the API server failed or ended the stream.
    Interrupted,
    /// The API server, or a proxy in front of it, seems unable to do it.
    Unsupported(String),
}

impl<K: Cached> Follower<'_, K> {
    /// Lists all objects, and removes the others from the cache. If the last list failed both in a stream and in pages,
    /// one in pages is enough to find out whether this one does.
    pub(super) async fn list(
        &self,
        api: &Api<Lenient<K>>,
        has_failed: bool,
    ) -> Result<Position<K>, Error> {
        let position = if self.cache.is_streamed() && !has_failed {
            self.stream_or_pages(api).await?
        } else {
            self.pages(api).await?
        };
        if self.cache.progress.listed(self.place) {
            tracing::info!(kind = %K::kind(&()), namespace = self.namespace, "an optional kind is installed");
            self.cache.presence.changed();
        }
        Ok(position)
    }

    async fn stream_or_pages(&self, api: &Api<Lenient<K>>) -> Result<Position<K>, Error> {
        let unsupported = match self.stream(api).await {
            Ok(position) => return Ok(position),
            Err(Unstreamed::Interrupted) => None,
            Err(Unstreamed::Unsupported(reason)) => Some(reason),
        };
        let position = self.pages(api).await?;
        // Not before: if both fail, the cause is another.
        if let Some(reason) = unsupported {
            self.cache.list_in_pages();
            tracing::info!(kind = %K::kind(&()), reason, "the list is not streamed, but read in pages");
        }
        Ok(position)
    }

    async fn stream(&self, api: &Api<Lenient<K>>) -> Result<Position<K>, Unstreamed> {
        let params = WatchParams {
            send_initial_events: true,
            ..self.shape.watch_params()
        };
        let mut listed = HashSet::new();
        let mut end = Instant::now() + WHOLE;
        // Without a version, the list is as new as one in pages; with "0", as kube's watcher sends, it may be older
        // than what this process has seen.
        let mut events = match api.watch(&params, "").await {
            Ok(events) => events.boxed(),
            Err(error) => return Err(Unstreamed::from(error)),
        };
        loop {
            match next(&mut events, end).await? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    if listed.insert(self.set(object)) {
                        end = Instant::now() + WHOLE;
                    }
                }
                WatchEvent::Deleted(object) => {
                    let key = Key::of(&object);
                    self.cache.remove(&key, object.meta());
                    listed.remove(&key);
                }
                WatchEvent::Bookmark(bookmark) => {
                    let metadata = bookmark.metadata;
                    if !metadata.annotations.contains_key(END) {
                        continue;
                    }
                    if metadata.resource_version.is_empty() {
                        return Err(Unstreamed::Unsupported(
                            "its last bookmark has no version".to_owned(),
                        ));
                    }
                    let version = metadata.resource_version;
                    self.cache.retain(self.namespace, &listed, &version);
                    return Ok(Position {
                        version,
                        mixed_until: None,
                        watch: Some(Watch {
                            events,
                            began: Instant::now(),
                        }),
                    });
                }
                WatchEvent::Error(_) => return Err(Unstreamed::Interrupted),
            }
        }
    }

    /// Lists in pages. If the list takes so long that its continue token expires, it goes on with the token of that
    /// answer, which means the latest state.
    async fn pages(&self, api: &Api<Lenient<K>>) -> Result<Position<K>, Error> {
        let (mut listed, mut first, mut is_renewed) = (HashSet::new(), None, false);
        let mut params = self.shape.list_params();
        loop {
            let page = match api.list(&params).await {
                Ok(page) => page,
                // A list without a limit has one page.
                Err(error) if is_paged(&params) && is_expired(&error) => {
                    let token = renewed_token(error).filter(|_| !is_renewed);
                    is_renewed = true;
                    if token.is_none() {
                        // All at once, as client-go's pager does.
                        (params.limit, first) = (None, None);
                        listed.clear();
                    }
                    params.continue_token = token;
                    continue;
                }
                Err(error) => return Err(Error::InitialListFailed(error)),
            };
            let version = page.metadata.resource_version.unwrap_or_default();
            // Later changes of the first objects may be missing, so the watch begins where their page was.
            let first = first.get_or_insert_with(|| version.clone());
            for object in page.items {
                listed.insert(self.set(object));
            }
            is_renewed = false;
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                if first.is_empty() {
                    return Err(Error::NoResourceVersion);
                }
                self.cache.retain(self.namespace, &listed, first);
                return Ok(Position {
                    mixed_until: number(&version).filter(|_| version != *first),
                    version: std::mem::take(first),
                    watch: None,
                });
            }
        }
    }
}

/// Whether a request is for a page after the first.
fn is_paged(params: &ListParams) -> bool {
    params.limit.is_some() && params.continue_token.is_some()
}

/// Whether a token has expired.
fn is_expired(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 410)
}

/// The token of the answer to go on with.
fn renewed_token(error: kube::Error) -> Option<String> {
    let kube::Error::Api(status) = error else {
        return None;
    };
    let token = status.metadata?.continue_;
    token.filter(|token| !token.is_empty())
}

impl From<kube::Error> for Unstreamed {
    /// What the answer to the request for a streamed list means. As in client-go, a list in pages is tried after any.
    fn from(error: kube::Error) -> Self {
        let is_unsupported = match &error {
            kube::Error::Api(status) => match status.code {
                401 | 404 | 408..=410 | 429 => false,
                code => (400..=499).contains(&code) || code == 501,
            },
            error => is_exceeded(error),
        };
        if is_unsupported {
            Self::Unsupported(chain(&error))
        } else {
            Self::Interrupted
        }
    }
}

/// The next event of a streamed list, which must come soon.
async fn next<K>(
    events: &mut (impl Stream<Item = kube::Result<WatchEvent<K>>> + Unpin),
    end: Instant,
) -> Result<WatchEvent<K>, Unstreamed> {
    let reason = match timeout_at(end, timeout(PAUSE, events.next())).await {
        Ok(Ok(Some(Ok(event)))) => return Ok(event),
        Ok(Ok(Some(Err(_)) | None)) => return Err(Unstreamed::Interrupted),
        Ok(Err(_)) => format!("it paused for {PAUSE:?}"),
        Err(_) => format!("it took longer than {WHOLE:?}"),
    };
    Err(Unstreamed::Unsupported(reason))
}
