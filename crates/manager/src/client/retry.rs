//! Retries a request when the API server asks for it, like client-go.
//!
//! A response with the status 429 or 5xx and a header `Retry-After` means that nothing was done, and when to try again.
//! A watch is not retried here, because its caller has its own back-off.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{Request, Response, StatusCode, header::RETRY_AFTER};
use kube::client::Body;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service};

use crate::client::{
    limit::{is_streamed_list, is_watch},
    shared::{Shared, drain},
};

/// How often a request is retried, as in client-go.
const RETRIES: usize = 10;

/// How long a request may wait for its retries in total. It blocks a worker meanwhile, and its caller retries anyway.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Retries requests. Each attempt goes through all inner layers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryLayer;

impl<S> Layer<S> for RetryLayer {
    type Service = Retried<S>;

    fn layer(&self, inner: S) -> Retried<S> {
        Retried(Shared::new(inner))
    }
}

/// A service that retries its requests.
#[derive(Debug)]
pub(crate) struct Retried<S>(Shared<S>);

impl<S, R> Service<Request<Body>> for Retried<S>
where
    S: Service<Request<Body>, Response = Response<R>, Error = BoxError> + Send + 'static,
    S::Future: Send + 'static,
    R: hyper::body::Body + Send + Unpin + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let kept = copy(&request);
        let answer = self.0.call(request);
        let Some(kept) = kept else {
            return Box::pin(answer);
        };
        let service = self.0.clone();
        Box::pin(async move {
            let (mut response, mut waited) = (answer.await?, Duration::ZERO);
            for _ in 0..RETRIES {
                let Some(wait) = retry_after(&response) else {
                    break;
                };
                waited = waited.saturating_add(wait);
                let Some(next) = copy(&kept).filter(|_| waited <= LONGEST_WAIT) else {
                    break;
                };
                tracing::debug!(uri = %next.uri(), ?wait, "the API server wants a request later");
                drain(response.into_body()).await;
                sleep(wait).await;
                response = service.send(next).await?;
            }
            Ok(response)
        })
    }
}

/// A copy of a request for a retry; `None` if it must not be retried.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    // A streamed list waits like any other list.
    if is_watch(request.uri()) && !is_streamed_list(request.uri()) {
        return None;
    }
    let mut copy = Request::new(request.body().try_clone()?);
    request.method().clone_into(copy.method_mut());
    request.uri().clone_into(copy.uri_mut());
    request.headers().clone_into(copy.headers_mut());
    request.extensions().clone_into(copy.extensions_mut());
    Some(copy)
}

/// How long the API server asks to wait before the retry; at least a second.
fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let status = response.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds: u64 = seconds.parse().ok()?;
    Some(Duration::from_secs(seconds.max(1)))
}
