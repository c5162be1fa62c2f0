//! Rejects writes of a process that may no longer lead.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::{Either, Ready, ready};
use hyper::{Method, Request};
use kube::client::Body;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service};

use crate::leader::clock::Instant;

/// How often a closed fence is looked at.
const RECHECK: Duration = Duration::from_millis(20);

/// Whether this process may write. The elector sets it, and clients check it.
#[derive(Clone, Debug)]
pub(crate) struct Fence(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    Until(Instant),
    Closed,
}

impl Fence {
    /// A fence that rejects every write for now.
    pub(crate) fn closed() -> Self {
        Self(Arc::new(Mutex::new(State::Closed)))
    }

    /// Allows every write from now on, because there is no election.
    pub(crate) fn open(&self) {
        self.set(State::Open);
    }

    /// Allows every write until the deadline.
    pub(crate) fn open_until(&self, deadline: Instant) {
        self.set(State::Until(deadline));
    }

    /// Rejects every write from now on: nothing that writes is running any more.
    pub(crate) fn close(&self) {
        self.set(State::Closed);
    }

    /// Rejects every write from now on, although something may still be running.
    pub(crate) fn fall(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        *state = match *state {
            State::Until(deadline) => State::Until(deadline.min(now)),
            State::Open => State::Until(now),
            State::Closed => State::Closed,
        };
    }

    /// How much longer the work of this process may run, plus `grace`; zero if it should have ended. `None` means
    /// without limit.
    pub(crate) fn time_left(&self, grace: Duration) -> Option<Duration> {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Until(deadline) => {
                Some((deadline + grace).saturating_duration_since(Instant::now()))
            }
            State::Open | State::Closed => None,
        }
    }

    /// Whether writes are allowed at this moment.
    pub(crate) fn is_open(&self) -> bool {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Open => true,
            State::Until(deadline) => Instant::now() < deadline,
            State::Closed => false,
        }
    }

    /// Waits until writes are allowed. A renewal of the lease may open the fence again that it has closed for a moment.
    pub(crate) async fn opened(&self) {
        while !self.is_open() {
            sleep(RECHECK).await;
        }
    }

    fn set(&self, state: State) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// The error of a rejected write.
#[derive(Debug)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this process does not lead, so it writes nothing")
    }
}

impl std::error::Error for Refused {}

impl<S> Layer<S> for Fence {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Fenced<S> {
        Fenced {
            inner,
            fence: self.clone(),
        }
    }
}

/// A connection to the API server behind a [`Fence`].
#[derive(Clone, Debug)]
pub(crate) struct Fenced<S> {
    inner: S,
    fence: Fence,
}

impl<S> Service<Request<Body>> for Fenced<S>
where
    S: Service<Request<Body>, Error: Into<BoxError>>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Either<Mapped<S::Future>, Ready<Result<S::Response, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let reads = matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        );
        if reads || self.fence.is_open() {
            let into: fn(_) -> _ = Into::into;
            Either::Left(futures_util::TryFutureExt::map_err(
                self.inner.call(request),
                into,
            ))
        } else {
            Either::Right(ready(Err(Refused.into())))
        }
    }
}

type Mapped<F> =
    futures_util::future::MapErr<F, fn(<F as futures_util::TryFuture>::Error) -> BoxError>;

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kbr_testing::FakeApi;
    use kube::{Api, Client, api::PostParams};

    use super::*;

    async fn write(api: &Api<ConfigMap>, name: &str) -> bool {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        api.create(&PostParams::default(), &object).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn writes_are_rejected_after_the_deadline_and_reads_are_not() {
        let (fake, fence) = (FakeApi::new(), Fence::closed());
        let client = Client::new(fence.layer(fake.connection()), "default");
        let api = Api::namespaced(client, "default");
        assert!(!write(&api, "a").await);
        fence.open_until(Instant::now() + Duration::from_secs(10));
        assert!(write(&api, "b").await);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!write(&api, "c").await);
        assert!(api.get("b").await.is_ok());
        fence.open();
        assert!(write(&api, "c").await);
        fence.close();
        assert!(!write(&api, "d").await);
    }

    #[tokio::test(start_paused = true)]
    async fn work_must_end_within_the_grace_period_after_the_deadline() {
        let (fence, second) = (Fence::closed(), Duration::from_secs(1));
        assert_eq!(fence.time_left(second), None);
        fence.open_until(Instant::now() + Duration::from_secs(10));
        assert_eq!(fence.time_left(second), Some(Duration::from_secs(11)));
        fence.fall();
        assert!(!fence.is_open());
        assert_eq!(fence.time_left(second), Some(second));
        tokio::time::advance(Duration::from_secs(5)).await;
        fence.fall();
        assert_eq!(fence.time_left(second), Some(Duration::ZERO));
        fence.close();
        assert_eq!(fence.time_left(second), None);
    }
}
