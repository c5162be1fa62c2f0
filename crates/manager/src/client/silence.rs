//! Ends a watch whose connection is dead.
//!
//! A connection that is lost silently, for example at a firewall or with a node that is gone, looks like a quiet one.
//! kube would notice when the watch should have ended, after 295 s. client-go notices by HTTP/2 pings, but kube uses
//! HTTP/1.1. So this layer looks for the bookmarks that kube-apiserver sends every minute. It sends them only once its
//! cache of the kind has seen a later version than the one that the watch started at. That may take long for a kind
//! that does not change, unless a client lists it: a list brings the cache up to date. So a watch that has not received
//! anything yet gets help from a list of one name.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use hyper::{
    Request, Response, Uri,
    body::{Bytes, Frame, SizeHint},
};
use kube::{Client, client::Body};
use tokio::time::{Instant, Sleep, sleep};
use tower::Service;

/// How long a watch may be silent. That is more than the minute between bookmarks, because the API server may send them
/// 2 s late, and a busy machine even later.
const LIMIT: Duration = Duration::from_secs(85);

/// When a watch that has not received anything yet gets help: before its first bookmark is due.
const HELP: Duration = Duration::from_secs(45);

/// A client like this one, whose watches end when they are silent for too long, as if the API server had ended them.
///
/// The end is not an error: an API server that sends no bookmarks, such as Kubernetes before 1.31, would cause one each
/// time.
pub(crate) fn noticing(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(Noticing(client), namespace)
}

#[derive(Clone)]
struct Noticing(Client);

impl Service<Request<Body>> for Noticing {
    type Response = Response<WatchBody>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, kube::Result<Response<WatchBody>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<kube::Result<()>> {
        // The client waits in `send` until it is ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let help = hears_bookmarks(request.uri()).then(|| help(request.uri()));
            let answer = client.send(request).await?;
            let silence = help.map(|help| Silence {
                over: Box::pin(sleep(HELP)),
                help: Some((client, help)),
            });
            Ok(answer.map(|body| WatchBody { body, silence }))
        })
    }
}

/// Whether a request is a watch with bookmarks. A watch without them may be silent all the time.
fn hears_bookmarks(uri: &Uri) -> bool {
    let has = |wanted| parameters(uri).any(|parameter| parameter == wanted);
    has("watch=true") && has("allowWatchBookmarks=true")
}

/// The list that helps a watch. It has the selection of the watch, and asks for one name at most, because the client
/// may only have permission for that.
fn help(watch: &Uri) -> String {
    let selectors = ["labelSelector=", "fieldSelector="];
    let kept = parameters(watch).filter(|it| selectors.iter().any(|name| it.starts_with(name)));
    let mut kept: Vec<_> = kept.collect();
    if !kept.iter().any(|selector| selector.starts_with("field")) {
        kept.push("fieldSelector=metadata.name%3Dnone");
    }
    format!("{}?{}", watch.path(), kept.join("&"))
}

fn parameters(uri: &Uri) -> impl Iterator<Item = &str> {
    uri.query().unwrap_or_default().split('&')
}

/// The body of a response. If it is a watch that is silent for too long, it ends.
struct WatchBody {
    body: Body,
    /// `None` if it is not a watch.
    silence: Option<Silence>,
}

/// The silence of a watch.
struct Silence {
    /// When it has lasted too long.
    over: Pin<Box<Sleep>>,
    /// The client and the list that help a watch that has not received anything yet.
    help: Option<(Client, String)>,
}

impl Silence {
    fn broken(&mut self) {
        self.help = None;
        self.over.as_mut().reset(Instant::now() + LIMIT);
    }

    /// Ready when it has lasted too long.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.over.poll_unpin(cx).is_ready() {
            let Some((client, list)) = self.help.take() else {
                return Poll::Ready(());
            };
            tokio::spawn(async move {
                let Ok(request) = Request::get(list).body(Vec::new()) else {
                    return;
                };
                if let Err(error) = client.request_text(request).await {
                    let error = crate::error::chain(&error);
                    tracing::debug!(error, "cannot help a watch on");
                }
            });
            self.over
                .as_mut()
                .reset(Instant::now() + LIMIT.saturating_sub(HELP));
        }
        Poll::Pending
    }
}

