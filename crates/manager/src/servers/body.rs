//! Bodies of requests: limits the size of each, and the memory of all that a server holds at once.

use std::{future::poll_fn, ops::Deref, sync::Arc, time::Duration};

use hyper::{
    StatusCode,
    body::{Body as _, Incoming},
};
use tokio::time::timeout;

use super::{
    budget::Budget,
    cost::most_expensive,
    room::{Room, Share},
    unsent::Unsent,
};

/// How many bytes of each body need no room. Most bodies are smaller. The limit of connections limits their sum.
const SMALL: usize = 32 << 10;

/// The budget of a body for which no memory is taken: that of most requests.
pub(crate) const CHEAP: usize = 256 << 10;

/// The limits of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    /// How many times its size the body takes: twice, if the answer is as large.
    pub(crate) copies: usize,
    /// How long it may wait for bodies that have arrived before.
    pub(crate) wait: Duration,
}

/// Reads a body. Fails with a status if it is too large or ends early, or if there is no room.
pub(super) async fn read(
    room: &Room,
    mut body: Incoming,
    limits: Limits,
) -> Result<Body, StatusCode> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limits.bytes {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let mut share = room.enter();
    let mut bytes = Blocks::default();
    let (mut free, mut arrived) = (SMALL, false);
    while !arrived {
        let frame = tokio::select! {
            () = share.ended() => return Err(StatusCode::SERVICE_UNAVAILABLE),
            frame = poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)) => frame,
        };
        let data = match frame.transpose() {
            Ok(frame) => frame.map(|frame| frame.into_data().unwrap_or_default()),
            Err(_) => return Err(StatusCode::BAD_REQUEST),
        };
        arrived = data.is_none();
        let data = data.unwrap_or_default();
        if bytes.length + data.len() > limits.bytes {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let needed = data.len().saturating_sub(free);
        free -= data.len() - needed;
        let taken = timeout(limits.wait, share.take(needed * limits.copies)).await;
        if !taken.unwrap_or_default() {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        bytes.push(&data);
    }
    if !share.arrived() {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    Ok(Body {
        bytes: bytes.join(),
        share: Some(Arc::new(share)),
    })
}

/// The bytes of a body that is arriving, in blocks of one size. Many bodies that grow, and end half-way, would leave gaps
/// of all sizes in memory.
#[derive(Default)]
struct Blocks {
    blocks: Vec<Vec<u8>>,
    length: usize,
}

impl Blocks {
    fn push(&mut self, mut data: &[u8]) {
        self.length += data.len();
        while !data.is_empty() {
            let full = self.blocks.last().is_none_or(|last| last.len() == SMALL);
            if full {
                self.blocks.push(Vec::new());
            }
            let Some(last) = self.blocks.last_mut() else {
                return;
            };
            let (now, rest) = data.split_at(data.len().min(SMALL - last.len()));
            last.extend_from_slice(now);
            data = rest;
        }
    }

    fn join(self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.length);
        for block in self.blocks {
            all.extend(block);
        }
        all
    }
}

/// A body that was read. Dropping it frees its room.
#[derive(Debug, Default)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    share: Option<Arc<Share>>,
}

impl Body {
    /// The bytes, and their room, which must be kept for as long as they are.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Option<Arc<Share>>) {
        (self.bytes, self.share)
    }

    /// Keeps the room, if there is any, and as much of the budget as the answer needs besides, for an answer of this many
    /// bytes whose client may take so long to read it.
    pub(crate) fn unsent(
        &self,
        bytes: usize,
        budget: Arc<Budget>,
        limit: Duration,
    ) -> Option<Unsent> {
        let share = self.share.clone()?;
        let kept = budget.keep(bytes.saturating_sub(share.taken()));
        (share.taken() > 0 || kept.is_some()).then(|| Unsent::new(share, kept, limit))
    }

    /// What it costs to parse the most expensive value at this depth, as far as that can be estimated.
    pub(crate) fn cost(&self, depth: usize) -> usize {
        most_expensive(&self.bytes, depth)
    }

    /// A budget of about this many bytes; waits until there is as much memory.
    pub(crate) async fn budget(&self, bytes: usize, wait: Duration) -> Result<Budget, StatusCode> {
        let Some(share) = &self.share else {
            return Ok(Budget::all());
        };
        let budget = Budget::of(bytes.max(CHEAP));
        if budget.most() == CHEAP {
            return Ok(budget);
        }
        let permit = timeout(wait, share.room().parse(budget.most())).await;
        Ok(budget.with(permit.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?))
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that takes no room of the server.
impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
