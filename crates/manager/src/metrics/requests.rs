//! Counts the requests to the API server, like client-go.

use std::task::{Context, Poll};

use futures_util::{FutureExt as _, future::BoxFuture};
use hyper::{Request, Response, Uri};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use tower::{Layer, Service};

/// The code of a request without a response.
const NO_ANSWER: &str = "<error>";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    code: String,
    host: String,
    method: String,
}

/// Requests by code, host and method.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(Family<Labels, Counter>);

impl Requests {
    pub(super) fn register(&self, r: &mut Registry) {
        let help = "Requests to the API server, by the code of the answer";
        r.register("rest_client_requests", help, self.0.clone());
    }

    /// A layer that counts the requests to this server. The requests themselves need not name it.
    pub(crate) fn to(&self, server: &Uri) -> CountLayer {
        let host = server
            .authority()
            .map(ToString::to_string)
            .unwrap_or_default();
        CountLayer {
            requests: self.clone(),
            host,
        }
    }

    fn count(&self, code: String, host: String, method: String) {
        let labels = Labels { code, host, method };
        self.0.get_or_create(&labels).inc();
    }
}

/// Counts requests.
#[derive(Clone, Debug)]
pub(crate) struct CountLayer {
    requests: Requests,
    host: String,
}

impl<S> Layer<S> for CountLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted {
            inner,
            layer: self.clone(),
        }
    }
}

/// A service that counts its requests.
#[derive(Clone, Debug)]
pub(crate) struct Counted<S> {
    inner: S,
    layer: CountLayer,
}

impl<S, B, R> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let CountLayer { requests, host } = self.layer.clone();
        let method = request.method().to_string();
        let counted = self.inner.call(request).inspect(move |answer| {
            let code = match answer {
                Ok(response) => response.status().as_str().to_owned(),
                Err(_) => NO_ANSWER.to_owned(),
            };
            requests.count(code, host, method);
        });
        Box::pin(counted)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kbr_testing::FakeApi;
    use kube::{
        Api, Client,
        api::{DeleteParams, ListParams},
    };

    use super::*;
    use crate::{leader::fence::Fence, metrics::Metrics};

    #[tokio::test]
    async fn requests_are_counted_by_code_and_method_even_without_a_response() {
        let (fake, metrics) = (FakeApi::new(), Metrics::new());
        let layer = metrics
            .requests()
            .to(&Uri::from_static("https://10.0.0.1:6443/base"));
        let client = Client::new(layer.layer(fake.connection()), "default");
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        assert!(api.get("missing").await.is_err());
        assert!(api.list(&ListParams::default()).await.is_ok());
        let refused = Fence::closed().layer(fake.connection());
        let client = Client::new(layer.layer(refused), "default");
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        assert!(
            api.delete("missing", &DeleteParams::default())
                .await
                .is_err()
        );
        let text = metrics.text().unwrap();
        for (code, method) in [("200", "GET"), ("404", "GET"), ("<error>", "DELETE")] {
            let line = format!(
                r#"rest_client_requests_total{{code="{code}",host="10.0.0.1:6443",method="{method}"}} 1"#
            );
            assert!(text.contains(&line), "no `{line}` in\n{text}");
        }
    }
}
