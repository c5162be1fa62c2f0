//! Passes a request to the webhook at its path, with limits on size and time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use hyper::{Method, Response, StatusCode, header::CONTENT_TYPE};
use kube::Client;
use tokio::time::timeout;

use super::{review::GroupVersionKind, turn::Turns};
use crate::{
    metrics::{Metrics, WebhookMetrics},
    options,
    panics::unwound,
    servers::{
        body::{Body, Limits},
        http::{Handler, Reply, Request},
        room::Room,
    },
};

/// The path of conversions.
pub(crate) const CONVERT: &str = "/convert";

/// The maximum size of an admission review in bytes: the API server accepts objects of 3 MiB, and sends the old one
/// as well.
const MOST: usize = 7 << 20;

/// The maximum size of a conversion review in bytes; it contains many objects.
const MOST_CONVERTED: usize = 12 << 20;

/// The room for the bodies and unread answers of admission and of conversion, in bytes.
const ROOMS: [usize; 2] = [24 << 20, 12 << 20];

/// The time limit of an answer if the API server does not set one; it never waits longer than this.
const PATIENCE: Duration = Duration::from_secs(30);

/// A call of a webhook.
pub(crate) struct Call {
    pub(crate) body: Arc<Body>,
    pub(crate) turns: Turns,
    pub(crate) client: Client,
    pub(crate) metrics: WebhookMetrics,
}

/// Answers a call.
pub(crate) type Webhook = Arc<dyn Fn(Call) -> BoxFuture<'static, Reply> + Send + Sync>;

/// The task of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Default,
    Validate,
    /// Gets the request as it is.
    Review,
    Convert,
}

/// The webhook that was registered at a path.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) task: Task,
    /// The kind of the webhook's objects; `None` if it serves several kinds.
    pub(crate) kind: Option<GroupVersionKind>,
    pub(crate) webhook: Webhook,
}

/// The webhooks of a manager, by their paths.
pub(crate) type Webhooks = BTreeMap<String, Registered>;

/// Who may call webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callers {
    Everyone,
    /// Clients with a certificate. Everyone may ask for a conversion, because the API server has no certificate then.
    Certified,
}

/// What the reviews of one kind share. Admission and conversion share none of it, so neither can keep out the other.
struct Desk {
    webhook: Webhook,
    metrics: WebhookMetrics,
    /// The maximum size of a review in bytes.
    most: usize,
    room: Room,
    turns: Turns,
}

/// Serves every path with a webhook.
pub(crate) fn handler(
    webhooks: &Webhooks,
    callers: Callers,
    client: &Client,
    metrics: &Metrics,
) -> Handler {
    let (rooms, turns) = (ROOMS.map(Room::of), Turns::of_two_kinds());
    let served = webhooks.iter().map(|(path, registered)| {
        let converts = path == CONVERT;
        let desk = Desk {
            webhook: registered.webhook.clone(),
            metrics: metrics.webhook(path),
            most: if converts { MOST_CONVERTED } else { MOST },
            room: rooms[usize::from(converts)].clone(),
            turns: turns[usize::from(converts)].clone(),
        };
        (path.clone(), Arc::new(desk))
    });
    let (served, client): (BTreeMap<_, _>, _) = (served.collect(), client.clone());
    Arc::new(move |request| {
        let found = served.get(request.uri().path()).cloned();
        let client = client.clone();
        Box::pin(async move {
            let Some(desk) = found else {
                return Reply::status(StatusCode::NOT_FOUND).into();
            };
            let counted = desk.metrics.started();
            let response = if may_call(&request, callers) {
                // What an author's type does when it is read or dropped runs outside the guard of the webhook.
                let answer = unwound(desk.answer(request, client)).await;
                answer.unwrap_or_else(|panic| {
                    tracing::error!(panic, "answering a review panicked");
                    Reply::status(StatusCode::INTERNAL_SERVER_ERROR).into()
                })
            } else {
                Reply::status(StatusCode::UNAUTHORIZED).into()
            };
            counted.answered(response.status());
            response
        })
    })
}

fn may_call(request: &Request, callers: Callers) -> bool {
    callers == Callers::Everyone || request.has_certificate() || request.uri().path() == CONVERT
}

impl Desk {
    async fn answer(&self, mut request: Request, client: Client) -> Response<Vec<u8>> {
        if let Some(status) = unacceptable(&request) {
            return Reply::status(status).into();
        }
        let patience = patience(request.uri().query().unwrap_or_default());
        let answer = async {
            let limits = Limits {
                room: &self.room,
                bytes: self.most,
            };
            let call = Call {
                body: Arc::new(request.body(limits).await?),
                turns: self.turns.clone(),
                client,
                metrics: self.metrics.clone(),
            };
            Ok((self.webhook)(call).await)
        };
        // The API server has given up by now, so an answer in the protocol is useless: `failurePolicy` decides.
        let late = Err(StatusCode::GATEWAY_TIMEOUT);
        let answer = timeout(patience, answer).await.unwrap_or(late);
        let mut response = Response::from(answer.unwrap_or_else(Reply::status));
        response.extensions_mut().insert(self.room.clone());
        response
    }
}

/// Why the body of a request need not be read.
fn unacceptable(request: &Request) -> Option<StatusCode> {
    let media_type = request.headers.get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    if request.method() != Method::POST {
        Some(StatusCode::METHOD_NOT_ALLOWED)
    } else if !media_type.is_some_and(|media_type| media_type.starts_with("application/json")) {
        Some(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    } else if !request.has_length() {
        Some(StatusCode::LENGTH_REQUIRED)
    } else {
        None
    }
}

/// How long the API server waits, from the query: `timeout=10s`.
fn patience(query: &str) -> Duration {
    let timeout = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("timeout="));
    let timeout = timeout.and_then(|timeout| options::duration(timeout).ok());
    timeout.map_or(PATIENCE, |timeout| timeout.min(PATIENCE))
}

#[cfg(test)]
mod tests {
    use kbr_testing::FakeApi;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::servers::http;

    #[test]
    fn the_timeout_comes_from_the_query_of_the_api_server() {
        assert_eq!(patience("timeout=10s"), Duration::from_secs(10));
        assert_eq!(patience("a=b&timeout=1s&c"), Duration::from_secs(1));
        for query in ["", "timeout=", "timeout=soon", "timeout=-1s", "timeout=9h"] {
            assert_eq!(patience(query), PATIENCE, "{query}");
        }
    }

    #[tokio::test]
    async fn a_review_that_panics_is_answered() {
        let webhook: Webhook = Arc::new(|_| Box::pin(async { panic!("cannot be read") }));
        let (task, kind) = (Task::Review, None);
        let registered = Registered {
            task,
            kind,
            webhook,
        };
        let (metrics, client) = (Metrics::new(), FakeApi::new().client());
        let webhooks = [("/a".to_owned(), registered)].into();
        let listener = http::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = http::Server {
            listener,
            tls: None,
            handler: handler(&webhooks, Callers::Everyone, &client, &metrics),
        };
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "POST /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        stop.cancel();
        running.await.unwrap();
    }
}
