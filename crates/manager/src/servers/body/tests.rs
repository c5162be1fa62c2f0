//! Test bodies that a server reads over real connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use hyper::Response;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Semaphore, mpsc},
    task::{JoinHandle, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::servers::http::{Reply, Server, bind};

const MOST: usize = 7 << 20;
const ROOM: usize = 12 << 20;

/// A server that reports when it has read a body, and keeps it until it may `answer`.
struct Kept {
    address: SocketAddr,
    read: mpsc::UnboundedReceiver<usize>,
    answer: Arc<Semaphore>,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Kept {
    async fn start() -> Self {
        let (sender, read) = mpsc::unbounded_channel();
        let (stop, answer) = (CancellationToken::new(), Arc::new(Semaphore::new(0)));
        let (waiting, room) = (answer.clone(), Room::of(ROOM));
        let server = Server {
            listener: bind("127.0.0.1:0").await.unwrap(),
            tls: None,
            handler: Arc::new(move |mut request| {
                let (waiting, sender, room) = (waiting.clone(), sender.clone(), room.clone());
                Box::pin(async move {
                    let limits = Limits {
                        room: &room,
                        bytes: MOST,
                    };
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

/// The largest bodies that there is room for, all of which have arrived.
async fn fill(server: &mut Kept) -> Vec<JoinHandle<u16>> {
    let mut sent = Vec::new();
    for _ in 0..=ROOM / MOST {
        sent.push(server.send(MOST));
        assert_eq!(server.read.recv().await, Some(MOST));
    }
    sent
}

#[tokio::test]
async fn a_large_body_waits_until_others_are_answered() {
    let mut server = Kept::start().await;
    let mut sent = fill(&mut server).await;
    sent.push(server.send(MOST));
    // Small bodies overtake those that wait.
    sent.push(server.send(FREE));
    assert_eq!(server.read.recv().await, Some(FREE));
    assert!(server.read.try_recv().is_err());
    server.answer.add_permits(sent.len());
    for sent in sent {
        assert_eq!(sent.await.unwrap(), 200);
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_takes_no_room_until_it_arrives() {
    let mut server = Kept::start().await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {MOST}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        idle.push(stream);
    }
    let kept = fill(&mut server).await;
    server.answer.add_permits(kept.len());
    for kept in kept {
        assert_eq!(kept.await.unwrap(), 200);
    }
    drop(idle);
    server.end().await;
}

#[tokio::test]
async fn a_body_that_stalls_gets_a_503_when_another_needs_its_room() {
    let mut server = Kept::start().await;
    let mut stalled = JoinSet::new();
    for _ in 0..=ROOM / MOST + 1 {
        let head = format!("content-length: {MOST}\r\n\r\n");
        let text = [head.into_bytes(), vec![b'x'; MOST - 1]].concat();
        stalled.spawn(exchange(server.address, text));
    }
    // There is no room for all of them.
    assert_eq!(stalled.join_next().await.unwrap().unwrap(), 503);
    server.answer.add_permits(1);
    assert_eq!(server.send(MOST).await.unwrap(), 200);
    assert_eq!(server.read.recv().await, Some(MOST));
    assert_eq!(stalled.join_next().await.unwrap().unwrap(), 503);
    stalled.shutdown().await;
    server.end().await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_rejected_with_or_without_a_length() {
    let server = Kept::start().await;
    assert_eq!(server.send(MOST + 1).await.unwrap(), 413);
    let length = MOST + 1;
    let head = format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n");
    let text = [head.into_bytes(), vec![b'x'; length]].concat();
    assert_eq!(exchange(server.address, text).await, 413);
    server.end().await;
}

/// A server that answers with the body, and clients that read nothing of the answer.
async fn unread() -> (SocketAddr, Vec<TcpStream>, CancellationToken) {
    let (room, (sender, mut read)) = (Room::of(ROOM), mpsc::unbounded_channel());
    let server = Server {
        listener: bind("127.0.0.1:0").await.unwrap(),
        tls: None,
        handler: Arc::new(move |mut request| {
            let (sender, room) = (sender.clone(), room.clone());
            Box::pin(async move {
                let limits = Limits {
                    room: &room,
                    bytes: MOST,
                };
                let body = request.body(limits).await.unwrap();
                let mut response = Response::new(body.into_parts().0);
                response.extensions_mut().insert(room);
                sender.send(()).unwrap();
                response
            })
        }),
    };
    let (address, stop) = (
        server.listener.local_addr().unwrap(),
        CancellationToken::new(),
    );
    tokio::spawn(server.run(stop.clone()));
    let mut streams = Vec::new();
    for _ in 0..=ROOM / MOST {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {MOST}\r\n\r\n");
        let text = [head.into_bytes(), vec![b'x'; MOST]].concat();
        stream.write_all(&text).await.unwrap();
        read.recv().await.unwrap();
        streams.push(stream);
    }
    tokio::spawn(async move { while read.recv().await.is_some() {} });
    (address, streams, stop)
}

fn another(address: SocketAddr) -> JoinHandle<u16> {
    let head = format!("content-length: {MOST}\r\n\r\n");
    let text = [head.into_bytes(), vec![b'x'; MOST]].concat();
    tokio::spawn(exchange(address, text))
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_disconnected_when_another_needs_its_room() {
    let (address, mut streams, stop) = unread().await;
    assert_eq!(another(address).await.unwrap(), 200);
    let mut closed = 0;
    for stream in &mut streams {
        let mut answer = Vec::new();
        // A reset connection is as good as a closed one.
        let read = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
        closed += usize::from(read.is_ok() && answer.len() < MOST);
    }
    assert_eq!(closed, 1);
    stop.cancel();
}
