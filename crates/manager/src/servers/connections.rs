//! Limits the connections of a server. When all are taken, an idle one is closed for a new one.
//!
//! Without this, a client that opens enough connections and sends nothing shuts out all others.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long a connection may be idle without being closed: enough for a handshake, for a request on its way, and for
/// the client to read a response.
const GRACE: Duration = Duration::from_millis(200);

/// The connections of one server.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Idle>>,
}

/// The connections that wait for a request, longest idle first.
#[derive(Debug, Default)]
struct Idle {
    last: u64,
    since: BTreeMap<u64, (Instant, CancellationToken)>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(most)),
            idle: Arc::default(),
        }
    }

    /// A place for a new connection. If all places are taken, the connection that has been idle for longest is closed.
    pub(crate) async fn place(&self) -> Place {
        loop {
            if let Ok(permit) = self.permits.clone().try_acquire_owned() {
                return self.taken(permit);
            }
            let wait = self.close_idle();
            // The semaphore is never closed.
            if let Ok(Ok(permit)) = timeout(wait, self.permits.clone().acquire_owned()).await {
                return self.taken(permit);
            }
        }
    }

    fn taken(&self, permit: OwnedSemaphorePermit) -> Place {
        let place = Place {
            connections: self.clone(),
            closed: CancellationToken::new(),
            turn: AtomicU64::new(0),
            _permit: permit,
        };
        place.idle();
        place
    }

    /// Closes the connection that has been idle for longest, unless that is too short; returns when to check again.
    pub(crate) fn close_idle(&self) -> Duration {
        let mut idle = self.lock();
        let Some(oldest) = idle.since.first_entry() else {
            return GRACE;
        };
        let grace = GRACE.saturating_sub(oldest.get().0.elapsed());
        if !grace.is_zero() {
            return grace;
        }
        let (_, closed) = oldest.remove();
        closed.cancel();
        GRACE
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection; dropping it frees the place. A new connection is idle.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Connections,
    closed: CancellationToken,
    /// Its number among the idle connections; 0 while it is busy.
    turn: AtomicU64,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Closes the connection once it is cancelled, whatever that is doing.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Waits until the connection must be closed.
    pub(crate) async fn given_up(&self) {
        self.closed.cancelled().await;
    }

    /// Marks the connection as busy with a request, so that it is not closed.
    pub(crate) fn busy(&self) {
        let turn = self.turn.swap(0, Ordering::Relaxed);
        self.connections.lock().since.remove(&turn);
    }

    /// Marks the connection as waiting for a request.
    pub(crate) fn idle(&self) {
        self.busy();
        let mut idle = self.connections.lock();
        idle.last += 1;
        let turn = idle.last;
        let entry = (Instant::now(), self.closed.clone());
        idle.since.insert(turn, entry);
        self.turn.store(turn, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.busy();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn is_closed(place: &Place) -> bool {
        place.closed.is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_connection_is_closed() {
        let connections = Connections::new(2);
        let (first, second) = (connections.place().await, connections.place().await);
        first.busy();
        first.idle();
        advance(GRACE).await;
        let third = tokio::spawn({
            let connections = connections.clone();
            async move { connections.place().await }
        });
        second.given_up().await;
        assert!(!is_closed(&first));
        drop(second);
        assert!(!is_closed(&third.await.unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_is_not_closed() {
        let connections = Connections::new(1);
        let busy = connections.place().await;
        busy.busy();
        let wait = timeout(GRACE * 100, connections.place());
        assert!(wait.await.is_err());
        assert!(!is_closed(&busy));
        busy.idle();
        let next = tokio::spawn(async move { connections.place().await });
        busy.given_up().await;
        drop(busy);
        next.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn closed_connections_leave_no_state() {
        let connections = Connections::new(3);
        for _ in 0..10 {
            let place = connections.place().await;
            place.busy();
            place.idle();
        }
        assert!(connections.lock().since.is_empty());
    }
}
