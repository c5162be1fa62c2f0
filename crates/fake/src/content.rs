//! The bodies of the fake API server's responses.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::{
    Response, StatusCode,
    body::{Bytes, Frame},
};
use serde_json::Value;
use tokio::sync::mpsc;

/// An event of a watch. Its fields are in the order of the API server, because a reader that meets the object before
/// the type has to buffer it.
#[must_use]
pub fn line(event: &Value) -> Bytes {
    let (kind, object) = (&event["type"], &event["object"]);
    Bytes::from(format!("{{\"type\":{kind},\"object\":{object}}}\n"))
}

/// The body of a response of a [`ApiServer`](super::ApiServer).
#[derive(Debug)]
pub struct Content(
    /// The chunks, until the channel is closed.
    pub mpsc::UnboundedReceiver<Bytes>,
);

impl From<&Value> for Content {
    /// A body of JSON, for responses of your own.
    fn from(value: &Value) -> Self {
        let (sender, content) = mpsc::unbounded_channel();
        // The receiver still exists here.
        let _ = sender.send(Bytes::from(value.to_string()));
        Self(content)
    }
}

impl hyper::body::Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(cx)
            .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[must_use]
/// A response with this status and body.
pub fn response((status, value): (StatusCode, Value)) -> Response<Content> {
    let mut response = Response::new(Content::from(&value));
    *response.status_mut() = status;
    response
}
