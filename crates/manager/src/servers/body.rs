//! Bodies of requests: limits the size of each, and the memory of all that arrive at once.

use std::{future::poll_fn, ops::Deref, pin::Pin};

use super::room::{FREE, Room, Share};
use hyper::{
    StatusCode,
    body::{Body as _, Incoming},
};

/// The limits of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub(crate) room: &'a Room,
    pub(crate) bytes: usize,
}

/// Reads a body, and waits for room as long as it is polled. Fails with a status if it is too large, ends early, or gives
/// way to others.
pub(super) async fn read(mut body: Incoming, limits: Limits<'_>) -> Result<Body, StatusCode> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limits.bytes {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let length = body
        .size_hint()
        .exact()
        .and_then(|it| usize::try_from(it).ok());
    let mut share = limits.room.enter(length.unwrap_or(limits.bytes));
    let (mut bytes, mut free) = (Blocks::default(), FREE);
    loop {
        let frame = share.receive(poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)));
        let data = match frame.await {
            None => return Err(StatusCode::SERVICE_UNAVAILABLE),
            Some(None) => break,
            Some(Some(Err(_))) => return Err(StatusCode::BAD_REQUEST),
            Some(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        };
        if bytes.length + data.len() > limits.bytes {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let needed = data.len().saturating_sub(free);
        free -= data.len() - needed;
        if needed > 0 && !share.take(needed).await {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        bytes.push(&data);
    }
    if !share.arrived() {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    Ok(Body {
        bytes: bytes.join(),
        share: Some(share),
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
            let full = self.blocks.last().is_none_or(|last| last.len() == FREE);
            if full {
                self.blocks.push(Vec::new());
            }
            let Some(last) = self.blocks.last_mut() else {
                return;
            };
            let (now, rest) = data.split_at(data.len().min(FREE - last.len()));
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
    share: Option<Share>,
}

impl Body {
    /// The bytes, and their room, which must be kept for as long as they are.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Option<Share>) {
        (self.bytes, self.share)
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
        Self { bytes, share: None }
    }
}

#[cfg(test)]
mod tests;
