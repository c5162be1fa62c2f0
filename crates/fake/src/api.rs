//! The fake API server.

use std::{
    any::TypeId,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{
    Request, Response,
    body::Bytes,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, USER_AGENT},
};
use k8s_openapi::{ClusterResourceScope, jiff::Timestamp};
use kube::Resource;
use kube::{Client, client::Body};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, interval_at, sleep_until},
};
use tower::Service;

use super::{
    content::{Content, line, response},
    conversion::Conversions,
    gate::Gate,
    query::parameters,
    reviews::{Hooks, Reviewers},
    server::{Call, ErrorResponse, Objects, Path, Watch},
};

/// How often a watch is sent a bookmark.
pub const BOOKMARKS: Duration = Duration::from_secs(60);

/// How long before its end a watch is sent the last one, as by `nextBookmarkTime` of
/// `k8s.io/apiserver/pkg/storage/cacher`.
pub const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// A fake API server in memory, for unit tests. A test sets and reads its objects directly, and a reconciler uses it
/// through an ordinary client.
///
/// It gets, lists (by labels, name and namespace; in pages), watches, creates, replaces, patches (JSON merge patch,
/// JSON patch), applies and deletes like the real one, with its resource versions, generations, managed fields,
/// finalizers, preconditions and `Status` errors. `/status` is a subresource. When an owner is gone, its dependents are
/// deleted at once; in a cluster the garbage collector takes a while. The server knows which lists of Kubernetes' own
/// kinds have keys. For custom resources it uses the schemas of the definitions passed to [`define`](Self::define); without
/// one it treats lists as atomic, sets no defaults, and accepts everything.
///
/// A kind whose definition has several versions is stored in one of them, and [converted](Self::convert_by). Webhooks
/// [review](Self::review_by) what clients write.
///
/// It rejects what it does not implement: strategic merge patches, other subresources, selectors of other fields, tables. It permits
/// every request, and does not require that a namespace exists.
#[derive(Clone, Debug)]
pub struct ApiServer {
    state: Arc<Mutex<State>>,
    /// Notified of every request, because each may have changed something.
    changed: watch::Sender<()>,
}

impl Default for ApiServer {
    fn default() -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                objects: Objects::new(),
                requests: Vec::new(),
                cut_off: false,
                gate: None,
                reviewers: None,
            })),
            changed: watch::Sender::new(()),
        }
    }
}

#[derive(Debug)]
struct State {
    objects: Objects,
    requests: Vec<String>,
    cut_off: bool,
    gate: Option<Gate>,
    reviewers: Option<Reviewers>,
}