impl hyper::body::Body for WatchBody {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<kube::Result<Frame<Bytes>>>> {
        let Self { body, silence } = &mut *self;
        let polled = Pin::new(body).poll_frame(cx);
        let Some(silence) = silence else {
            return polled;
        };
        if polled.is_ready() {
            silence.broken();
            return polled;
        }
        silence.poll(cx).map(|()| {
            tracing::debug!("a watch was silent for {LIMIT:?}, so it is begun again");
            None
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use futures_util::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{
        Api, Client,
        api::ObjectMeta,
        runtime::watcher::{self, Event, watcher},
    };
    use tokio::time::timeout;

    use super::*;
    use crate::testing::{FakeApi, content::Content, fake::Connection};

    /// An API server whose connections can freeze.
    #[derive(Clone)]
    struct Network {
        api: FakeApi,
        watches: Arc<AtomicUsize>,
        /// The watches up to this number receive nothing any more.
        frozen: Arc<AtomicUsize>,
    }

    struct Freezing {
        content: Content,
        watch: usize,
        frozen: Arc<AtomicUsize>,
    }

    impl hyper::body::Body for Freezing {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.watch <= self.frozen.load(Ordering::Relaxed) {
                return Poll::Pending;
            }
            Pin::new(&mut self.content).poll_frame(cx)
        }
    }

    impl Service<Request<Body>> for Network {
        type Response = Response<Freezing>;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Body>) -> Self::Future {
            let watch = if hears_bookmarks(request.uri()) {
                self.watches.fetch_add(1, Ordering::Relaxed) + 1
            } else {
                usize::MAX
            };
            let frozen = self.frozen.clone();
            let answer = Connection(self.api.clone()).call(request);
            Box::pin(async move {
                Ok(answer.await?.map(|content| Freezing {
                    content,
                    watch,
                    frozen,
                }))
            })
        }
    }

    fn map(name: &str) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    fn network() -> (Network, Client) {
        let network = Network {
            api: FakeApi::new(),
            frozen: Arc::default(),
            watches: Arc::default(),
        };
        let client = noticing(Client::new(network.clone(), "default"));
        (network, client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_watch_is_noticed_within_90_seconds_and_misses_nothing() {
        let (network, client) = network();
        let mut events = watcher(Api::<ConfigMap>::all(client), watcher::Config::default()).boxed();
        while !matches!(events.next().await, Some(Ok(Event::InitDone))) {}
        // The watch starts, and receives nothing from then on.
        assert!(
            timeout(Duration::from_secs(1), events.next())
                .await
                .is_err()
        );
        network.frozen.store(1, Ordering::Relaxed);
        network.api.put(&map("a"));
        let seen = timeout(Duration::from_secs(90), events.next()).await;
        let Ok(Some(Ok(Event::Apply(seen)))) = seen else {
            panic!("{seen:?}");
        };
        assert_eq!(seen.metadata.name.as_deref(), Some("a"));
        assert_eq!(network.watches.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_hears_only_bookmarks_for_a_thousand_minutes_goes_on() {
        let (network, client) = network();
        let mut events = watcher(Api::<ConfigMap>::all(client), watcher::Config::default()).boxed();
        while !matches!(events.next().await, Some(Ok(Event::InitDone))) {}
        let quiet = timeout(Duration::from_secs(1000 * 60), events.next()).await;
        assert!(quiet.is_err(), "{quiet:?}");
        assert_eq!(network.watches.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_watch_is_helped_on_by_a_list_that_it_has_permission_for() {
        let help = |uri| help(&Uri::from_static(uri));
        assert_eq!(
            help("/api/v1/pods?&watch=true&allowWatchBookmarks=true&resourceVersion=1"),
            "/api/v1/pods?fieldSelector=metadata.name%3Dnone"
        );
        let selectors = "fieldSelector=metadata.name%3Da&labelSelector=b";
        let uri = format!("/api/v1/pods?{selectors}&watch=true")
            .parse()
            .unwrap();
        assert_eq!(super::help(&uri), format!("/api/v1/pods?{selectors}"));
    }

    #[test]
    fn a_watch_without_bookmarks_may_be_silent() {
        let hears = |uri| hears_bookmarks(&Uri::from_static(uri));
        assert!(hears(
            "/api/v1/pods?&watch=true&timeoutSeconds=290&allowWatchBookmarks=true"
        ));
        assert!(!hears("/api/v1/pods?watch=true"));
        assert!(!hears("/api/v1/pods?limit=500"));
    }
}
