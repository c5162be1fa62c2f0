//! Gives each request a time limit. The connection of a request that exceeds it is closed.
//!
//! kube's own timeouts cannot do this. `Config::read_timeout` counts the time that a connection is idle and would end a
//! quiet watch; the other two stop counting once a request is sent.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{
    Method, Request, Response, Uri,
    body::{Frame, SizeHint},
};
use kube::client::Body;
use tokio::time::{Sleep, sleep};
use tower::{BoxError, Layer, Service};

/// The time limit of a read of one object, including the response.
const ONE: Duration = Duration::from_secs(30);

/// The time limit of a change of one object. The API server gives up after 34 s (`requestTimeoutUpperBound` in
/// `k8s.io/apiserver/pkg/endpoints/handlers/rest.go`), and until then it may wait for webhooks, which it asks one after the
/// other: a change that the client gave up earlier would never succeed.
const CHANGE: Duration = Duration::from_secs(40);

/// The time limit of a request for a collection, such as a page of a list.
const MANY: Duration = Duration::from_secs(60);

/// The time limit of a creation, which exceeds that of the API server (60 s, its `--request-timeout`). When the client gives
/// up, the API server has, too: if it creates the object, it does so before the caller tries again. Otherwise an object
/// whose name the API server generates might be created twice.
const CREATION: Duration = Duration::from_secs(65);

/// Limits the time of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitLayer;

impl<S> Layer<S> for LimitLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited(inner)
    }
}

/// A service whose requests have a time limit.
#[derive(Clone, Debug)]
pub(crate) struct Limited<S>(S);

impl<S, R> Service<Request<Body>> for Limited<S>
where
    S: Service<Request<Body>, Response = Response<R>, Error: Into<BoxError>>,
    S::Future: Send + 'static,
{
    type Response = Response<LimitedBody<R>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let limit = Limit::of(&request);
        let answer = self.0.call(request);
        Box::pin(async move {
            let mut over = Box::pin(sleep(limit.time));
            let response = tokio::select! {
                biased;
                answer = answer => answer.map_err(Into::into)?,
                // This drops the response, which closes the connection.
                () = &mut over => return Err(limit.exceeded("was not answered").into()),
            };
            let limit = (!limit.streams).then_some((over, limit));
            Ok(response.map(|body| LimitedBody { body, limit }))
        })
    }
}

/// The limit of one request.
#[derive(Debug)]
struct Limit {
    method: Method,
    uri: Uri,
    time: Duration,
    /// Whether the response lasts for as long as the client wants, so that only its start is limited.
    streams: bool,
}

impl Limit {
    fn of<B>(request: &Request<B>) -> Self {
        let (method, uri) = (request.method(), request.uri());
        let streams = is_watch(uri) || is_stream(uri.path());
        let many = matches!(*method, Method::GET | Method::DELETE) && is_collection(uri.path());
        let time = match *method {
            _ if streams => ONE,
            Method::POST => CREATION,
            _ if many => MANY,
            Method::PATCH | Method::PUT | Method::DELETE => CHANGE,
            _ => ONE,
        };
        Self {
            method: method.clone(),
            uri: uri.clone(),
            time,
            streams,
        }
    }

    fn exceeded(&self, what: &'static str) -> Exceeded {
        Exceeded {
            request: format!("{} {}", self.method, self.uri.path()),
            what,
            time: self.time,
        }
    }
}

/// Whether a request is a watch.
pub(crate) fn is_watch(uri: &Uri) -> bool {
    parameters(uri).any(|parameter| matches!(parameter, "watch=true" | "watch=1"))
}

/// Whether a watch begins with a streamed list.
pub(crate) fn is_streamed_list(uri: &Uri) -> bool {
    parameters(uri).any(|parameter| parameter == "sendInitialEvents=true")
}

/// The parameters of a query, as they were sent: `name=value`.
pub(crate) fn parameters(uri: &Uri) -> impl Iterator<Item = &str> {
    uri.query().unwrap_or_default().split('&')
}

