//! Watches of the rotator that end as soon as they begin.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use hyper::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::Content;
use kube::client::Body;

use super::*;

/// An API server whose watches have one line.
#[derive(Clone)]
struct Ending {
    api: FakeApi,
    line: Value,
    requests: Arc<AtomicUsize>,
}

impl tower::Service<Request<Body>> for Ending {
    type Response = Response<Content>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Content>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.requests.fetch_add(1, Ordering::SeqCst);
        if !request.uri().query().unwrap_or_default().contains("watch=") {
            return self.api.connection().call(request);
        }
        let answer = Response::new(Content::from(&self.line));
        Box::pin(std::future::ready(Ok(answer)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_as_soon_as_it_begins_is_repeated_at_most_four_times_a_minute() {
    let error = |code: u16| {
        json!({"type": "ERROR", "object": {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
            "code": code, "reason": "Planned", "message": "planned",
        }})
    };
    let bookmark = json!({"type": "BOOKMARK", "object": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "1"},
    }});
    let change = json!({"type": "MODIFIED", "object": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"},
    }});
    for line in [error(410), error(403), error(500), bookmark, change] {
        let server = Ending {
            api: FakeApi::new(),
            line,
            requests: Arc::default(),
        };
        let client = Client::new(server.clone(), "default");
        let maps = Api::default_namespaced_with(client, &ApiResource::erase::<ConfigMap>(&()));
        let mut changes = watch_one(maps, "a");
        let ten_minutes = sleep(10 * MINUTE);
        tokio::pin!(ten_minutes);
        loop {
            tokio::select! {
                () = &mut ten_minutes => break,
                change = changes.next() => assert!(change.is_some()),
            }
        }
        // A list and a watch each time.
        let requests = server.requests.load(Ordering::SeqCst);
        assert!(
            (40..=2 * 45).contains(&requests),
            "{requests} after {}",
            server.line
        );
    }
}
