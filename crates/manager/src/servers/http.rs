//! The HTTP servers: probes and metrics. HTTP/1.1 only, with limits on time and on connections.

use std::{convert::Infallible, io, pin::pin, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use hyper::{
    Response, StatusCode,
    body::{Body as _, Incoming},
    header::{CONNECTION, CONTENT_TYPE, HeaderValue},
    http::request::Parts,
    rt::{Read, Write},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::servers::{
    body::{self, Body, Limits},
    connections::{Connections, Place},
    room::Room,
};

/// How long a client may take for its handshake, and to send the head of a request. Idle connections are closed after
/// it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many connections a server holds at once. With more, idle ones are closed. This is far below the usual limit of
/// open files (1,024 in many places), and takes little memory.
const CONNECTIONS: usize = 250;

/// The maximum size of a request's head in bytes; longer ones are rejected.
const HEAD: usize = 16 * 1024;

/// The head of a request, and its body for handlers that want it.
pub(crate) struct Request {
    parts: Parts,
    body: Option<(Incoming, Arc<Place>)>,
    has_certificate: bool,
}

impl From<Parts> for Request {
    fn from(parts: Parts) -> Self {
        Self {
            parts,
            body: None,
            has_certificate: false,
        }
    }
}

impl std::ops::Deref for Request {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl Request {
    pub(crate) fn method(&self) -> &hyper::Method {
        &self.parts.method
    }

    pub(crate) fn uri(&self) -> &hyper::Uri {
        &self.parts.uri
    }

    /// Adds something for the handler.
    pub(crate) fn insert<T: Clone + Send + Sync + 'static>(&mut self, extension: T) {
        self.parts.extensions.insert(extension);
    }

    /// Whether the client has a certificate of the CA that the server asks for.
    pub(crate) fn has_certificate(&self) -> bool {
        self.has_certificate
    }

    /// Whether the client has announced the length of the body.
    pub(crate) fn has_length(&self) -> bool {
        let body = self.body.as_ref();
        body.is_none_or(|(body, ..)| body.size_hint().exact().is_some())
    }

    /// The head.
    pub(crate) fn into_parts(self) -> Parts {
        self.parts
    }

    /// The body within these limits, or the status to respond with. Until it has arrived, its connection counts as
    /// idle.
    pub(crate) async fn body(&mut self, limits: Limits<'_>) -> Result<Body, StatusCode> {
        let Some((body, place)) = self.body.take() else {
            return Ok(Body::default());
        };
        let body = body::read(body, limits).await?;
        place.busy();
        Ok(body)
    }
}

/// A plain-text response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn text(status: StatusCode, body: String) -> Self {
        Self {
            status,
            media_type: "text/plain; charset=utf-8",
            body,
        }
    }

    pub(crate) fn json(body: String) -> Self {
        Self {
            status: StatusCode::OK,
            media_type: "application/json",
            body,
        }
    }

    /// A response with only a status.
    pub(crate) fn status(status: StatusCode) -> Self {
        let reason = status.canonical_reason().unwrap_or_default();
        Self::text(status, format!("{reason}\n"))
    }
}

impl From<Reply> for Response<Vec<u8>> {
    fn from(reply: Reply) -> Self {
        let mut response = Self::new(reply.body.into_bytes());
        *response.status_mut() = reply.status;
        let media_type = HeaderValue::from_static(reply.media_type);
        response.headers_mut().insert(CONTENT_TYPE, media_type);
        response
    }
}

/// Handles requests. A response with a [`Room`] among its extensions takes room until it is read.
pub(crate) type Handler =
    Arc<dyn Fn(Request) -> BoxFuture<'static, Response<Vec<u8>>> + Send + Sync>;

/// A server that is bound to its port.
pub(crate) struct Server {
    pub(crate) listener: TcpListener,
    /// `None` for plain HTTP. The server follows changes of the configuration.
    pub(crate) tls: Option<watch::Receiver<Arc<ServerConfig>>>,
    pub(crate) handler: Handler,
}

