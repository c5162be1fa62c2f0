//! Distributes connections over the ready replicas, like a Service.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};

/// A port in front of several others; it works until the runtime ends.
#[derive(Clone, Debug)]
pub struct Spread {
    pub port: u16,
    behind: Arc<Mutex<Vec<u16>>>,
}

impl Spread {
    /// Listens on a port of this loopback address.
    pub async fn start(host: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind((host, 0)).await?;
        let spread = Self {
            port: listener.local_addr()?.port(),
            behind: Arc::default(),
        };
        tokio::spawn(spread.clone().listen(listener));
        Ok(spread)
    }

    /// Sets the ports to which new connections go.
    pub fn set(&self, ports: Vec<u16>) {
        *self.behind.lock().unwrap_or_else(PoisonError::into_inner) = ports;
    }

    async fn listen(self, listener: TcpListener) {
        let next = AtomicUsize::new(0);
        while let Ok((mut stream, _)) = listener.accept().await {
            let behind = self
                .behind
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let at = next.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                if behind.is_empty() {
                    return;
                }
                let port = behind[at % behind.len()];
                if let Ok(mut replica) = TcpStream::connect(("127.0.0.1", port)).await {
                    let _ = stream.set_nodelay(true);
                    let _ = replica.set_nodelay(true);
                    let _ = copy_bidirectional(&mut stream, &mut replica).await;
                }
            });
        }
    }
}
