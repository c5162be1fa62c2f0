//! An API server in memory.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use hyper::{
    Request, Response, StatusCode, Uri,
    body::{Bytes, Frame},
    header::CONTENT_TYPE,
};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tower::{Layer as _, Service};

use super::objects::{Call, Objects, Path};
use crate::{
    action::Action, connect::Clients, fence::Fence, key::Key, manager::Manager, metrics::Metrics,
    object::Object, options::Options,
};

/// An API server in memory, for unit tests: what it holds is set and looked at directly, and a reconciler talks to
/// it through an ordinary client.
///
/// It knows `get`, `list` with label selectors, `create`, `replace`, merge patches and JSON patches with their
/// conflicts, `/status`, deletion with finalizers, and `watch` without selectors. Server-side apply is a merge: lists
/// are replaced, and there is no ownership of fields. It validates nothing.
#[derive(Clone, Debug)]
pub struct FakeApi {
    state: Arc<Mutex<State>>,
    /// Told at every request, as it may have changed something.
    changed: watch::Sender<()>,
}

impl Default for FakeApi {
    fn default() -> Self {
        Self {
            state: Arc::default(),
            changed: watch::Sender::new(()),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    objects: Objects,
    requests: Vec<String>,
    cut_off: bool,
}

impl FakeApi {
    /// A server that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A client of this server; its namespace is `default`.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(Connection(self.clone()), "default")
    }

    /// Stores an object as it is, status and all, in place of one of that name; in the namespace `default` if it has
    /// none and needs one. Sets what the API server would set: uid, generation, resource version and the like.
    ///
    /// # Panics
    /// If it has no name or cannot be written as JSON.
    pub fn put<K: Object>(&self, object: &K) {
        let meta = object.meta();
        let name = meta
            .name
            .as_deref()
            .expect("an object that is stored has a name");
        let namespace = meta.namespace.as_deref().unwrap_or("default");
        let mut value = serde_json::to_value(object).expect("an object can be written as JSON");
        value["apiVersion"] = json!(K::api_version(&()));
        value["kind"] = json!(K::kind(&()));
        self.lock().objects.put(path::<K>(namespace, name), value);
        self.changed.send_replace(());
    }

    /// The object as it is; for a kind without namespaces, `namespace` does not matter.
    ///
    /// # Panics
    /// If what is stored is no `K`.
    #[must_use]
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> Option<K> {
        let value = self
            .lock()
            .objects
            .get(&path::<K>(namespace, name))
            .cloned()?;
        Some(serde_json::from_value(value).expect("what is stored is of this kind"))
    }

    /// All objects of a kind, by its plural, such as `events`.
    #[must_use]
    pub fn all(&self, plural: &str) -> Vec<Value> {
        self.lock().objects.all(plural)
    }

    /// Deletes an object, as `kubectl delete` does: it stays, marked, while it has finalizers.
    pub fn delete<K: Object>(&self, namespace: &str, name: &str) {
        // That there is none is what was wanted.
        let _ = self.lock().objects.delete(&path::<K>(namespace, name));
        self.changed.send_replace(());
    }

    /// The requests so far, as `METHOD /path`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    /// Makes every request hang, as a network does that drops packets; or ends that.
    pub fn cut_off(&self, cut_off: bool) {
        self.lock().cut_off = cut_off;
    }

    /// Registers a controller on a new manager, and reconciles the object with this key once: with its finalizer,
    /// status, events and all. The key is `namespace/name`, or `name` alone for one in `default` or in none.
    ///
    /// # Errors
    /// What the reconcile failed with; or that there is no such object, or not one controller.
    pub async fn reconcile(
        &self,
        register: impl FnOnce(&mut Manager),
        key: &str,
    ) -> anyhow::Result<Action> {
        let mut manager = self.manager();
        manager.fence.open();
        register(&mut manager);
        anyhow::ensure!(
            manager.mistakes.is_empty(),
            "{}",
            manager.mistakes.join("\n")
        );
        let [controller] = &manager.controllers[..] else {
            let found = manager.controllers.len();
            anyhow::bail!("{found} controllers were registered\nhelp: register one at a time");
        };
        let mut watches = JoinSet::new();
        manager.caches.start(&self.client(), &[], &mut watches);
        let result = controller.clone().reconcile_once(Key::from(key)).await;
        manager.publisher.flush(&self.client()).await;
        result
    }

    /// A manager on this server, with the flags that it has by default and the id `test.example.com`.
    #[must_use]
    pub fn manager(&self) -> Manager {
        self.manager_with(Options::default())
    }

    /// A manager on this server, with these flags and the id `test.example.com`.
    #[must_use]
    pub fn manager_with(&self, options: Options) -> Manager {
        let fence = Fence::closed();
        let metrics = Metrics::new();
        let host = Uri::from_static("http://in-memory");
        let counted = metrics.requests().to(&host).layer(Connection(self.clone()));
        let leading = Client::new(fence.layer(counted.clone()), "default");
        let clients = Clients::fake(&Client::new(counted, "default"), leading);
        Manager::with(options, "test.example.com", clients, fence, metrics)
    }

    async fn serve(self, request: Request<Body>) -> Result<Response<Content>, Infallible> {
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let media_type = parts
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let body = body.collect_bytes().await.unwrap_or_default();
        if self.lock().cut_off {
            std::future::pending::<()>().await;
        }
        let Some(path) = Path::parse(parts.uri.path()) else {
            return Ok(response(failure((StatusCode::NOT_FOUND, "NotFound"))));
        };
        let call = Call {
            method: parts.method,
            path,
            query: parameters(&query),
            media_type: media_type.unwrap_or_default().to_owned(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        self.lock()
            .requests
            .push(format!("{} {}", call.method, parts.uri.path()));
        if call.query.get("watch").is_some_and(|watch| watch == "true") {
            return Ok(Response::new(self.watch(call)));
        }
        let answer = self.lock().objects.handle(call);
        self.changed.send_replace(());
        Ok(response(answer.unwrap_or_else(failure)))
    }

    /// Tells the changes of a collection, one JSON object a line, until nobody listens.
    fn watch(self, call: Call) -> Content {
        let (sender, lines) = mpsc::unbounded_channel();
        let from = call
            .query
            .get("resourceVersion")
            .and_then(|version| version.parse().ok());
        let (mut after, mut news) = (from.unwrap_or_default(), self.changed.subscribe());
        tokio::spawn(async move {
            loop {
                let (changes, last) = self.lock().objects.changes(&call.path, after);
                after = last;
                for change in changes {
                    if sender.send(Bytes::from(format!("{change}\n"))).is_err() {
                        return;
                    }
                }
                tokio::select! {
                    () = sender.closed() => return,
                    _ = news.changed() => {}
                }
            }
        });
        Content(lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of an answer: what comes from a channel, until that is closed.
#[derive(Debug)]
pub(crate) struct Content(mpsc::UnboundedReceiver<Bytes>);

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

fn response((status, value): (StatusCode, Value)) -> Response<Content> {
    let (sender, content) = mpsc::unbounded_channel();
    // The receiver is right here.
    let _ = sender.send(Bytes::from(value.to_string()));
    let mut response = Response::new(Content(content));
    *response.status_mut() = status;
    response
}

/// What a client sends its requests into.
#[derive(Clone, Debug)]
pub(crate) struct Connection(pub(crate) FakeApi);

impl Service<Request<Body>> for Connection {
    type Response = Response<Content>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Content>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.clone().serve(request))
    }
}

/// Where an object of `K` is.
fn path<K: Object>(namespace: &str, name: &str) -> Path {
    let namespace = crate::object::namespaced::<K>().then_some(namespace);
    let url = format!("{}/{name}", K::url_path(&(), namespace));
    Path::parse(&url).expect("the url of an object has a root and a name")
}

/// The parameters of a query; of the escapes, those that selectors have.
fn parameters(query: &str) -> std::collections::BTreeMap<String, String> {
    let decode = |text: &str| {
        let text = text
            .replace("%3D", "=")
            .replace("%2C", ",")
            .replace("%21", "!");
        text.replace("%2F", "/").replace('+', " ")
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), decode(value)))
        .collect()
}

fn failure((code, reason): (StatusCode, &str)) -> (StatusCode, Value) {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code.as_u16(), "reason": reason, "message": reason,
    });
    (code, status)
}