impl Server {
    /// Serves until `stop`, then completes the requests in progress.
    pub(crate) async fn run(self, stop: CancellationToken) {
        self.drain(PATIENCE, stop.clone(), stop).await;
    }

    /// Serves until `stop`. From `draining` on, each response closes its connection, so that clients move to other
    /// replicas by themselves and few connections remain to be closed. Connections may be idle for `idle`.
    pub(crate) async fn drain(
        self,
        idle: Duration,
        draining: CancellationToken,
        stop: CancellationToken,
    ) {
        let places = Connections::new(CONNECTIONS);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let Some(place) = stop.run_until_cancelled(places.place()).await else {
                            break;
                        };
                        let tls = self.tls.as_ref().map(|tls| tls.borrow().clone());
                        let connection = Connection {
                            handler: self.handler.clone(),
                            idle,
                            draining: draining.clone(),
                            stop: stop.clone(),
                        };
                        let place = Arc::new(place);
                        connections.spawn(async move {
                            tokio::select! {
                                () = connection.serve(stream, tls, &place) => {}
                                () = place.given_up() => tracing::debug!("closed an idle connection"),
                            }
                        });
                    }
                    // For example, too many open files: do not retry at once.
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        places.close_idle();
                        sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        while connections.join_next().await.is_some() {}
    }
}

/// The parameters of one connection.
struct Connection {
    handler: Handler,
    idle: Duration,
    draining: CancellationToken,
    stop: CancellationToken,
}

impl Connection {
    /// Serves the connection. Its failures are caused by the client, and not logged.
    async fn serve(self, stream: TcpStream, tls: Option<Arc<ServerConfig>>, place: &Arc<Place>) {
        // Responses are small and should be sent without delay.
        let _ = stream.set_nodelay(true);
        let result = match tls {
            None => self.http(TokioIo::new(stream), false, place).await,
            Some(config) => match timeout(PATIENCE, TlsAcceptor::from(config).accept(stream)).await
            {
                Ok(Ok(stream)) => {
                    let has_certificate = stream.get_ref().1.peer_certificates().is_some();
                    self.http(TokioIo::new(stream), has_certificate, place)
                        .await
                }
                Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => return tracing::debug!("TLS handshake took too long"),
            },
        };
        if let Err(error) = result {
            tracing::debug!(%error, "connection failed");
        }
    }

    async fn http(
        self,
        stream: impl Read + Write + Unpin,
        has_certificate: bool,
        place: &Arc<Place>,
    ) -> hyper::Result<()> {
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let (parts, body) = request.into_parts();
            if body.is_end_stream() {
                place.busy();
            }
            let body = Some((body, place.clone()));
            let reply = (self.handler)(Request {
                parts,
                body,
                has_certificate,
            });
            async {
                let mut response = reply.await;
                place.idle();
                let room = response.extensions_mut().remove::<Room>();
                let mut response = response.map(|bytes| match room {
                    Some(room) => kube::client::Body::from(room.unread(bytes, place.closed())),
                    None => bytes.into(),
                });
                if self.draining.is_cancelled() {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(CONNECTION, close);
                }
                Ok::<_, Infallible>(response)
            }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.idle)
            .max_buf_size(HEAD);
        let mut connection = pin!(builder.serve_connection(stream, service));
        tokio::select! {
            result = connection.as_mut() => result,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                // After this, the rest of the response is dropped.
                timeout(PATIENCE, connection).await.unwrap_or(Ok(()))
            }
        }
    }
}

/// Listens on `HOST:PORT`, or with `:PORT` on every address.
pub(crate) async fn bind(address: &str) -> anyhow::Result<TcpListener> {
    let bound = match address.strip_prefix(':') {
        // Without IPv6, the second address works.
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(format!("0.0.0.0:{port}")).await
            }
            bound => bound,
        },
        None => TcpListener::bind(address).await,
    };
    bound.map_err(|error| anyhow::anyhow!("cannot listen on `{address}`: {error}"))
}

#[cfg(test)]
mod tests;
