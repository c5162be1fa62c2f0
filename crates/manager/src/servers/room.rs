//! The memory for the bodies of one server: the bytes that have arrived, and what is made of them.
//!
//! Bytes count as they arrive, so a client that only announces a body takes nothing. When no room is left, the body ends
//! of which most arrived more than a second ago; among bodies that are younger, the largest. So a client that is slow on
//! purpose blocks no other one, and many that send as much as they can block none that is smaller.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, futures::Notified},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// The bytes of all bodies, and of the answers that are as large.
pub(super) const ROOM: usize = 24 << 20;

/// The bytes of what is made of all bodies at a time, as each [`Budget`](super::budget::Budget) counts them.
pub(super) const PARSED: usize = 60 << 20;

/// How long a body may take to arrive before it ends first.
const PERIOD: Duration = Duration::from_secs(1);

/// The room of one server.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ledger: Mutex<Ledger>,
    freed: Notify,
    parsed: Arc<Semaphore>,
}

#[derive(Debug)]
struct Ledger {
    left: usize,
    last: u64,
    /// The bodies that have not arrived completely.
    arriving: BTreeMap<u64, Arriving>,
}

#[derive(Debug, Default)]
struct Arriving {
    taken: usize,
    /// How many of these bytes arrived when, in the last second.
    recent: VecDeque<(Instant, usize)>,
    ended: CancellationToken,
}

/// What came of an attempt to take room.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Done,
    /// Bodies that have arrived take all of the room, until they are answered.
    Full,
    /// This body is the one that ends.
    Ended,
}

impl Room {
    pub(crate) fn new() -> Self {
        let ledger = Ledger {
            left: ROOM,
            last: 0,
            arriving: BTreeMap::new(),
        };
        Self(Arc::new(Shared {
            ledger: Mutex::new(ledger),
            freed: Notify::new(),
            parsed: Arc::new(Semaphore::new(PARSED)),
        }))
    }

    /// The share of a body that begins to arrive.
    pub(super) fn enter(&self) -> Share {
        let mut ledger = self.lock();
        ledger.last += 1;
        let (number, arriving) = (ledger.last, Arriving::default());
        let ended = arriving.ended.clone();
        ledger.arriving.insert(number, arriving);
        drop(ledger);
        Share {
            room: self.clone(),
            number,
            taken: 0,
            ended,
        }
    }

    /// Takes this much memory, at most [`PARSED`], for what is made of a body.
    pub(super) async fn parse(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        self.0.parsed.clone().acquire_many_owned(bytes).await.ok()
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        let ledger = self.0.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn take(&mut self, number: u64, bytes: usize) -> Taken {
        loop {
            let Some(own) = self.arriving.get_mut(&number) else {
                return Taken::Ended;
            };
            if let Some(left) = self.left.checked_sub(bytes) {
                self.left = left;
                own.take(bytes);
                return Taken::Done;
            }
            match self.greediest(number, bytes) {
                Some(greediest) => self.end(greediest),
                None => return Taken::Full,
            }
        }
    }

    /// The body to end for others: one that takes room, or this one, which needs so many more bytes. None if no other one
    /// takes room.
    fn greediest(&mut self, number: u64, bytes: usize) -> Option<u64> {
        let (mut alone, mut most) = (true, (0, 0, number));
        for (other, body) in &mut self.arriving {
            let needed = if *other == number { bytes } else { 0 };
            alone &= *other == number || body.taken == 0;
            most = most.max((body.old(), body.taken + needed, *other));
        }
        (!alone).then_some(most.2)
    }

    fn end(&mut self, number: u64) {
        if let Some(body) = self.arriving.remove(&number) {
            self.left += body.taken;
            body.ended.cancel();
        }
    }
}

impl Arriving {
    fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        self.recent.push_back((Instant::now(), bytes));
    }