impl ApiServer {
    /// A server without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A client of this server; its namespace is `default`.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.connection(), "default")
    }

    /// The service behind the clients. A test may put a layer of tower around it, for example to inject faults, and
    /// make a client of both: `Client::new(layer.layer(api.connection()), "default")`.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection(self.clone())
    }

    /// Registers a kind with the server, like `kubectl apply` of its definition (CRD): its schema, its lists, its scope, and
    /// whether it has a status subresource. Only needed if the test depends on these. From then on, writes are pruned, get
    /// defaults, and are rejected if the schema does not allow them, or a rule in CEL with the feature `cel`.
    /// [`put`](Self::put) stores an object even if it is invalid.
    ///
    /// A definition of several versions, as `kube::core::crd::merge_crds` makes it, also says which of them is stored, and whether
    /// the operator converts.
    ///
    /// # Panics
    /// If `crd` cannot be written as JSON.
    pub fn define(&self, crd: &impl serde::Serialize) {
        let crd = serde_json::to_value(crd).expect("a definition can be written as JSON");
        self.lock().objects.define(crd);
    }

    /// The rules of definitions that accepted a write because they cannot be evaluated here, each with the name of its definition.
    #[cfg(feature = "cel")]
    #[must_use]
    pub fn unevaluated_rules(&self) -> Vec<(String, String)> {
        self.change_quietly(|objects| objects.unevaluated_rules())
    }

    /// Removes a kind from the server, and its objects, whatever their finalizers: as if its definition (CRD) were
    /// deleted. Its requests are answered with 404, and its watches end.
    pub fn uninstall<K>(&self)
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        self.lock().objects.uninstall(&path::<K>("default", "any"));
        self.changed.send_replace(());
    }

    /// Serves a kind again that was [uninstalled](Self::uninstall).
    pub fn install<K>(&self)
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        self.lock().objects.install(&path::<K>("default", "any"));
    }

    /// The stored object, without its managed fields. For a cluster-scoped kind, `namespace` is ignored.
    ///
    /// # Panics
    /// If the stored object is not a `K`.
    #[must_use]
    pub fn get<K>(&self, namespace: &str, name: &str) -> Option<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
        K::Scope: 'static,
    {
        let value = self.stored(&path::<K>(namespace, name))?;
        Some(serde_json::from_value(value).expect("what is stored is of this kind"))
    }

    /// All objects of a kind, sorted by namespace and name, without their managed fields.
    ///
    /// # Panics
    /// If a stored object is not a `K`.
    #[must_use]
    pub fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
        K::Scope: 'static,
    {
        let kind = path::<K>("default", "any");
        let objects = self.change_quietly(|objects| {
            let here = objects.all(|path| path.same_kind(&kind)).into_iter();
            let shown = here.map(|object| objects.shown_at(&object, &kind));
            shown.collect::<Result<Vec<_>, _>>()
        });
        let objects = objects.unwrap_or_else(|error| panic!("{}", error.message()));
        let typed = |value| serde_json::from_value(value).expect("what is stored is of this kind");
        objects.into_iter().map(typed).collect()
    }

    /// All objects as JSON, by the plural of their kind, such as `events`: for kinds without a Rust type.
    #[must_use]
    pub fn all_json(&self, plural: &str) -> Vec<Value> {
        self.lock().objects.all(|path| path.plural == plural)
    }

    /// The requests so far, as `METHOD /path`.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    /// Makes every request hang, like a network that drops packets, until called with `false`.
    pub fn cut_off(&self, cut_off: bool) {
        self.lock().cut_off = cut_off;
    }

    /// From now on, the time of day in objects comes from this function, instead of the system.
    pub fn set_clock(&self, now: fn() -> Timestamp) {
        self.lock().objects.set_clock(now);
    }

    /// From now on, these webhooks review what clients write; not what the test writes, as with [`put`](Self::put). A webhook is asked
    /// about what the webhook configurations select that the test has put into the server; without one, about new and changed objects of
    /// its kind. Match conditions are evaluated with the feature `cel`.
    pub fn review_by(&self, hooks: Hooks) {
        self.set_reviewers(Reviewers::Registered(hooks));
    }

    /// From now on, these convert objects whose definition says `strategy: Webhook`; without any, such requests fail.
    pub fn convert_by(&self, conversions: Option<Conversions>) {
        self.lock().objects.set_conversions(conversions);
    }

    async fn serve(self, request: Request<Body>) -> Result<Response<Content>, Infallible> {
        Ok(match self.receive(request).await {
            Ok(call) if call.watches() => match self.begin(&call) {
                Ok((first, watch)) => Response::new(self.watch(&first, watch)),
                Err(error) => response(error.body()),
            },
            Ok(call) => self.answer_reviewed(&call).await,
            Err(error) => response(error.body()),
        })
    }
}

