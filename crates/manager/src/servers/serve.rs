//! Registers the HTTP handlers of the operator's author.

use std::sync::Arc;

use hyper::{Request, Response, http::uri::PathAndQuery};

use crate::{manager::Manager, servers::handlers::OwnHandler};

impl Manager {
    /// Serves `path` by this handler, at the address of `/metrics` and with the same authorization: a client needs a
    /// token, and the permission for its method on the path, as in `nonResourceURLs: ["/debug/queue"]` with
    /// `verbs: ["get"]` of a `ClusterRole`. With `--metrics-secure=false`, everyone may call it. Nothing is served if
    /// `--metrics-bind-address` is `0`, the default.
    ///
    /// Every replica serves it. `path` is the whole path of a request, without its query. The handler gets requests of
    /// all methods, with bodies of up to 1 MiB, and without the token. The user who sent it is
    /// `request.extensions().get::<manager::User>()`, or `None` with `--metrics-secure=false`.
    ///
    /// If the handler fails or panics, the answer is HTTP 500 and the error is only logged; after 60 s, it is cancelled,
    /// and the answer is HTTP 504. If the client disconnects, it is cancelled at an `await`. It runs on the operator's
    /// runtime, which it must not block: use `tokio::task::spawn_blocking` for that.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Node;
    /// use manager::{Manager, http::Response};
    ///
    /// // +kbr:rbac:groups=core,resources=nodes,verbs=list;watch
    /// fn register(manager: &mut Manager) {
    ///     manager.reads::<Node>();
    ///     let reader = manager.reader();
    ///     manager.serve("/debug/nodes", move |_request| {
    ///         let reader = reader.clone();
    ///         async move {
    ///             let nodes = reader.list::<Node>().keys()?;
    ///             Ok(Response::new(format!("{} nodes\n", nodes.len()).into_bytes()))
    ///         }
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// [`run`](Self::run) fails if the path is invalid or `/metrics`, or has two handlers.
    pub fn serve<F, R>(&mut self, path: &str, handler: F)
    where
        F: Fn(Request<Vec<u8>>) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Response<Vec<u8>>>> + Send + 'static,
    {
        // The path of a request is percent-encoded.
        let parsed = path.parse::<PathAndQuery>();
        let is_path = path.starts_with('/') && parsed.is_ok_and(|parsed| parsed.path() == path);
        if !is_path || !path.is_ascii() || path.contains('*') {
            self.mistakes.push(format!(
                "`{path}` is not a path that can be served\n\
                 help: begin it with `/`, encode characters such as spaces, and leave out the query and `*`"
            ));
        }
        let handler: OwnHandler = Arc::new(move |request| Box::pin(handler(request)));
        let before = self.handlers.insert(path.to_owned(), handler);
        if path == "/metrics" || before.is_some() {
            self.mistakes.push(format!(
                "`{path}` has two handlers\n\
                 help: serve one of them at another path"
            ));
        }
    }
}