    /// How many bytes it has held for more than a second.
    fn old(&mut self) -> usize {
        let old = |(at, _): &(Instant, usize)| at.elapsed() >= PERIOD;
        while self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
        let recent: usize = self.recent.iter().map(|(_, bytes)| bytes).sum();
        self.taken - recent
    }
}

/// The share of one body in the room; dropping it frees the room.
#[derive(Debug)]
pub(crate) struct Share {
    room: Room,
    number: u64,
    taken: usize,
    ended: CancellationToken,
}

impl Share {
    /// Takes this much more room; waits while bodies that have arrived take all of it. False if this body has been ended
    /// for others.
    pub(super) async fn take(&mut self, bytes: usize) -> bool {
        let room = self.room.clone();
        loop {
            let mut freed = std::pin::pin!(room.0.freed.notified());
            Notified::enable(freed.as_mut());
            let taken = room.lock().take(self.number, bytes);
            match taken {
                Taken::Done => {
                    self.taken += bytes;
                    return true;
                }
                Taken::Ended => return false,
                Taken::Full => tokio::select! {
                    () = freed => {}
                    () = self.ended.cancelled() => return false,
                },
            }
        }
    }

    /// Waits until this body has been ended for others.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Notes that the body has arrived, so that it is not ended any more. False if it has been ended before.
    pub(super) fn arrived(&self) -> bool {
        let body = self.room.lock().arriving.remove(&self.number);
        body.is_some()
    }

    /// The bytes of room that it takes.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// The room that this is a share of.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // What an ended body had taken is free already.
        if !self.ended.is_cancelled() {
            let mut ledger = self.room.lock();
            ledger.arriving.remove(&self.number);
            ledger.left += self.taken;
        }
        self.room.0.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    /// A body of which this many bytes have arrived.
    async fn received(room: &Room, bytes: usize) -> Share {
        let mut share = room.enter();
        assert!(share.take(bytes).await);
        share
    }

    fn left(room: &Room) -> usize {
        room.lock().left
    }

    #[tokio::test(start_paused = true)]
    async fn the_body_of_which_most_is_older_than_a_second_ends_for_another() {
        let room = Room::new();
        let small = received(&room, ROOM / 8).await;
        let mut stalled = received(&room, ROOM / 4).await;
        advance(PERIOD).await;
        let fast = received(&room, ROOM / 2).await;
        let last = received(&room, ROOM / 4).await;
        assert!(!stalled.take(1).await && !stalled.arrived());
        stalled.ended().await;
        assert!(small.arrived() && fast.arrived() && last.arrived());
        assert_eq!(left(&room), ROOM / 8);
        drop((small, stalled, fast, last));
        assert_eq!(left(&room), ROOM);
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_of_the_younger_bodies_ends() {
        let room = Room::new();
        let (small, large) = (received(&room, 1).await, received(&room, ROOM - 1).await);
        let next = received(&room, 2).await;
        assert!(small.arrived() && next.arrived() && !large.arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_would_be_the_largest_ends_itself() {
        let room = Room::new();
        let (half, mut more) = (
            received(&room, ROOM / 2).await,
            received(&room, ROOM / 2).await,
        );
        assert!(!more.take(1).await);
        assert!(half.arrived());
        assert_eq!(left(&room), ROOM / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_without_room_is_not_ended_for_another() {
        let room = Room::new();
        let idle = room.enter();
        advance(PERIOD).await;
        let all = received(&room, ROOM).await;
        assert!(all.arrived());
        assert!(room.enter().take(1).now_or_never().is_none());
        assert!(idle.arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_while_others_are_answered() {
        let room = Room::new();
        let all = received(&room, ROOM).await;
        assert!(all.arrived());
        let waiting = tokio::spawn({
            let room = room.clone();
            async move { received(&room, 1).await.arrived() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(all);
        assert!(waiting.await.unwrap());
        assert_eq!(left(&room), ROOM);
        assert!(room.lock().arriving.is_empty());
    }
}