/// For kbr-testing.
#[doc(hidden)]
impl ApiServer {
    /// Reads a request, and records it.
    pub async fn receive(&self, request: Request<Body>) -> Result<Call, ErrorResponse> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        if self.lock().cut_off {
            std::future::pending::<()>().await;
        }
        let header = |name: HeaderName| {
            let value = parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let asked = format!("{} {}", parts.method, parts.uri.path());
        self.lock().requests.push(asked);
        let Some(path) = Path::parse(parts.uri.path()) else {
            let path = Path::nowhere(parts.uri.path());
            return Err(ErrorResponse::beyond(&path, "serve anything but objects"));
        };
        Ok(Call {
            method: parts.method,
            path,
            query: parameters(parts.uri.query().unwrap_or_default()),
            media_type: header(CONTENT_TYPE),
            accept: header(ACCEPT),
            agent: header(USER_AGENT),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }

    /// Starts a watch: its first events, and what continues it.
    pub fn begin(&self, call: &Call) -> Result<(Vec<Value>, Watch), ErrorResponse> {
        self.lock().objects.watch(call)
    }

    /// Answers a request that is not a watch.
    #[must_use]
    pub fn answer(&self, call: &Call) -> Response<Content> {
        let answer = self.change(|objects| objects.handle(call));
        response(answer.unwrap_or_else(|error| error.body()))
    }

    /// Lets these review what clients write.
    pub fn set_reviewers(&self, reviewers: Reviewers) {
        self.lock().reviewers = Some(reviewers);
    }

    /// Who reviews what clients write.
    #[must_use]
    pub fn reviewers(&self) -> Option<Reviewers> {
        self.lock().reviewers.clone()
    }

    /// Reads what is stored, or changes it without notifying anyone.
    pub fn change_quietly<R>(&self, change: impl FnOnce(&mut Objects) -> R) -> R {
        change(&mut self.lock().objects)
    }

    /// Receives a notification when something may have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// From now on, the user's writes pass a gate.
    pub fn set_gate(&self, gate: Gate) {
        self.lock().gate = Some(gate);
    }

    /// What the user's writes pass.
    #[must_use]
    pub fn gate(&self) -> Option<Gate> {
        self.lock().gate.clone()
    }

    /// Changes what is stored, and notifies those who watch it.
    pub fn change<R>(&self, change: impl FnOnce(&mut Objects) -> R) -> R {
        let result = change(&mut self.lock().objects);
        self.changed.send_replace(());
        result
    }

    /// Sends the changes of a collection, one JSON object a line, until the client disconnects.
    fn watch(self, first: &[Value], mut watch: Watch) -> Content {
        let (sender, lines) = mpsc::unbounded_channel();
        let mut changed = self.changed.subscribe();
        let tell = |events: &[Value], to: &mpsc::UnboundedSender<Bytes>| {
            for event in events {
                // The client has disconnected, which ends the loop below.
                let _ = to.send(line(event));
            }
        };
        tell(first, &sender);
        let mut bookmarks = interval_at(Instant::now() + BOOKMARKS, BOOKMARKS);
        let end = Instant::now() + watch.limit();
        let mut last_bookmark = end.checked_sub(LAST_BOOKMARK);
        last_bookmark.take_if(|at| *at <= Instant::now());
        tokio::spawn(async move {
            loop {
                let (news, served) = {
                    let objects = &self.lock().objects;
                    (objects.news(&mut watch), objects.serves(watch.path()))
                };
                tell(&news, &sender);
                if !served {
                    return;
                }
                tokio::select! {
                    () = sender.closed() => return,
                    () = sleep_until(end) => return,
                    () = sleep_until(last_bookmark.unwrap_or(end)), if last_bookmark.is_some() => {
                        last_bookmark = None;
                        tell(watch.bookmark().as_slice(), &sender);
                    }
                    _ = changed.changed() => {}
                    _ = bookmarks.tick() => tell(watch.bookmark().as_slice(), &sender),
                }
            }
        });
        Content(lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`ApiServer`] as the service that a client sends its requests to.
#[derive(Clone, Debug)]
pub struct Connection(ApiServer);

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

/// The path of an object of `K`.
///
/// # Panics
/// If `K` has no path, which cannot be.
#[must_use]
pub fn path<K>(namespace: &str, name: &str) -> Path
where
    K: Resource<DynamicType = ()>,
    K::Scope: 'static,
{
    let is_cluster_scoped = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
    let namespace = (!is_cluster_scoped).then_some(namespace);
    let url = format!("{}/{name}", K::url_path(&(), namespace));
    Path::parse(&url).expect("the url of an object has a root and a name")
}
