//! The memory for bodies that arrive, and for answers that wait to be read.
//!
//! Bytes count as they arrive, so a client that only announces a body takes nothing. A body waits while the others take all
//! of the room. Then the largest gives way that has made the server wait for its client: to a smaller body after a second,
//! and to a larger one after five. A body that is answered gives way to no other, and neither does one that waits for room
//! itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::body::Bytes;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// How many bytes of each body and answer need no room. Most are smaller. The limit of connections limits their sum.
pub(super) const FREE: usize = 32 << 10;

/// How long a client may make the server wait, in all, until its body or answer gives way to smaller bodies, and to others.
const PERIOD: Duration = Duration::from_secs(1);
const LONG_PERIOD: Duration = Duration::from_secs(5);

/// When a body that waits for room looks again whether another one is late.
const AGAIN: Duration = Duration::from_millis(50);

/// The room for bodies of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ledger: Mutex<Ledger>,
    freed: Notify,
}

#[derive(Debug)]
struct Ledger {
    /// The bytes that bodies and unread answers may take. One of them may take more, so they take no more than that and the
    /// largest body.
    most: usize,
    used: usize,
    last: u64,
    /// The bodies and answers that depend on their clients.
    open: BTreeMap<u64, Open>,
}

/// A body that is arriving, or an answer that is being read.
#[derive(Debug, Default)]
struct Open {
    taken: usize,
    /// How many bytes it has in all.
    length: usize,
    /// How long the server has waited for the client, and since when it does so now.
    waited: Duration,
    waiting: Option<Instant>,
    /// Cancelled once this has given way to others.
    ended: CancellationToken,
}

/// What came of an attempt to take room.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Done,
    Full,
    /// This body has given way.
    Ended,
}

impl Room {
    pub(crate) fn of(most: usize) -> Self {
        let ledger = Ledger {
            most,
            used: 0,
            last: 0,
            open: BTreeMap::new(),
        };
        Self(Arc::new(Shared {
            ledger: Mutex::new(ledger),
            freed: Notify::new(),
        }))
    }

    /// The share of a body of this length that begins to arrive.
    pub(super) fn enter(&self, length: usize) -> Share {
        self.open(Open {
            length,
            ..Open::default()
        })
    }

    /// The bytes of an answer, which take room until the last one has been sent. `closed` closes the connection.
    pub(super) fn unread(&self, bytes: Vec<u8>, closed: CancellationToken) -> Bytes {
        let share = self.open(Open {
            taken: bytes.len().saturating_sub(FREE),
            length: bytes.len(),
            waiting: Some(Instant::now()),
            ended: closed,
            ..Open::default()
        });
        self.lock().make_room(share.number);
        Bytes::from_owner(Answer {
            bytes,
            _share: share,
        })
    }

