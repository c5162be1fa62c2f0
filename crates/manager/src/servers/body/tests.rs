//! Test bodies that a server reads over real connections.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::servers::{
    http::{Reply, Server, bind},
    room::ROOM,
};

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
        let limits = Limits {
            bytes: MOST,
            copies: 1,
            wait,
        };
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

/// As many of the largest bodies as there is room for, all of which have arrived.
async fn fill(server: &mut Kept) -> Vec<JoinHandle<u16>> {
    let mut sent = Vec::new();
    for _ in 0..ROOM / MOST {
        sent.push(server.send(MOST));
        assert_eq!(server.read.recv().await, Some(MOST));
    }
    sent
}

#[tokio::test]
async fn a_large_body_waits_until_others_are_answered() {
    let mut server = Kept::start(Duration::from_secs(60)).await;
    let mut sent = fill(&mut server).await;
    sent.push(server.send(MOST));
    // Small bodies overtake those that wait.
    sent.push(server.send(SMALL));
    assert_eq!(server.read.recv().await, Some(SMALL));
    assert!(server.read.try_recv().is_err());
    server.answer.add_permits(sent.len());
    for sent in sent {
        assert_eq!(sent.await.unwrap(), 200);
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_that_waits_too_long_for_room_gets_a_503() {
    let mut server = Kept::start(Duration::from_millis(100)).await;
    let kept = fill(&mut server).await;
    assert_eq!(server.send(MOST).await.unwrap(), 503);
    server.answer.add_permits(kept.len() + 1);
    for kept in kept {
        assert_eq!(kept.await.unwrap(), 200);
    }
    assert_eq!(server.send(MOST).await.unwrap(), 200);
    server.end().await;
}

#[tokio::test]
async fn a_body_takes_no_room_until_it_arrives() {
    let mut server = Kept::start(Duration::from_millis(100)).await;
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
    let mut server = Kept::start(Duration::from_secs(60)).await;
    let stalled: Vec<_> = (0..=ROOM / MOST)
        .map(|_| {
            let head = format!("content-length: {MOST}\r\n\r\n");
            let text = [head.into_bytes(), vec![b'x'; MOST - 1]].concat();
            tokio::spawn(exchange(server.address, text))
        })
        .collect();
    // In their first second, those that stall are not older than others.
    server.answer.add_permits(1);
    while server.send(MOST).await.unwrap() != 200 {}
    assert_eq!(server.read.recv().await, Some(MOST));
    let ended = stalled.iter().filter(|stalled| stalled.is_finished());
    assert!(ended.count() > 0);
    for stalled in stalled {
        stalled.abort();
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
