//! Bodies of requests: limits the size of each, and the memory of all that a server holds at once.

use std::{future::poll_fn, ops::Deref, pin::Pin, sync::Arc, time::Duration};

use hyper::{
    StatusCode,
    body::{Body as _, Incoming},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// The largest body, in bytes, that needs no room. Nearly all are smaller. The limit of connections limits their sum.
const SMALL: usize = 32 << 10;

/// The total bytes of the larger bodies that a server holds at once. Processing a body takes several times its size,
/// and all of that must fit into a Pod.
const ROOM: usize = 16 << 20;

/// The limit on the size of a body, and on how long it may wait for room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    pub(crate) wait: Duration,
}

/// The room for the larger bodies of one server, in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Semaphore>);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM)))
    }

    /// Takes room for this many bytes, or all the room if that is less.
    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= SMALL {
            return None;
        }
        let bytes = u32::try_from(bytes.min(ROOM)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        self.0.clone().acquire_many_owned(bytes).await.ok()
    }

    /// Reads a body. Fails with a status if the body is too large, ends early, or no room becomes free.
    ///
    /// Room for the whole body is taken first, so that no two half-read bodies wait for each other.
    pub(crate) async fn read(
        &self,
        mut body: Incoming,
        limits: Limits,
    ) -> Result<Body, StatusCode> {
        let size = body.size_hint();
        let at_least = usize::try_from(size.lower()).unwrap_or(usize::MAX);
        if at_least > limits.bytes {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        // If the length is unknown, assume the maximum.
        let at_most = size.upper().and_then(|bytes| usize::try_from(bytes).ok());
        let at_most = at_most.unwrap_or(limits.bytes);
        let room = timeout(limits.wait, self.take(at_most)).await;
        let room = room.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
        // Do not allocate everything that a client merely announces.
        let mut bytes = Vec::with_capacity(at_least.min(1 << 20));
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let data = frame.map_err(|_| StatusCode::BAD_REQUEST)?.into_data();
            let data = data.unwrap_or_default();
            if bytes.len() + data.len() > limits.bytes {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Body { bytes, room })
    }
}

/// A body that was read. Dropping it frees its room.
#[derive(Debug, Default)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// The bytes, and their room, which must be kept for as long as they are.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Option<OwnedSemaphorePermit>) {
        (self.bytes, self.room)
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(any(test, feature = "testing"))]
impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, room: None }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        sync::mpsc,
        task::JoinHandle,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::servers::http::{Reply, Server, bind};

    const MOST: usize = 7 << 20;

    /// A server that reports when it has read a body, and keeps it until it may `answer`.
    struct Kept {
        address: SocketAddr,
        read: mpsc::UnboundedReceiver<usize>,
        answer: Arc<Semaphore>,
        stop: CancellationToken,
        running: JoinHandle<()>,
    }

    impl Kept {
        async fn start(wait: Duration) -> Self {
            let (sender, read) = mpsc::unbounded_channel();
            let (stop, answer) = (CancellationToken::new(), Arc::new(Semaphore::new(0)));
            let waiting = answer.clone();
            let limits = Limits { bytes: MOST, wait };
            let server = Server {
                listener: bind("127.0.0.1:0").await.unwrap(),
                tls: None,
                handler: Arc::new(move |mut request| {
                    let (waiting, sender) = (waiting.clone(), sender.clone());
                    Box::pin(async move {
                        match request.body(limits).await {
                            Ok(body) => {
                                sender.send(body.len()).unwrap();
                                waiting.acquire().await.unwrap().forget();
                                Reply::text(StatusCode::OK, format!("{}\n", body.len())).into()
                            }
                            Err(status) => Reply::status(status).into(),
                        }
                    })
                }),
            };
            Self {
                address: server.listener.local_addr().unwrap(),
                read,
                answer,
                running: tokio::spawn(server.run(stop.clone())),
                stop,
            }
        }

        /// Sends a body, and returns the status of the response.
        fn send(&self, length: usize) -> JoinHandle<u16> {
            let head = format!("content-length: {length}\r\n\r\n");
            let text = [head.into_bytes(), vec![b'x'; length]].concat();
            tokio::spawn(exchange(self.address, text))
        }

        async fn end(self) {
            self.stop.cancel();
            self.running.await.unwrap();
        }
    }

    async fn exchange(address: SocketAddr, text: Vec<u8>) -> u16 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
        stream.write_all(head).await.unwrap();
        // The server may stop reading once it has rejected the request.
        let _ = stream.write_all(&text).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[tokio::test]
    async fn a_large_body_waits_until_there_is_room() {
        let mut server = Kept::start(Duration::from_secs(60)).await;
        let sent: Vec<_> = (0..5).map(|_| server.send(5 << 20)).collect();
        for _ in 0..3 {
            assert_eq!(server.read.recv().await, Some(5 << 20));
        }
        // Small bodies overtake those that wait, which are not even read.
        let small = server.send(SMALL);
        assert_eq!(server.read.recv().await, Some(SMALL));
        assert!(server.read.try_recv().is_err());
        server.answer.add_permits(6);
        assert_eq!(small.await.unwrap(), 200);
        for sent in sent {
            assert_eq!(sent.await.unwrap(), 200);
        }
        server.end().await;
    }

    #[tokio::test]
    async fn a_body_that_waits_too_long_for_room_gets_a_503() {
        let mut server = Kept::start(Duration::from_millis(100)).await;
        let kept: Vec<_> = (0..2).map(|_| server.send(MOST)).collect();
        for _ in &kept {
            assert_eq!(server.read.recv().await, Some(MOST));
        }
        assert_eq!(server.send(MOST).await.unwrap(), 503);
        server.answer.add_permits(3);
        for kept in kept {
            assert_eq!(kept.await.unwrap(), 200);
        }
        assert_eq!(server.send(MOST).await.unwrap(), 200);
        server.end().await;
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_counts_as_the_longest() {
        let mut server = Kept::start(Duration::from_millis(100)).await;
        let chunked = || {
            let text = b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
            tokio::spawn(exchange(server.address, text.to_vec()))
        };
        let kept = [chunked(), chunked()];
        for _ in &kept {
            assert_eq!(server.read.recv().await, Some(2));
        }
        assert_eq!(server.send(MOST).await.unwrap(), 503);
        server.answer.add_permits(2);
        for kept in kept {
            assert_eq!(kept.await.unwrap(), 200);
        }
        server.end().await;
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_is_rejected_with_or_without_a_length() {
        let server = Kept::start(Duration::from_secs(60)).await;
        assert_eq!(server.send(MOST + 1).await.unwrap(), 413);
        let length = MOST + 1;
        let head = format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n");
        let text = [head.into_bytes(), vec![b'x'; length]].concat();
        assert_eq!(exchange(server.address, text).await, 413);
        server.end().await;
    }
}
