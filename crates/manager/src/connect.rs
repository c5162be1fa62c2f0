//! Connections to the API server.

use hyper::{Request, Response, body::Bytes};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
};
use tower::{BoxError, Service};

use crate::{
    client::{limit::LimitLayer, retry::RetryLayer, silence::SilenceLayer},
    config::use_ring,
    leader::fence::Fence,
    metrics::{CountLayer, Requests},
};

/// The clients of a manager. Each has its own connections, so that none blocks another.
#[derive(Clone)]
pub(crate) struct Clients {
    /// For code that runs only in the leader; behind the fence.
    pub(crate) leading: Client,
    /// For code that runs in every replica.
    pub(crate) always: Client,
    /// Only for the leader election.
    pub(crate) election: Client,
}

impl Clients {
    /// Clients with this configuration, which connect when they send their first request.
    pub(crate) fn connect(
        mut config: Config,
        fence: &Fence,
        requests: &Requests,
    ) -> kube::Result<Self> {
        use_ring();
        // kube would retry requests behind the fence.
        config.default_retry = false;
        let count = requests.to(&config.cluster_url);
        let connections = || ClientBuilder::try_from(config.clone());
        Self::with(connections, fence, &count)
    }

    /// Clients whose connections come from `connections`, and the layers that each request goes through.
    pub(crate) fn with<S, R, E>(
        connections: impl Fn() -> Result<ClientBuilder<S>, E>,
        fence: &Fence,
        count: &CountLayer,
    ) -> Result<Self, E>
    where
        S: Service<Request<Body>, Response = Response<R>, Error: Into<BoxError>> + Send + 'static,
        S::Future: Send + 'static,
        R: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let client = || Ok(connections()?.with_layer(&LimitLayer).with_layer(count));
        let leading = client()?.with_layer(fence).with_layer(&RetryLayer);
        let always = client()?.with_layer(&RetryLayer);
        Ok(Self {
            // Each attempt of a request passes the fence, because a retry that waited behind the fence would be sent
            // after the deadline. A request that the fence rejects is never sent, so it is not counted.
            leading: leading.with_layer(&SilenceLayer).build(),
            always: always.with_layer(&SilenceLayer).build(),
            // The elector has its own retry period.
            election: client()?.build(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::{Ready, ready},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
        time::Duration,
    };

    use hyper::{StatusCode, Uri, header::RETRY_AFTER};
    use tokio::time::sleep;

    use super::*;

    /// An API server that asks to retry every request later, and counts the requests.
    #[derive(Clone, Default)]
    struct Busy(Arc<AtomicUsize>);

    impl Service<Request<Body>> for Busy {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            self.0.fetch_add(1, Ordering::SeqCst);
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert(RETRY_AFTER, 3.into());
            ready(Ok(response))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_for_its_retry_is_not_sent_once_the_fence_closes() {
        let (server, fence) = (Busy::default(), Fence::closed());
        let count = Requests::default().to(&Uri::from_static("http://in-memory"));
        let connections = || Ok::<_, Infallible>(ClientBuilder::new(server.clone(), "default"));
        let Ok(clients) = Clients::with(connections, &fence, &count);
        fence.open();
        let write = Request::patch("/api/v1/namespaces/ns/configmaps/a").body(Vec::new());
        let fall = async {
            sleep(Duration::from_secs(1)).await;
            fence.fall();
        };
        let write = clients.leading.request_text(write.unwrap());
        let error = tokio::join!(write, fall).0.unwrap_err();
        assert!(error.to_string().contains("does not lead"), "{error}");
        assert_eq!(server.0.load(Ordering::SeqCst), 1);
    }
}
