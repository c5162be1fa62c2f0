//! A fake API server whose watches deliver nothing, in any way, while lists work.

use crate::metadata;
use std::collections::VecDeque;

use kube::api::ObjectMeta;

use super::*;

/// How a watch delivers nothing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    None,
    /// It is answered with this status.
    Status(u16),
    /// It is not answered.
    Unanswered,
    /// Its connection is closed before the answer.
    Refused,
    /// It has these lines, and ends after a while.
    Ends(&'static [Line], Duration),
    /// The same, but it ends with an error.
    Breaks(&'static [Line], Duration),
    /// It has these lines, and then nothing.
    Silent(&'static [Line]),
    /// Bookmarks are all that arrives.
    Bookmarks,
}

/// A line that no change causes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Line {
    /// A bookmark with the current version.
    Bookmark,
    /// A bookmark with the version of an API server that lags.
    Old,
    /// An error with this status.
    Error(u16),
    Garbage,
}

impl Line {
    fn bytes(self, api: &FakeApi) -> Bytes {
        let bookmark = |version: String| {
            json!({"type": "BOOKMARK", "object": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": version},
            }})
        };
        let event = match self {
            Self::Bookmark => bookmark(latest(api)),
            Self::Old => bookmark("1".to_owned()),
            Self::Error(code) => json!({"type": "ERROR", "object": {
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
                "code": code, "reason": "Planned", "message": "the watch cannot go on",
            }}),
            Self::Garbage => return Bytes::from_static(b"<html>\n"),
        };
        Bytes::from(format!("{event}\n"))
    }
}

/// The highest version of an object.
fn latest(api: &FakeApi) -> String {
    let maps = api.all::<ConfigMap>();
    let versions = maps
        .iter()
        .filter_map(|it| it.metadata.resource_version.as_deref());
    let latest = versions.filter_map(|it| it.parse::<u64>().ok()).max();
    latest.unwrap_or(1).to_string()
}

/// What becomes of streamed lists while watches have a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streamed {
    /// They are rejected, so that pages are read.
    Rejected,
    /// They have the same fault.
    Faulty,
    /// The list is sent, and the fault follows.
    Sent,
}

/// An API server whose watches have a fault.
#[derive(Clone)]
pub(super) struct Faulty {
    pub(super) api: FakeApi,
    fault: Arc<Mutex<Fault>>,
    streams: Streamed,
    /// Whether lists and watches fail.
    all_fail: Arc<AtomicBool>,
    /// Watches that began before the last change are over.
    cut: watch::Sender<()>,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl Faulty {
    pub(super) fn new(streams: Streamed) -> Self {
        let api = FakeApi::new();
        api.put(&map("old"));
        Self {
            api,
            fault: Arc::new(Mutex::new(Fault::None)),
            streams,
            all_fail: Arc::default(),
            cut: watch::Sender::new(()),
            asked: Arc::default(),
        }
    }

    pub(super) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
        self.cut.send_replace(());
    }

    pub(super) fn fail_all(&self, fail: bool) {
        self.all_fail.store(fail, Ordering::SeqCst);
    }

    /// A manager of `ConfigMap`s, which caches them whole and their metadata, and the names that it has reconciled.
    pub(super) fn manager(&self, options: Options) -> (Manager, Arc<Mutex<Vec<String>>>) {
        let options = Options {
            health_probe_bind_address: "0".parse().unwrap(),
            ..options
        };
        let (fence, metrics) = (Fence::closed(), Metrics::new());
        let connections = || anyhow::Ok(ClientBuilder::new(self.clone(), "default"));
        let count = metrics.requests().to(&Uri::from_static("http://in-memory"));
        let clients = Clients::with(connections, &fence, &count).unwrap();
        let mut manager = Manager::with(options, "test.example.com", clients, fence, metrics);
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let seeing = seen.clone();
        manager
            .controller::<ConfigMap>("map")
            .owns(metadata::<ConfigMap>())
            .reconcile(move |map: Arc<ConfigMap>, _| {
                let name = map.metadata.name.clone().unwrap_or_default();
                seeing.lock().unwrap().push(name);
                async { Ok(Action::await_change()) }
            });
        (manager, seen)
    }

    /// How many lists of the `ConfigMap`s and how many other watches there were since the last call.
    pub(super) fn asked(&self) -> (usize, usize) {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let lists = asked.iter().filter(|what| **what != "watch").count();
        (lists, asked.len() - lists)
    }
}

