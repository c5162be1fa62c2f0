//! The HTTP handlers of the operator's author, which are served beside `/metrics`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use hyper::{Request, Response, StatusCode, header::AUTHORIZATION};
use tokio::time::timeout;

use crate::{
    error::chain,
    panics::unwound,
    servers::{
        body::Limits,
        http::{self, Reply},
        room::Room,
    },
};

/// How long a handler may take, and the largest body of a request in bytes.
const LIMIT: Duration = Duration::from_secs(60);
const MOST: usize = 1 << 20;

/// A handler of the author.
pub(crate) type OwnHandler = Arc<
    dyn Fn(Request<Vec<u8>>) -> BoxFuture<'static, anyhow::Result<Response<Vec<u8>>>> + Send + Sync,
>;

/// The handlers of the author, by their paths.
pub(crate) type Handlers = BTreeMap<String, OwnHandler>;

/// Answers a request by a handler.
pub(super) async fn answer(
    handler: &OwnHandler,
    room: &Room,
    mut request: http::Request,
) -> Response<Vec<u8>> {
    let path = request.uri().path().to_owned();
    let answer = async {
        let limits = Limits { room, bytes: MOST };
        // The room is kept until the handler has ended, because the handler has the bytes.
        let (body, _room) = match request.body(limits).await {
            Ok(body) => body.into_parts(),
            Err(status) => return Reply::status(status).into(),
        };
        let mut parts = request.into_parts();
        // A handler may print what it gets.
        parts.headers.remove(AUTHORIZATION);
        let request = Request::from_parts(parts, body);
        // The text of its error is code of the author, too.
        let handle = async { (handler(request).await).map_err(|error| chain(error.as_ref())) };
        match unwound(handle).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => failed(&path, &error),
            Err(panic) => failed(&path, &format!("panic: {panic}")),
        }
    };
    let late = |_| Reply::status(StatusCode::GATEWAY_TIMEOUT).into();
    timeout(LIMIT, answer).await.unwrap_or_else(late)
}

/// The error is only logged: it may contain what the client must not see, like a URL with a password.
fn failed(path: &str, error: &str) -> Response<Vec<u8>> {
    tracing::error!(path, error, "an HTTP handler failed");
    Reply::status(StatusCode::INTERNAL_SERVER_ERROR).into()
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        sync::{Semaphore, mpsc},
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::servers::room::FREE;

    const ROOM: usize = 4 << 20;

    /// Sends a body.
    async fn send(address: std::net::SocketAddr, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream
            .write_all(&[head.as_bytes(), body].concat())
            .await
            .unwrap();
        stream
    }

    #[tokio::test]
    async fn a_body_takes_room_until_its_handler_has_ended() {
        let (sender, mut called) = mpsc::unbounded_channel();
        let end = Arc::new(Semaphore::new(0));
        let ends = end.clone();
        let handler: OwnHandler = Arc::new(move |request| {
            let (sender, ends) = (sender.clone(), ends.clone());
            Box::pin(async move {
                sender.send(request.body().len()).unwrap();
                ends.acquire().await?.forget();
                Ok(Response::default())
            })
        });
        let room = Room::of(ROOM);
        let (stop, listener) = (CancellationToken::new(), http::bind("127.0.0.1:0").await);
        let server = http::Server {
            listener: listener.unwrap(),
            tls: None,
            handler: Arc::new(move |request| {
                let handler = handler.clone();
                let room = room.clone();
                Box::pin(async move { answer(&handler, &room, request).await })
            }),
        };
        let address = server.listener.local_addr().unwrap();
        let running = tokio::spawn(server.run(stop.clone()));
        let largest = vec![b'x'; MOST];
        let mut streams = Vec::new();
        for _ in 0..=ROOM / (MOST - FREE) {
            streams.push(send(address, &largest).await);
            assert_eq!(called.recv().await, Some(MOST));
        }
        // A small body needs no room, and overtakes the one that waits.
        streams.push(send(address, &largest).await);
        streams.push(send(address, b"low").await);
        assert_eq!(called.recv().await, Some(3));
        assert!(called.try_recv().is_err());
        end.add_permits(streams.len());
        for mut stream in streams {
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        }
        stop.cancel();
        running.await.unwrap();
    }
}
