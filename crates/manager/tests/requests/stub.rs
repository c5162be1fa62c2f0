//! The fake API server behind HTTP on the loopback interface, with faults. The clients are real.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Request, Response, StatusCode,
    body::{Body as _, Bytes, Frame, Incoming},
    header::RETRY_AFTER,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use kbr_testing::FakeApi;
use kube::{Client, client::Body};
use manager::{Manager, Options};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

/// What happens to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// None: it is answered.
    None,
    /// It is never answered.
    Silence,
    /// It is answered after so many seconds.
    Slow(u64),
    /// Its response starts, and does not end.
    Stall,
    /// The response has this status and this body.
    Answer(u16, &'static str),
    /// The response has this status, and `Retry-After` with this many seconds.
    Later(u16, u64),
}

/// The fault of a request, from its line (`GET /path?query`) and the number of earlier requests with the same line.
type Faults = Box<dyn Fn(&str, usize) -> Fault + Send + Sync>;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    /// The number of its connection.
    pub(crate) connection: usize,
    pub(crate) at: Instant,
}

pub(crate) struct Stub {
    pub(crate) api: FakeApi,
    pub(crate) port: u16,
    client: Client,
    faults: Faults,
    connections: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
}

impl Stub {
    pub(crate) async fn start(
        api: &FakeApi,
        faults: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Arc<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let stub = Arc::new(Self {
            api: api.clone(),
            port: listener.local_addr().unwrap().port(),
            client: api.client(),
            faults: Box::new(faults),
            connections: AtomicUsize::new(0),
            seen: Mutex::default(),
        });
        tokio::spawn(stub.clone().listen(listener));
        stub
    }

    /// A manager whose clients use this server.
    pub(crate) async fn manager(&self, mut options: Options) -> Manager {
        let file = tempfile::NamedTempFile::new().unwrap();
        let port = self.port;
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: stub\n\
             clusters: [{{name: stub, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             users: [{{name: stub, user: {{}}}}]\n\
             contexts: [{{name: stub, context: {{cluster: stub, user: stub, namespace: default}}}}]\n"
        );
        std::fs::write(file.path(), kubeconfig).unwrap();
        options.kubeconfig = Some(file.path().to_owned());
        options.health_probe_bind_address = "0".parse().unwrap();
        Manager::new(options, "test.example.com").await.unwrap()
    }

    /// The received requests whose line begins with this.
    pub(crate) fn seen(&self, begin: &str) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let like = seen.iter().filter(|seen| seen.line.starts_with(begin));
        like.cloned().collect()
    }

    async fn listen(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (stub, connection) = (
                self.clone(),
                self.connections.fetch_add(1, Ordering::SeqCst),
            );
            let service = service_fn(move |request| stub.clone().answer(request, connection));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: usize,
    ) -> Result<Response<Answer>, Infallible> {
        let (parts, body) = request.into_parts();
        let line = format!("{} {}", parts.method, parts.uri);
        let before = self.note(&line, connection);
        let body = whole(body).await;
        match (self.faults)(&line, before) {
            Fault::Silence => std::future::pending().await,
            Fault::Later(status, seconds) => {
                let mut response = Response::new(Answer::from(format!("{{\"code\": {status}}}")));
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
                Ok(response)
            }
            Fault::Answer(status, body) => {
                let mut response = Response::new(Answer::from(body.to_owned()));
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                Ok(response)
            }
            fault => {
                if let Fault::Slow(seconds) = fault {
                    sleep(Duration::from_secs(seconds)).await;
                }
                let request = Request::from_parts(parts, Body::from(body));
                let response = self.client.send(request).await.unwrap();
                let stalls = matches!(fault, Fault::Stall);
                Ok(response.map(|body| Answer {
                    body: Some(body),
                    stalls,
                }))
            }
        }
    }

    /// Records a request; returns how many earlier ones had the same line.
    fn note(&self, line: &str, connection: usize) -> usize {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.iter().filter(|seen| seen.line == line).count();
        let (line, at) = (line.to_owned(), Instant::now());
        seen.push(Seen {
            line,
            connection,
            at,
        });
        before
    }
}

async fn whole(mut body: Incoming) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
    {
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    bytes
}

/// The body of a response.
struct Answer {
    body: Option<Body>,
    /// Whether it never ends after its first bytes.
    stalls: bool,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self {
            body: Some(text.into_bytes().into()),
            stalls: false,
        }
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Pending;
        };
        let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else {
            return Poll::Pending;
        };
        if self.stalls {
            self.body = None;
        }
        Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
    }
}