    fn open(&self, open: Open) -> Share {
        let mut ledger = self.lock();
        ledger.last += 1;
        ledger.used += open.taken;
        let (number, taken, ended) = (ledger.last, open.taken, open.ended.clone());
        ledger.open.insert(number, open);
        drop(ledger);
        Share {
            room: self.clone(),
            number,
            taken,
            ended,
        }
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        let ledger = self.0.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn take(&mut self, number: u64, bytes: usize) -> Taken {
        let has_room = self.make_room(number);
        match self.open.get_mut(&number) {
            None => Taken::Ended,
            Some(_) if !has_room => Taken::Full,
            Some(open) => {
                open.taken += bytes;
                self.used += bytes;
                Taken::Done
            }
        }
    }

    /// Ends what is late, until all but this one is within the room. False if it is not.
    fn make_room(&mut self, number: u64) -> bool {
        while let Some(own) = self.open.get(&number)
            && self.used - own.taken > self.most
        {
            // If there is more than that, clients ask for answers of megabytes, and read none.
            let is_flooded = self.used > 3 * self.most;
            let late = self.open.iter();
            let late = late.filter(|(_, open)| {
                open.is_late(own.length) || (is_flooded && open.waiting.is_some())
            });
            let Some((&largest, _)) = late.max_by_key(|(_, open)| open.taken) else {
                return false;
            };
            if let Some(open) = self.open.remove(&largest) {
                self.used -= open.taken;
                open.ended.cancel();
            }
        }
        true
    }
}

impl Open {
    /// Whether this gives way to a body of this length.
    fn is_late(&self, length: usize) -> bool {
        let period = if self.taken > length {
            PERIOD
        } else {
            LONG_PERIOD
        };
        let now = self.waiting.map(|since| since.elapsed());
        self.taken > 0 && now.is_some_and(|now| self.waited + now >= period)
    }
}

/// The share of a body or an answer in the room; dropping it frees the room.
#[derive(Debug)]
pub(crate) struct Share {
    room: Room,
    number: u64,
    taken: usize,
    ended: CancellationToken,
}

impl Share {
    /// Takes this much more room, or waits for it. False if this body has given way to others.
    pub(super) async fn take(&mut self, bytes: usize) -> bool {
        let room = self.room.clone();
        loop {
            let freed = room.0.freed.notified();
            let taken = room.lock().take(self.number, bytes);
            match taken {
                Taken::Done => {
                    self.taken += bytes;
                    return true;
                }
                Taken::Ended => return false,
                Taken::Full => drop(timeout(AGAIN, freed).await),
            }
        }
    }

    /// What the client sends next; `None` if this body has given way to others meanwhile.
    pub(super) async fn receive<T>(&self, next: impl Future<Output = T>) -> Option<T> {
        self.change(|open| open.waiting = Some(Instant::now()));
        let received = self.ended.run_until_cancelled(next).await;
        self.change(|open| {
            let since = open.waiting.take();
            open.waited += since.map_or(Duration::ZERO, |since| since.elapsed());
        });
        received
    }

    fn change(&self, change: impl FnOnce(&mut Open)) {
        if let Some(open) = self.room.lock().open.get_mut(&self.number) {
            change(open);
        }
    }

    /// Notes that the body has arrived, so that it gives way to no other any more. False if it has done so before.
    pub(super) fn arrived(&self) -> bool {
        self.room.lock().open.remove(&self.number).is_some()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut ledger = self.room.lock();
        let was_open = ledger.open.remove(&self.number).is_some();
        // What has given way is free already.
        if was_open || !self.ended.is_cancelled() {
            ledger.used -= self.taken;
        }
        drop(ledger);
        self.room.0.freed.notify_waiters();
    }
}

/// The bytes of an answer. They are dropped when the last one has been sent.
struct Answer {
    bytes: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    const ROOM: usize = 1 << 20;

    /// A body of which this many bytes have arrived, which are all.
    async fn received(room: &Room, bytes: usize) -> Share {
        let mut share = room.enter(bytes);
        assert!(share.take(bytes).await);
        share
    }

    /// Lets a body wait for its client for so long.
    async fn stall(share: &Share, period: Duration) {
        let waiting = share.receive(std::future::pending::<()>());
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        advance(period).await;
        assert!(waiting.now_or_never().is_none());
    }

