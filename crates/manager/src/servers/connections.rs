//! The connections of a server: at most so many, and when there are more, whoever is idle gives way.
//!
//! Without this, whoever opens enough connections and sends nothing shuts out all others.

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

/// How long a connection may be idle without fear: time for a handshake, for a request that is on its way, and for
/// an answer to be taken.
const GRACE: Duration = Duration::from_millis(200);

/// The connections of one server.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Idle>>,
}

/// Those that wait for a request, in the order in which they began to.
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

    /// A place for a new connection. When all are taken, the one that has been idle for longest gives up its own.
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

    /// Closes the connection that has been idle for longest, if that is not too short; returns when to look again.
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

    /// No code that holds the lock panics, so a poisoned one is still sound.
    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, which is free again when this is dropped. It begins idle.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Connections,
    closed: CancellationToken,
    /// Its number among the idle; 0 while it is busy.
    turn: AtomicU64,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Waits until it must be given up.
    pub(crate) async fn given_up(&self) {
        self.closed.cancelled().await;
    }

    /// The connection has a request to answer: it is not closed now.
    pub(crate) fn busy(&self) {
        let turn = self.turn.swap(0, Ordering::Relaxed);
        self.connections.lock().since.remove(&turn);
    }

    /// The connection waits for a request.
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
    async fn the_one_that_has_been_idle_for_longest_gives_way() {
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
    async fn nobody_who_is_busy_gives_way() {
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
    async fn places_that_are_given_back_leave_nothing() {
        let connections = Connections::new(3);
        for _ in 0..10 {
            let place = connections.place().await;
            place.busy();
            place.idle();
        }
        assert!(connections.lock().since.is_empty());
    }
}
