//! Ends a watch whose connection is dead.
//!
//! A connection that is lost silently, for example at a firewall or with a node that is gone, looks like a quiet one.
//! kube would notice when the watch should have ended, after 295 s. client-go notices by HTTP/2 pings, but kube uses
//! HTTP/1.1. So this layer looks for the bookmarks that kube-apiserver sends every minute. It sends them only once its
//! cache of the kind has seen a later version than the one that the watch started at. That may take long for a kind
//! that does not change, unless a client lists it: a list brings the cache up to date. So a watch that has not received
//! anything yet gets help from a list of one name. One that begins with a streamed list gets it even if it has: the
//! events of that list are no later versions.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use hyper::{
    Request, Response, Uri,
    body::{Frame, SizeHint},
};
use kube::client::Body;
use tokio::time::{Instant, Sleep, sleep};
use tower::{BoxError, Layer, Service};

use crate::{
    client::{
        limit::{is_streamed_list, parameters},
        shared::{Shared, drain},
    },
    error::chain,
};

/// How long a watch may be silent. That is more than the minute between bookmarks, because the API server may send them
/// 2 s late, and a busy machine even later.
const LIMIT: Duration = Duration::from_secs(85);

/// When a watch that has not received anything yet gets help: before its first bookmark is due.
const HELP: Duration = Duration::from_secs(45);

/// Ends watches that are silent for too long, as if the API server had ended them.
///
/// The end is not an error: an API server that sends no bookmarks, such as Kubernetes before 1.31, would cause one each
/// time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceLayer;

impl<S> Layer<S> for SilenceLayer {
    type Service = Noticing<S>;

    fn layer(&self, inner: S) -> Noticing<S> {
        Noticing(Shared::new(inner))
    }
}

/// A service whose watches end when they are silent for too long.
#[derive(Debug)]
pub(crate) struct Noticing<S>(Shared<S>);

impl<S, R> Service<Request<Body>> for Noticing<S>
where
    S: Service<Request<Body>, Response = Response<R>, Error: Into<BoxError>> + Send + 'static,
    S::Future: Send + 'static,
    R: hyper::body::Body + Send + Unpin + 'static,
{
    type Response = Response<WatchBody<R>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let help = hears_bookmarks(request.uri()).then(|| list(&self.0, help(request.uri())));
        let lists = is_streamed_list(request.uri());
        let answer = self.0.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            let silence = help.map(|help| Silence {
                over: Box::pin(sleep(HELP)),
                help: Some(help),
                lists,
            });
            Ok(answer.map(|body| WatchBody { body, silence }))
        })
    }
}

/// Sends a list, for its effect on the API server only.
fn list<S, R>(service: &Shared<S>, path: String) -> BoxFuture<'static, ()>
where
    S: Service<Request<Body>, Response = Response<R>, Error: Into<BoxError>> + Send + 'static,
    S::Future: Send,
    R: hyper::body::Body + Send + Unpin,
{
    let service = service.clone();
    Box::pin(async move {
        let Ok(request) = Request::get(path).body(Body::empty()) else {
            return;
        };
        let answer = service.send(request).await.map_err(Into::<BoxError>::into);
        match answer {
            Ok(response) => drain(response.into_body()).await,
            Err(error) => {
                let error = chain(&*error);
                tracing::debug!(error, "cannot help a watch on");
            }
        }
    })
}

/// Whether a request is a watch with bookmarks. A watch without them may be silent all the time.
fn hears_bookmarks(uri: &Uri) -> bool {
    let has = |wanted| parameters(uri).any(|parameter| parameter == wanted);
    has("watch=true") && has("allowWatchBookmarks=true")
}

/// The list that helps a watch. It has the selection of the watch, because the client may only have permission for that,
/// and one name besides, so that it has one object at most.
fn help(watch: &Uri) -> String {
    const NONE: &str = "metadata.name%3Dnone";
    let of = |name: &str| parameters(watch).find(|it| it.starts_with(name));
    let mut names = ["metadata.name%3D", "metadata.name="].iter();
    let fields = match of("fieldSelector=") {
        Some(fields) if names.any(|name| fields.contains(name)) => fields.to_owned(),
        Some(fields) => format!("{fields}%2C{NONE}"),
        None => format!("fieldSelector={NONE}"),
    };
    let labels = of("labelSelector=").map(|labels| format!("&{labels}"));
    format!("{}?{fields}{}", watch.path(), labels.unwrap_or_default())
}

/// The body of a response. If it is a watch that is silent for too long, it ends.
pub(crate) struct WatchBody<B> {
    body: B,
    /// `None` if it is not a watch.
    silence: Option<Silence>,
}

/// The silence of a watch.
struct Silence {
    /// When it has lasted too long.
    over: Pin<Box<Sleep>>,
    /// The list that helps a watch whose bookmarks may not come.
    help: Option<BoxFuture<'static, ()>>,
    /// Whether it begins with a streamed list.
    lists: bool,
}

impl Silence {
    fn broken(&mut self) {
        if !self.lists {
            self.help = None;
        }
        let limit = if self.help.is_some() { HELP } else { LIMIT };
        self.over.as_mut().reset(Instant::now() + limit);
    }

    /// Ready when it has lasted too long.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.over.poll_unpin(cx).is_ready() {
            let Some(help) = self.help.take() else {
                return Poll::Ready(());
            };
            tokio::spawn(help);
            self.over
                .as_mut()
                .reset(Instant::now() + LIMIT.saturating_sub(HELP));
        }
        Poll::Pending
    }
}

impl<B: hyper::body::Body + Unpin> hyper::body::Body for WatchBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
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
mod tests;