    fn used(room: &Room) -> usize {
        room.lock().used
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_body_that_waits_for_its_client_gives_way() {
        let room = Room::of(ROOM);
        let (small, large) = (received(&room, ROOM / 4).await, received(&room, ROOM).await);
        let waits = async {
            let (small, large) = tokio::join!(
                small.receive(std::future::pending::<()>()),
                large.receive(std::future::pending::<()>())
            );
            (small, large)
        };
        tokio::pin!(waits);
        assert!(waits.as_mut().now_or_never().is_none());
        advance(PERIOD / 2).await;
        assert!(room.enter(1).take(1).now_or_never().is_none());
        advance(PERIOD / 2).await;
        let next = received(&room, 1).await;
        assert!(small.arrived() && next.arrived() && !large.arrived());
        assert_eq!(used(&room), ROOM / 4 + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_gives_way_to_a_larger_one_later() {
        let room = Room::of(ROOM);
        let stalled = received(&room, ROOM + 1).await;
        let mut larger = room.enter(ROOM + 2);
        stall(&stalled, PERIOD).await;
        let waiting = stalled.receive(std::future::pending::<()>());
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(larger.take(1).now_or_never().is_none());
        advance(LONG_PERIOD).await;
        assert!(larger.take(1).await && !stalled.arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_time_counts_in_which_the_client_was_waited_for() {
        let room = Room::of(ROOM);
        let (all, slow) = (received(&room, ROOM).await, received(&room, 1).await);
        assert!(all.arrived());
        // It waits for room, and its client for it.
        advance(PERIOD * 10).await;
        assert!(slow.receive(async {}).await.is_some());
        let other = received(&room, 1).now_or_never();
        assert!(other.is_none() && !slow.ended.is_cancelled());
        drop(all);
        assert!(slow.arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_wait_while_others_take_all_of_the_room() {
        let room = Room::of(ROOM);
        let all = received(&room, ROOM + 1).await;
        assert!(all.arrived());
        let waiting = tokio::spawn({
            let room = room.clone();
            async move { received(&room, 1).await.arrived() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(all);
        assert!(waiting.await.unwrap());
        assert_eq!(used(&room), 0);
        assert!(room.lock().open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn of_bodies_that_take_all_of_the_room_the_largest_ends_first_and_none_is_lost() {
        let room = Room::of(ROOM);
        let (mut more, mut less) = (
            received(&room, ROOM / 2 + 1).await,
            received(&room, ROOM / 2).await,
        );
        // What the others take alone is within the room.
        assert!(more.take(ROOM / 2).await);
        assert!(less.take(1).now_or_never().is_none());
        assert!(more.arrived());
        drop(more);
        assert!(less.take(ROOM / 2).await && less.arrived());
        drop(less);
        assert_eq!(used(&room), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_without_room_gives_way_to_no_other() {
        let room = Room::of(ROOM);
        let idle = room.enter(1);
        stall(&idle, PERIOD * 10).await;
        let all = received(&room, ROOM + 1).await;
        assert!(all.arrived());
        assert!(room.enter(1).take(1).now_or_never().is_none());
        assert!(idle.arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_read_closes_its_connection_when_others_need_its_room() {
        let room = Room::of(ROOM);
        let (closed, other) = (CancellationToken::new(), CancellationToken::new());
        let small = room.unread(vec![0; FREE], other.clone());
        let answer = room.unread(vec![0; FREE + ROOM + 1], closed.clone());
        let mut body = room.enter(1);
        assert!(body.take(1).now_or_never().is_none());
        advance(PERIOD).await;
        assert!(body.take(1).await && closed.is_cancelled());
        assert!(!other.is_cancelled());
        drop((small, answer, body));
        assert_eq!(used(&room), 0);
        // One that is read, or whose connection is closed for another reason.
        let (read, closed) = (room.unread(vec![0; ROOM], other), CancellationToken::new());
        drop((read, room.unread(vec![0; ROOM], closed.clone())));
        let answer = room.unread(vec![0; ROOM], closed.clone());
        closed.cancel();
        drop(answer);
        assert_eq!(used(&room), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_of_several_times_the_room_give_way_at_once() {
        let room = Room::of(ROOM);
        let answer = || {
            let closed = CancellationToken::new();
            (room.unread(vec![0; ROOM], closed.clone()), closed)
        };
        let answers: Vec<_> = (0..10).map(|_| answer()).collect();
        assert!(used(&room) <= 3 * ROOM);
        assert!(answers.iter().any(|(_, closed)| !closed.is_cancelled()));
    }
}
