//! Ends a watch whose connection is dead.
//!
//! A connection that is lost without a word, as at a firewall or a node that is gone, looks like a quiet one. kube would
//! notice when the watch should have ended, after 295 s; client-go does by pings of HTTP/2, which kube does not speak. But
//! the API server sends a bookmark a minute to whoever asks for them, so that a watch that hears nothing for longer is dead.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use hyper::{
    Request, Response, Uri,
    body::{Body, Frame, SizeHint},
};
use tokio::time::{Instant, Sleep, sleep};
use tower::{Layer, Service};

/// How long a watch may hear nothing: more than the minute between bookmarks, which the API server may send 2 s late, and
/// a busy machine later still.
const LIMIT: Duration = Duration::from_secs(85);

/// Ends watches that are silent for too long; whoever watches begins again where they ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceLayer;

impl<S> Layer<S> for SilenceLayer {
    type Service = Listening<S>;

    fn layer(&self, inner: S) -> Listening<S> {
        Listening(inner)
    }
}

/// A service whose watches end when they are silent for too long.
#[derive(Clone, Debug)]
pub(crate) struct Listening<S>(S);

impl<S, B, R> Service<Request<B>> for Listening<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<ListeningBody<R>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let silence = hears_bookmarks(request.uri());
        let answer = self.0.call(request).map(move |answer| {
            let silence = silence.then(|| Box::pin(sleep(LIMIT)));
            Ok(answer?.map(|body| ListeningBody { body, silence }))
        });
        Box::pin(answer)
    }
}

/// Whether a request is a watch with bookmarks. One without may be silent for as long as it lasts.
fn hears_bookmarks(uri: &Uri) -> bool {
    let has = |wanted: &str| {
        let mut parameters = uri.query().unwrap_or_default().split('&');
        parameters.any(|parameter| parameter == wanted)
    };
    has("watch=true") && has("allowWatchBookmarks=true")
}

/// The body of an answer, which ends when it is a watch that is silent for too long.
#[derive(Debug)]
pub(crate) struct ListeningBody<B> {
    body: B,
    /// `None` if it is no watch.
    silence: Option<Pin<Box<Sleep>>>,
}

impl<B: Body + Unpin> Body for ListeningBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let Some(silence) = &mut self.silence else {
            return polled;
        };
        if polled.is_ready() {
            silence.as_mut().reset(Instant::now() + LIMIT);
            return polled;
        }
        silence.poll_unpin(cx).map(|()| {
            tracing::debug!("a watch was silent for {LIMIT:?}, so it is begun again");
            // Not an error: an API server that sends no bookmarks would cause one each time.
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
        client::Body as Sent,
        runtime::watcher::{self, Event, watcher},
    };
    use tokio::time::timeout;

    use super::*;
    use crate::testing::{
        FakeApi,
        fake::{Connection, Content},
    };

    /// An API server on connections that can freeze.
    #[derive(Clone)]
    struct Network {
        api: FakeApi,
        watches: Arc<AtomicUsize>,
        /// Up to which watch nothing comes through any more.
        frozen: Arc<AtomicUsize>,
    }

    struct Freezing {
        content: Content,
        watch: usize,
        frozen: Arc<AtomicUsize>,
    }

    impl Body for Freezing {
        type Data = <Content as Body>::Data;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
            if self.watch <= self.frozen.load(Ordering::Relaxed) {
                return Poll::Pending;
            }
            Pin::new(&mut self.content).poll_frame(cx)
        }
    }

    impl Service<Request<Sent>> for Network {
        type Response = Response<Freezing>;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request<Sent>) -> Self::Future {
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
        let client = Client::new(SilenceLayer.layer(network.clone()), "default");
        (network, client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_watch_is_noticed_within_90_seconds_and_misses_nothing() {
        let (network, client) = network();
        let mut events = watcher(Api::<ConfigMap>::all(client), watcher::Config::default()).boxed();
        while !matches!(events.next().await, Some(Ok(Event::InitDone))) {}
        // It begins to watch, and hears nothing from then on.
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
    fn a_watch_without_bookmarks_may_be_silent() {
        let hears = |uri| hears_bookmarks(&Uri::from_static(uri));
        assert!(hears(
            "/api/v1/pods?&watch=true&timeoutSeconds=290&allowWatchBookmarks=true"
        ));
        assert!(!hears("/api/v1/pods?watch=true"));
        assert!(!hears("/api/v1/pods?limit=500"));
    }
}