/// The names in a path after its group and version, and after its namespace.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let all = path.split('/').filter(|name| !name.is_empty());
    let root = if path.starts_with("/api/") { 2 } else { 3 };
    let namespaced = all.clone().nth(root) == Some("namespaces") && all.clone().count() > root + 2;
    all.skip(if namespaced { root + 2 } else { root })
}

/// Whether a path refers to a collection, not to one object in it.
fn is_collection(path: &str) -> bool {
    names(path).count() == 1
}

/// Whether a path is a subresource with a streaming response: logs, and those for which kubectl upgrades the
/// connection.
fn is_stream(path: &str) -> bool {
    let mut names = names(path);
    let resource = names.next().unwrap_or_default();
    let subresource = names.nth(1).unwrap_or_default();
    matches!(resource, "pods" | "services" | "nodes")
        && matches!(
            subresource,
            "attach" | "exec" | "log" | "portforward" | "proxy"
        )
}

/// A request that took longer than its limit.
#[derive(Debug)]
struct Exceeded {
    request: String,
    what: &'static str,
    time: Duration,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            request,
            what,
            time,
        } = self;
        write!(f, "{request} {what} within {time:?}")
    }
}

impl std::error::Error for Exceeded {}

/// Whether a request failed because it exceeded its limit.
pub(crate) fn is_exceeded(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(error) if error.is::<Exceeded>())
}

/// The body of a response, which fails when the limit of its request is exceeded.
#[derive(Debug)]
pub(crate) struct LimitedBody<B> {
    body: B,
    limit: Option<(Pin<Box<Sleep>>, Limit)>,
}

impl<B> hyper::body::Body for LimitedBody<B>
where
    B: hyper::body::Body<Error: Into<BoxError>> + Unpin,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some((over, limit)) = &mut self.limit else {
            return Poll::Pending;
        };
        ready!(over.as_mut().poll(cx));
        let error = limit.exceeded("was not answered in full");
        Poll::Ready(Some(Err(error.into())))
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
    use super::*;

    fn limit(request: &str) -> (u64, bool) {
        let (method, uri) = request.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(uri);
        let limit = Limit::of(&request.body(()).unwrap());
        (limit.time.as_secs(), limit.streams)
    }

    #[test]
    fn requests_time_out_after_65_s_for_creations_60_s_for_collections_40_s_for_changes_and_30_s_for_reads()
     {
        for (request, seconds) in [
            ("GET /api/v1/pods?&limit=500", 60),
            ("GET /api/v1/namespaces", 60),
            ("GET /api/v1/namespaces/ns/pods?&limit=500", 60),
            ("DELETE /apis/apps/v1/namespaces/ns/deployments", 60),
            ("GET /apis/crew.example.com/v1/captains", 60),
            ("GET /apis/crew.example.com/v1/captains/a", 30),
            ("POST /apis/apps/v1/namespaces/ns/deployments", 65),
            ("POST /api/v1/namespaces/ns/pods/a/eviction", 65),
            ("GET /api/v1/namespaces/ns", 30),
            ("GET /api/v1/namespaces/ns/configmaps/log", 30),
            (
                "PATCH /apis/apps/v1/namespaces/ns/deployments/a/status?",
                40,
            ),
            ("PUT /apis/apps/v1/namespaces/ns/deployments/a", 40),
            ("DELETE /apis/apps/v1/namespaces/ns/deployments/a", 40),
            ("GET /version", 30),
        ] {
            assert_eq!(limit(request), (seconds, false), "{request}");
        }
    }

    #[test]
    fn only_the_start_of_a_streaming_request_has_a_time_limit() {
        for request in [
            "GET /api/v1/namespaces/ns/pods?&watch=true&timeoutSeconds=290",
            "GET /apis/crew.example.com/v1/captains?watch=1",
            "GET /api/v1/namespaces/ns/pods/a/log?&follow=true",
            "POST /api/v1/namespaces/ns/pods/a/exec?command=ls",
            "GET /api/v1/namespaces/ns/services/a/proxy/metrics",
        ] {
            assert_eq!(limit(request), (30, true), "{request}");
        }
        assert!(!limit("GET /api/v1/pods?&limit=500&resourceVersion=0").1);
    }
}
