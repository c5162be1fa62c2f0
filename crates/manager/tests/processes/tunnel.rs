//! An HTTP proxy that opens tunnels to ports of this machine, and counts them.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

/// A proxy that runs until the runtime ends.
#[derive(Debug)]
pub struct Tunnels {
    pub port: u16,
    opened: Arc<AtomicUsize>,
}

impl Tunnels {
    /// Listens on its own port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let opened = Arc::<AtomicUsize>::default();
        let counter = opened.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(open(client, counter.clone()));
            }
        });
        Ok(Self { port, opened })
    }

    /// How many tunnels have been opened so far.
    pub fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

/// Answers a `CONNECT 127.0.0.1:port`, and forwards the rest.
async fn open(client: TcpStream, opened: Arc<AtomicUsize>) -> io::Result<()> {
    let mut client = BufStream::new(client);
    let mut request = String::new();
    client.read_line(&mut request).await?;
    let mut header = String::new();
    while client.read_line(&mut header).await? > 2 {
        header.clear();
    }
    let target = request.strip_prefix("CONNECT 127.0.0.1:");
    let port = target.and_then(|target| target.split(' ').next()?.parse::<u16>().ok());
    let Some(port) = port else {
        client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await?;
        return client.flush().await;
    };
    opened.fetch_add(1, Ordering::Relaxed);
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    client.flush().await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
