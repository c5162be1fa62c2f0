//! The HTTP handlers of the operator's author, which are served beside `/metrics`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use hyper::{Request, Response, StatusCode, header::AUTHORIZATION};
use tokio::time::timeout;

use crate::{
    error::{chain, unwound},
    servers::{
        body::Limits,
        http::{self, Reply},
    },
};

/// How long a handler may take, and the largest body of a request in bytes.
const LIMIT: Duration = Duration::from_secs(60);
const MOST: usize = 1 << 20;

/// How long a body may wait for memory.
const WAIT: Duration = Duration::from_secs(10);

/// A handler of the author.
pub(crate) type OwnHandler = Arc<
    dyn Fn(Request<Vec<u8>>) -> BoxFuture<'static, anyhow::Result<Response<Vec<u8>>>> + Send + Sync,
>;

/// The handlers of the author, by their paths.
pub(crate) type Handlers = BTreeMap<String, OwnHandler>;

/// Answers a request by a handler.
pub(super) async fn answer(handler: &OwnHandler, mut request: http::Request) -> Response<Vec<u8>> {
    let path = request.uri().path().to_owned();
    let answer = async {
        let limits = Limits {
            bytes: MOST,
            wait: WAIT,
        };
        let body = match request.body(limits).await {
            Ok(body) => body.to_vec(),
            Err(status) => return Reply::status(status).into(),
        };
        let mut parts = request.into_parts();
        // A handler may print what it gets.
        parts.headers.remove(AUTHORIZATION);
        let request = Request::from_parts(parts, body);
        match unwound(async { handler(request).await }).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => failed(&path, &chain(error.as_ref())),
            Err(panic) => failed(&path, &format!("panic: {panic}")),
        }
    };
    let late = |_| Reply::status(StatusCode::GATEWAY_TIMEOUT).into();
    timeout(LIMIT, answer).await.unwrap_or_else(late)
}

fn failed(path: &str, error: &str) -> Response<Vec<u8>> {
/// The error is only logged: it may contain what the client must not see, like a URL with a password.
    tracing::error!(path, error, "an HTTP handler failed");
    Reply::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into()
}
