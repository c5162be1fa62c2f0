//! Watches on connections that freeze.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::StreamExt;
use hyper::body::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{Content, FakeApi};
use kube::{
    Api, Client,
    api::ObjectMeta,
    runtime::watcher::{self, Event, watcher},
};
use tokio::time::timeout;

use super::*;

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
        let answer = self.api.connection().call(request);
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
async fn a_watch_that_receives_only_bookmarks_continues() {
    let (network, client) = network();
    let mut events = watcher(Api::<ConfigMap>::all(client), watcher::Config::default()).boxed();
    while !matches!(events.next().await, Some(Ok(Event::InitDone))) {}
    // The API server ends it after 290 s.
    let quiet = timeout(Duration::from_secs(280), events.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    assert_eq!(network.watches.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_begins_with_a_list_is_helped_although_it_has_received_that() {
    for (lists, requests) in [(true, 2), (false, 1)] {
        let (network, client) = network();
        network.api.put(&map("a"));
        let parameters = kube::api::WatchParams {
            send_initial_events: lists,
            ..kube::api::WatchParams::default()
        };
        let maps = Api::<ConfigMap>::all(client);
        let mut events = maps.watch(&parameters, "").await.unwrap().boxed();
        events.next().await.unwrap().unwrap();
        let quiet = async { while events.next().await.is_some() {} };
        assert!(timeout(Duration::from_secs(50), quiet).await.is_err());
        assert_eq!(network.api.requests().len(), requests, "{lists}");
    }
}

#[test]
fn a_watch_is_helped_by_a_list_that_needs_no_other_permission() {
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
    // Many objects may have these fields.
    assert_eq!(
        help("/api/v1/pods?fieldSelector=status.phase%21%3DFailed&watch=true"),
        "/api/v1/pods?fieldSelector=status.phase%21%3DFailed%2Cmetadata.name%3Dnone"
    );
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
