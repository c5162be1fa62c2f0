//! A service that a layer keeps, to send more requests than it is called with.

use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use hyper::Request;
use kube::client::Body;
use tower::Service;

/// The service inside of a layer. The lock is held while a request starts, not while it is under way.
#[derive(Debug)]
pub(crate) struct Shared<S>(Arc<Mutex<S>>);

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> Shared<S> {
    pub(crate) fn new(service: S) -> Self {
        Self(Arc::new(Mutex::new(service)))
    }

    fn lock(&self) -> MutexGuard<'_, S> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Service<Request<Body>>> Shared<S> {
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.lock().poll_ready(cx)
    }

    /// Starts a request. The service must be ready.
    pub(crate) fn call(&self, request: Request<Body>) -> S::Future {
        self.lock().call(request)
    }

    /// Sends a request as soon as the service is ready.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<S::Response, S::Error> {
        let mut request = Some(request);
        let answer = poll_fn(|cx| {
            let mut service = self.lock();
            ready!(service.poll_ready(cx))?;
            Poll::Ready(Ok(request.take().map(|request| service.call(request))))
        });
        let answer = answer.await?;
        match answer {
            Some(answer) => answer.await,
            None => pending().await,
        }
    }
}

/// Reads an answer to its end, so that its connection can be reused.
pub(crate) async fn drain<B: hyper::body::Body + Unpin>(mut body: B) {
    while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {}
}