impl Service<Request<Body>> for Faulty {
    type Response = Response<Stream>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, Result<Response<Stream>, std::io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let (watches, streams) = (
            query.contains("watch=true"),
            query.contains("sendInitialEvents"),
        );
        // The list of one name that helps a watch is not one of the cache.
        let helps = query.contains("metadata.name");
        let what = match (watches, streams) {
            (true, true) => "stream",
            (true, false) => "watch",
            (false, _) => "list",
        };
        if !helps && request.uri().path().ends_with("configmaps") {
            self.asked.lock().unwrap().push(what);
        }
        let all_fail = self.all_fail.load(Ordering::SeqCst);
        let fault = *self.fault.lock().unwrap();
        let fault = match (fault, self.streams) {
            _ if all_fail => Fault::Status(500),
            _ if !watches => Fault::None,
            (Fault::None, _) => Fault::None,
            (_, Streamed::Rejected) if streams => Fault::Status(422),
            (fault, _) => fault,
        };
        let lists = !all_fail
            && streams
            && (self.streams == Streamed::Sent || matches!(fault, Fault::Bookmarks));
        let answer = self.api.connection().call(request);
        let (api, mut cut) = (self.api.clone(), self.cut.subscribe());
        Box::pin(async move {
            let (lines, end): (&[Line], _) = match fault {
                Fault::Status(_) | Fault::Unanswered | Fault::Refused if lists => {
                    (&[], ended(Duration::ZERO, Ok(())))
                }
                Fault::Status(code) => return Ok(rejection(code)),
                Fault::Unanswered => std::future::pending().await,
                Fault::Refused => return Err(std::io::ErrorKind::ConnectionRefused.into()),
                Fault::Ends(lines, after) => (lines, ended(after, Ok(()))),
                Fault::Breaks(lines, after) => {
                    let error = std::io::ErrorKind::ConnectionReset;
                    (lines, ended(after, Err(error.into())))
                }
                _ if !watches => (&[], Box::pin(std::future::pending())),
                Fault::None | Fault::Bookmarks | Fault::Silent(_) => {
                    let lines = if let Fault::Silent(lines) = fault {
                        lines
                    } else {
                        &[]
                    };
                    (
                        lines,
                        Box::pin(async move {
                            let _ = cut.changed().await;
                            Ok(())
                        }) as End,
                    )
                }
            };
            let lines = lines.iter().map(|line| line.bytes(&api)).collect();
            let rest = match fault {
                Fault::None => Rest::All,
                Fault::Bookmarks => Rest::Bookmarks,
                _ => Rest::Nothing,
            };
            Ok(answer.await.unwrap().map(|content| Stream {
                content,
                lists,
                rest,
                lines,
                end,
            }))
        })
    }
}

type End = BoxFuture<'static, std::io::Result<()>>;

/// An end after a while.
fn ended(after: Duration, result: std::io::Result<()>) -> End {
    let over = sleep(after);
    Box::pin(async move {
        over.await;
        result
    })
}

fn rejection(code: u16) -> Response<Stream> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "code": code, "reason": "Planned", "message": "no watch is served",
    });
    let body = Stream {
        content: Content::from(&status),
        lists: false,
        rest: Rest::All,
        lines: VecDeque::new(),
        end: Box::pin(std::future::pending()),
    };
    Response::builder().status(code).body(body).unwrap()
}

/// The body of an answer.
pub(super) struct Stream {
    /// What the API server sends.
    content: Content,
    /// Whether that is a list, all of which arrives.
    lists: bool,
    rest: Rest,
    /// What follows.
    lines: VecDeque<Bytes>,
    end: End,
}

/// What arrives of what the API server sends, apart from lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    All,
    Bookmarks,
    Nothing,
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        while self.lists || self.rest != Rest::Nothing {
            let Poll::Ready(frame) = Pin::new(&mut self.content).poll_frame(cx) else {
                break;
            };
            let Some(Ok(frame)) = frame else {
                return Poll::Ready(None);
            };
            let data = frame.into_data().unwrap_or_default();
            let text = String::from_utf8_lossy(&data);
            let arrives = self.lists || self.rest == Rest::All || text.contains("BOOKMARK");
            self.lists &= !text.contains("initial-events-end");
            if arrives {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
        if self.lists {
            return Poll::Pending;
        }
        if let Some(line) = self.lines.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        self.end.as_mut().poll(cx).map(|end| end.err().map(Err))
    }
}

pub(super) fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}
