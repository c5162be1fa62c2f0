//! A TCP proxy in front of the API server that can simulate failures. TLS passes through.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpSocket, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// How the proxy treats connections, old and new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Pass,
    /// Closes all connections and rejects new ones.
    Refuse,
    /// Accepts data and drops it.
    Swallow,
    /// Holds all data back until it may pass, like a network that is down for a while.
    Hold,
}

#[derive(Clone, Copy, Debug)]
struct State {
    mode: Mode,
    /// Connections from an earlier epoch are closed.
    epoch: usize,
    /// Connections from an earlier value are frozen.
    thawed: usize,
}

impl State {
    /// How to treat a connection that was opened in this state when the state is now `now`.
    fn of(self, now: Self) -> Mode {
        if self.thawed == now.thawed {
            now.mode
        } else {
            Mode::Hold
        }
    }
}

/// A proxy that runs until the runtime ends.
#[derive(Clone, Debug)]
pub struct Proxy {
    pub port: u16,
    state: watch::Sender<State>,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    /// Listens on its own port and forwards everything to `upstream`.
    pub async fn start(upstream: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let proxy = Self {
            port: listener.local_addr()?.port(),
            state: watch::Sender::new(State {
                mode: Mode::Pass,
                epoch: 0,
                thawed: 0,
            }),
            connections: Arc::default(),
        };
        tokio::spawn(proxy.clone().listen(listener, upstream));
        Ok(proxy)
    }

    /// Sets the mode. Data that was swallowed does not come back: its connections are closed.
    pub fn set(&self, mode: Mode) {
        self.state.send_modify(|state| {
            let lost = state.mode == Mode::Swallow && mode != Mode::Swallow;
            state.epoch += usize::from(lost || mode == Mode::Refuse);
            state.mode = mode;
        });
    }

    /// Closes all connections; new ones may be opened.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.epoch += 1);
    }

    /// Freezes all connections forever: no data passes, and neither side is notified. New connections pass.
    pub fn freeze(&self) {
        self.state.send_modify(|state| state.thawed += 1);
    }

    /// The number of connections so far, including those that did not reach an API server.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    async fn listen(self, listener: TcpListener, upstream: u16) {
        let (mut listener, mut state) = (Some(listener), self.state.subscribe());
        loop {
            if state.borrow_and_update().mode == Mode::Refuse {
                listener = None;
                // The sender is in `self`.
                let _ = state.changed().await;
                continue;
            }
            let Some(open) = &listener else {
                listener = bind(self.port).ok();
                tokio::task::yield_now().await;
                continue;
            };
            tokio::select! {
                Ok((client, _)) = open.accept() => {
                    self.connections.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(serve(client, upstream, self.state.subscribe()));
                }
                _ = state.changed() => {}
            }
        }
    }
}

fn bind(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], port)))?;
    socket.listen(1024)
}

/// Forwards one connection until it ends.
async fn serve(mut client: TcpStream, upstream: u16, mut state: watch::Receiver<State>) {
    let first = *state.borrow();
    let mut ends = state.clone();
    let pass = async {
        let mut buffer = [0; 4096];
        loop {
            let mode = first.of(*state.borrow_and_update());
            match mode {
                Mode::Pass => break,
                Mode::Swallow => tokio::select! {
                    read = client.read(&mut buffer) => if !read.is_ok_and(|read| read > 0) { return },
                    _ = state.changed() => {}
                },
                Mode::Hold | Mode::Refuse => drop(state.changed().await),
            }
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", upstream)).await else {
            return;
        };
        let ((from_client, to_client), (from_server, to_server)) =
            (client.into_split(), server.into_split());
        tokio::select! {
            () = pump(from_client, to_server, first, state.clone()) => {}
            () = pump(from_server, to_client, first, state) => {}
        }
    };
    tokio::select! {
        () = pass => {}
        _ = ends.wait_for(|state| state.epoch != first.epoch) => {}
    }
}

/// Forwards bytes in one direction.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    first: State,
    mut state: watch::Receiver<State>,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mode = first.of(*state.borrow_and_update());
        if mode == Mode::Hold {
            let _ = state.changed().await;
            continue;
        }
        let read = tokio::select! {
            read = from.read(&mut buffer) => read.unwrap_or_default(),
            _ = state.changed() => continue,
        };
        if read == 0 {
            return;
        }
        if mode == Mode::Pass && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
