//! Answers that clients have not read yet. The room of a body is kept until its answer has been sent, because that may be
//! as large; and a client that does not read it is disconnected.

use std::{sync::Arc, time::Duration};

use hyper::body::Bytes;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{connections::Place, room::Share};

/// The room for an answer, and how long its client may take to read it. It is an extension of the response.
#[derive(Clone, Debug)]
pub(crate) struct Unsent {
    share: Arc<Share>,
    kept: Arc<Option<OwnedSemaphorePermit>>,
    limit: Duration,
}

/// The bytes of an answer. They are dropped when the last one has been sent.
struct Answer {
    bytes: Vec<u8>,
    _share: Arc<Share>,
    _kept: Arc<Option<OwnedSemaphorePermit>>,
    _sent: DropGuard,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Unsent {
    pub(super) fn new(
        share: Arc<Share>,
        kept: Option<OwnedSemaphorePermit>,
        limit: Duration,
    ) -> Self {
        Self {
            share,
            kept: Arc::new(kept),
            limit,
        }
    }

    /// The bytes, which keep the room. Closes the connection if they are not sent in time.
    pub(super) fn keep(self, bytes: Vec<u8>, place: &Arc<Place>) -> Bytes {
        let (sent, place) = (CancellationToken::new(), place.clone());
        let answer = Answer {
            bytes,
            _share: self.share,
            _kept: self.kept,
            _sent: sent.clone().drop_guard(),
        };
        tokio::spawn(async move {
            if timeout(self.limit, sent.cancelled()).await.is_err() {
                tracing::debug!("closed a connection whose client does not read its answer");
                place.close();
            }
        });
        Bytes::from_owner(answer)
    }
}
