//! A fake API server whose watches fail.

use super::*;
use crate::metadata;

/// An API server that can remove a kind and interrupt watches.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) api: FakeApi,
    /// The status for a kind, by its plural, instead of its objects.
    pub(super) rejected: Arc<Mutex<Vec<(&'static str, u16)>>>,
    /// Watches that started before the last change are over.
    pub(super) cut: watch::Sender<()>,
    pub(super) streams: Arc<Mutex<Streams>>,
    /// The path of each request, and whether it is a list, a watch, a watch that begins with a list, or a list of one object
    /// for the latest version.
    pub(super) asked: Arc<Mutex<Vec<(String, &'static str)>>>,
    /// Whether watches deliver nothing.
    pub(super) held: watch::Sender<bool>,
    /// How often the connections of all watches have frozen: those that began before deliver nothing any more.
    pub(super) frozen: watch::Sender<usize>,
    /// Whether the next event of a watch is not sent as it is, but as a line that is not JSON.
    pub(super) garbled: Arc<AtomicBool>,
}

/// What becomes of streamed lists.
#[derive(Clone, Copy)]
pub(super) enum Streams {
    Sent,
    /// With this status.
    Rejected(u16),
    /// They are watches like any other.
    Ignored,
    /// They end before the first object.
    Cut,
}

impl Server {
    pub(super) fn new() -> Self {
        Self {
            api: FakeApi::new(),
            rejected: Arc::default(),
            cut: watch::Sender::new(()),
            streams: Arc::new(Mutex::new(Streams::Sent)),
            asked: Arc::default(),
            held: watch::Sender::new(false),
            frozen: watch::Sender::new(0),
            garbled: Arc::default(),
        }
    }

    pub(super) fn stream(&self, streams: Streams) {
        *self.streams.lock().unwrap() = streams;
    }

    /// The requests for a collection: each a list, a watch, or a watch that begins with a list.
    pub(super) fn asked(&self, plural: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let here = asked.iter().filter(|(path, _)| path.ends_with(plural));
        here.map(|(_, what)| (*what).to_owned()).collect()
    }

    pub(super) fn reject(&self, kinds: &[(&'static str, u16)]) {
        *self.rejected.lock().unwrap() = kinds.to_vec();
        self.cut.send_replace(());
    }

    pub(super) fn manager(&self, options: Options) -> Manager {
        let mut manager = self.empty_manager(options);
        manager
            .controller::<ConfigMap>("map")
            .owns(metadata::<Secret>())
            .reconcile(async |_, _| Ok(Action::await_change()));
        manager
    }

    /// A manager without controllers.
    pub(super) fn empty_manager(&self, options: Options) -> Manager {
        let options = Options {
            // The remarks are registered with the server of probes.
            health_probe_bind_address: "127.0.0.1:0".parse().unwrap(),
            ..options
        };
        let (fence, metrics) = (Fence::closed(), Metrics::new());
        let connections = || anyhow::Ok(ClientBuilder::new(self.clone(), "default"));
        let count = metrics.requests().to(&Uri::from_static("http://in-memory"));
        let clients = Clients::with(connections, &fence, &count).unwrap();
        Manager::with(options, "test.example.com", clients, fence, metrics)
    }

    /// The number of requests for a collection.
    pub(super) fn count(&self, plural: &str) -> usize {
        let requests = self.api.requests();
        requests.iter().filter(|it| it.ends_with(plural)).count()
    }
}

impl Service<Request<Body>> for Server {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Answer>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path().to_owned();
        let has = |word| request.uri().query().unwrap_or_default().contains(word);
        let (watches, lists) = (has("watch=true"), has("sendInitialEvents"));
        let what = match (watches, lists) {
            (true, true) => "stream",
            (true, false) => "watch",
            (false, _) if has_one(request.uri()) => "latest",
            (false, _) => "list",
        };
        self.asked.lock().unwrap().push((path.clone(), what));
        let streams = *self.streams.lock().unwrap();
        let streams = if lists { streams } else { Streams::Sent };
        let rejected = self.rejected.lock().unwrap();
        let mut rejected = rejected.iter();
        let code = rejected.find(|(plural, _)| path.split('/').any(|part| part == *plural));
        let code = match (code, streams) {
            (Some((_, code)), _) => Some(*code),
            (None, Streams::Rejected(code)) => Some(code),
            _ => None,
        };
        if matches!(streams, Streams::Ignored) {
            let plain = format!("{path}?watch=true&allowWatchBookmarks=true");
            *request.uri_mut() = plain.parse().unwrap();
        }
        let cut = matches!(streams, Streams::Cut);
        let answer = self.api.connection().call(request);
        let mut changed = self.cut.subscribe();
        let held = watches.then(|| self.held.subscribe());
        let garbled = watches.then(|| self.garbled.clone());
        let frozen = self.frozen.subscribe();
        let frozen = watches.then(|| (*frozen.borrow(), frozen.clone()));
        Box::pin(async move {
            let answer = answer.await?;
            let Some(code) = code else {
                let end: BoxFuture<'static, ()> = match (cut, watches) {
                    (true, _) => Box::pin(std::future::ready(())),
                    (false, true) => Box::pin(async move { drop(changed.changed().await) }),
                    (false, false) => Box::pin(std::future::pending()),
                };
                return Ok(answer.map(|content| Answer {
                    content,
                    end,
                    held,
                    frozen,
                    garbled,
                }));
            };
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
                "code": code, "reason": "Rejected", "message": format!("{path} is rejected"),
            });
            let answer = Response::builder().status(code);
            let answer = answer.body(Content::from(&status)).unwrap();
            Ok(answer.map(|content| Answer {
                content,
                end: Box::pin(std::future::pending()),
                held: None,
                frozen: None,
                garbled: None,
            }))
        })
    }
}

/// Whether a request is for one object.
fn has_one(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|parameter| parameter == "limit=1")
}

/// A body that may end early, and may be held back.
pub(super) struct Answer {
    content: Content,
    end: BoxFuture<'static, ()>,
    held: Option<watch::Receiver<bool>>,
    /// How often watches had frozen when it began.
    frozen: Option<(usize, watch::Receiver<usize>)>,
    garbled: Option<Arc<AtomicBool>>,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some((before, frozen)) = &self.frozen
            && *frozen.borrow() > *before
        {
            return Poll::Pending;
        }
        if self.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if let Some(held) = self.held.clone().filter(|held| *held.borrow()) {
            let (mut held, waker) = (held, cx.waker().clone());
            tokio::spawn(async move {
                let _ = held.wait_for(|held| !held).await;
                waker.wake();
            });
            return Poll::Pending;
        }
        let frame = Pin::new(&mut self.content).poll_frame(cx);
        if frame.is_ready()
            && let Some(garbled) = &self.garbled
            && garbled.swap(false, Ordering::SeqCst)
        {
            let line = Bytes::from_static(b"<html>\n");
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        frame
    }
}
