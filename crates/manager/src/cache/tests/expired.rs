//! Lists in pages that take so long that their continue tokens expire.

use kube::{
    Api,
    api::{ListParams, ObjectMeta},
};

use super::*;

/// An API server that lists one object a page, and changes all of them before each next page, so that its token has expired.
#[derive(Clone)]
struct Slow {
    api: FakeApi,
    /// Whether the answer says how to go on.
    renews: bool,
    /// The tokens of the lists.
    asked: Arc<Mutex<Vec<String>>>,
}

fn map(name: &str, round: usize) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("round".to_owned(), round.to_string())].into()),
        ..ConfigMap::default()
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Slow {
    /// The page after the object with this name, or all.
    async fn page(&self, after: &str, is_limited: bool) -> serde_json::Value {
        let maps = Api::<ConfigMap>::all(self.api.client());
        let list = maps.list(&ListParams::default()).await.unwrap();
        if !is_limited {
            return json!({
                "kind": "ConfigMapList", "apiVersion": "v1", "items": list.items,
                "metadata": {"resourceVersion": list.metadata.resource_version},
            });
        }
        let rest = list
            .items
            .iter()
            .filter(|it| it.metadata.name.as_deref() > Some(after));
        let next = rest.clone().next().unwrap();
        let token =
            (rest.count() > 1).then(|| format!("old-{}", next.metadata.name.as_ref().unwrap()));
        json!({
            "kind": "ConfigMapList", "apiVersion": "v1", "items": [next],
            "metadata": {"resourceVersion": list.metadata.resource_version, "continue": token},
        })
    }
}

impl Service<Request<Body>> for Slow {
    type Response = Response<Content>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Content>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let has = |word| query.contains(word);
        if !request.uri().path().ends_with("configmaps")
            || has("watch=true") && !has("sendInitialEvents")
        {
            return self.api.connection().call(request);
        }
        let token = query.split('&').find_map(|it| it.strip_prefix("continue="));
        let token = token.unwrap_or_default().to_owned();
        let (slow, is_limited) = (self.clone(), has("limit="));
        let status = |code: u16, token: Option<String>| {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": "Planned", "message": "planned", "metadata": {"continue": token},
            });
            Response::builder()
                .status(code)
                .body(Content::from(&status))
                .unwrap()
        };
        if has("sendInitialEvents") {
            return Box::pin(async move { Ok(status(422, None)) });
        }
        slow.asked.lock().unwrap().push(token.clone());
        Box::pin(async move {
            if let Some(name) = token.strip_prefix("old-") {
                let round = slow.asked.lock().unwrap().len();
                for name in NAMES {
                    slow.api.put(&map(name, round));
                }
                let renewed = slow.renews.then(|| format!("new-{name}"));
                return Ok(status(410, renewed));
            }
            let after = token.strip_prefix("new-").unwrap_or_default();
            Ok(Response::new(Content::from(
                &slow.page(after, is_limited).await,
            )))
        })
    }
}

/// Runs a manager on such a server; returns its cache.
fn start(server: &Slow) -> Arc<crate::cache::store::Cache<ConfigMap>> {
    for name in NAMES {
        server.api.put(&map(name, 0));
    }
    let options = Options {
        health_probe_bind_address: "0".parse().unwrap(),
        ..patient()
    };
    let (fence, metrics) = (Fence::closed(), Metrics::new());
    let connections = || anyhow::Ok(ClientBuilder::new(server.clone(), "default"));
    let count = metrics.requests().to(&Uri::from_static("http://in-memory"));
    let clients = Clients::with(connections, &fence, &count).unwrap();
    let mut manager = Manager::with(options, "test.example.com", clients, fence, metrics);
    manager
        .controller::<ConfigMap>("map")
        .reconcile(async |_, _| Ok(Action::await_change()));
    let cache = manager.caches.of::<ConfigMap>();
    run(manager);
    cache
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_token_expires_goes_on_and_the_changes_meanwhile_are_watched() {
    let server = Slow {
        api: FakeApi::new(),
        renews: true,
        asked: Arc::default(),
    };
    let cache = start(&server);
    let synced = tokio::time::timeout(Duration::from_secs(5), cache.synced()).await;
    assert!(synced.is_ok(), "{:?}", server.asked.lock().unwrap());
    let asked = ["", "old-a", "new-a", "old-b", "new-b", "old-c", "new-c"];
    assert_eq!(*server.asked.lock().unwrap(), asked);
    sleep(Duration::from_secs(1)).await;
    for name in NAMES {
        let cached = cache
            .get(&format!("default/{name}").as_str().into())
            .unwrap();
        let stored: ConfigMap = server.api.get("default", name).unwrap();
        assert_eq!(cached.data, stored.data, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_token_expires_is_read_at_once_if_no_other_token_is_given() {
    let server = Slow {
        api: FakeApi::new(),
        renews: false,
        asked: Arc::default(),
    };
    let cache = start(&server);
    let synced = tokio::time::timeout(Duration::from_secs(60), cache.synced()).await;
    assert!(synced.is_ok(), "{:?}", server.asked.lock().unwrap());
    assert_eq!(*server.asked.lock().unwrap(), ["", "old-a", ""]);
    assert_eq!(cache.keys().len(), NAMES.len());
}
